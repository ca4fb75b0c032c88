# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Instances on hosts of their own (each has its own data_dir) that share a store, under load.

Every key that anybody was given, by whichever process, is on record in files.
"""

import re

from key_stream import KeyStream
from keymill_process import Load, Server, duplicates, free_port

# Never enough: who streams keys waits for the store nearly all the time.
SMALL_BLOCKS = ("--block-growth", "off", "--runway-target", "1s")


def blocks_reserved(server, keyspace="default"):
    """By this process so far; 0 while it answers nobody."""
    try:
        text = server.ask("GET", "/metrics", timeout=5).text
    except OSError:
        return 0
    found = re.search(rf'^keymill_blocks_reserved_total\{{keyspace="{keyspace}"\}} (\d+)', text,
                      re.MULTILINE)
    return int(found.group(1)) if found else 0


class Fleet:
    """`count` instances at fixed ports, so that clients find them again after a restart."""

    def __init__(self, stack, directory, url, count, *flags):
        self.directory = directory
        self.servers = []
        self.streams = []
        self.loads = []
        self.figures = []
        self.recorded = 0
        for number in range(count):
            host = directory / f"host{number}"
            host.mkdir()
            server = Server(host, "--store", url, *flags, port=free_port())
            stack.callback(server.kill)
            self.servers.append(server)
        stack.callback(self.end_load)

    def start(self):
        for server in self.servers:  # At once: they make the store together.
            server.launch()
        for server in self.servers:
            server.await_ready()
        return self

    def ports(self):
        return [server.port for server in self.servers]

    def stream(self, servers=None, **options):
        """One stream of keys from each instance, or from each of `servers`."""
        for server in servers or self.servers:
            path = self.directory / f"stream-keys-{len(self.streams)}"
            self.streams.append(KeyStream(server.port, path, **options))

    def load(self, **options):
        """Clients that ask for one key at a time, from any of them."""
        path = self.directory / f"load-keys-{len(self.loads)}"
        self.loads.append(Load(self.ports(), path, reconnect=True, duration=86400, **options))

    def end_load(self):
        for stream in self.streams:
            stream.end()
        for load in self.loads[len(self.figures):]:
            self.figures.append(load.end())

    def record(self, keys):
        """Keys that a scenario asked for itself."""
        with open(self.directory / "other-keys-0", "a", encoding="ascii") as file:
            file.writelines(f"{key}\n" for key in keys)
        self.recorded += len(keys)

    def streamed(self):
        return sum(stream.keys for stream in self.streams)

    def key_files(self):
        return sorted(self.directory.glob("*-keys-*"))

    def verify(self, checks, least=1):
        """The load has ended: every acknowledged key was one of its own."""
        counted = (self.streamed() + self.recorded +
                   sum(figures["keys"] for figures in self.figures))
        found = duplicates(*self.key_files())
        checks.that(found["keys"] == counted and found["keys"] >= least,
                    f"{found['keys']:,} acknowledged keys on record, at least {least:,}")
        checks.that(found["duplicate_keys"] == 0, f"{found['duplicate_keys']} duplicates")
        return found
