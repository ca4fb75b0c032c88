# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A server that is under full load from the moment it is executed, in an empty directory."""

import json
import os
import pathlib
import subprocess
import time

from keymill_process import Server, clean_environment, free_port, keymill_bin

WAIT_MS_MAX = 250
SETTLED_SECONDS = 2
KNOCKING_SECONDS = 0.3  # How long the load knocks at a port where nobody listens yet.


class Knocking:
    """`keymill bench` at a server that is still to come."""

    def __init__(self, port, *, connections, pipeline, seconds):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [str(keymill_bin()), "bench", f"http://127.0.0.1:{port}", "--await", "60s",
             "--connections", str(connections), "--pipeline", str(pipeline), "--threads", "1",
             "--duration", f"{seconds}s", "--no-check", "--no-live", "-o", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def running(self):
        return self.process.poll() is None

    def finish(self):
        output, said = self.process.communicate(timeout=600)
        if self.process.returncode != 0:
            raise RuntimeError(f"keymill bench ended with {self.process.returncode}: {said}")
        return json.loads(output)


def stolen_ms():
    """Processor time that a hypervisor has taken away, which no server can answer for."""
    fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return int(fields[8]) * 1000 // os.sysconf("SC_CLK_TCK")


def waited(server):
    """How many requests of the server have ever waited for a block."""
    answer = server.ask("GET", "/v1/keyspaces/default")
    if answer.status != 200:
        raise RuntimeError(f"looking at the keyspace: {answer}\n{server.log()}")
    return int(answer.json["instance"]["waited"])


def cold_start(checks, directory, *, threads, seconds, slowest_ms=WAIT_MS_MAX, connections=64,
               pipeline=32):
    """Load before the listener, load at the first block, load ever after: nobody starves."""
    port = free_port()
    server = Server(directory, "--listen", f"127.0.0.1:{port}", "--threads", threads)
    stolen = stolen_ms()
    with Knocking(port, connections=connections, pipeline=pipeline,
                  seconds=KNOCKING_SECONDS + seconds) as load:
        time.sleep(KNOCKING_SECONDS)
        executed = time.monotonic()
        with server.launch():
            server.await_ready()
            ready = time.monotonic() - executed
            samples = []  # (seconds since the start, requests that have waited until then)
            while load.running():
                count = waited(server)
                samples.append((time.monotonic() - executed, count))
                time.sleep(0.1)
            figures = load.finish()
            last = waited(server)
            checks.that(server.stop() == 0, "and it stops cleanly")
    what = f"{threads} loops"
    checks.that(figures["awaited"]["refused"] >= connections,
                f"{what}: the load knocked before: {figures['awaited']['refused']:,} connections "
                f"were refused; ready {ready * 1000:.0f} ms after exec")
    checks.that(figures["errors"]["total"] == 0 and figures["reconnects"] == 0,
                f"{what}: {figures['ok']:,} requests ({figures['requests_per_second']:,.0f} a "
                f"second), errors {figures['errors']['kinds'] or 'none'}")
    latency = figures["latency_ms"]
    checks.that(latency["max"] <= slowest_ms,
                f"{what}: the slowest request took {latency['max']:.1f} ms of {slowest_ms} "
                f"(p50 {latency['p50']:.2f}, p99 {latency['p99']:.2f}, p99.9 "
                f"{latency['p99.9']:.2f})")
    checks.note(f"meanwhile a hypervisor took away {stolen_ms() - stolen} ms of processor time")
    settled = [count for at, count in samples if at <= SETTLED_SECONDS]
    checks.that(bool(settled), f"{what}: {len(settled)} looks in the first {SETTLED_SECONDS} s")
    before = settled[-1] if settled else 0
    latest = max((at for (at, count), (_, after) in zip(samples, samples[1:]) if after > count),
                 default=0)
    checks.that(last == before, f"{what}: {before} requests waited for the store in the first "
                f"{SETTLED_SECONDS} s, {last - before} in the {seconds - SETTLED_SECONDS:g} s "
                f"after (the last one about {latest:.1f} s after exec)")
    return (f"{what}: slowest {latency['max']:.0f} ms of {figures['ok']:,} requests, {before} "
            f"waited for the store by {SETTLED_SECONDS} s, {last - before} later")
