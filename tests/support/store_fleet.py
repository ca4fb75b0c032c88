# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Instances of Keymill on a server that keeps their store, for scenarios that run on all kinds."""

import concurrent.futures
import functools
import json
import subprocess
import time

from keymill_process import Server, await_that, run_keymill
from server_postgres import USER
from store_servers import server_user, start_server

NAMESPACE = "mill"
SERVERS = ("postgres", "mariadb", "redis", "etcd")
# Those whose reservations are transactions of several statements.
SQL_SERVERS = ("postgres", "mariadb")
# Small blocks keep an instance reserving nearly all the time.
# And all calls are for one keyspace, so that they can be counted.
BUSY = {"KEYMILL_BLOCK_SIZE": "50", "KEYMILL_BLOCK_GROWTH": "off", "KEYMILL_RUNWAY_TARGET": "1s",
        "KEYMILL_KEYSPACES": "{default: {kind: shuffled}}"}


@functools.lru_cache
def built_stores():
    """The stores that the program under test was built with."""
    return tuple(json.loads(run_keymill("version", "-o", "json", cwd="/").stdout)["stores"])


def make_folder(directory, name):
    """A directory for a server of its own user, or for an instance."""
    directory.chmod(0o755)
    folder = directory / name
    folder.mkdir()
    return folder


def start_store(stack, directory, store, **options):
    return stack.enter_context(start_server(store, make_folder(directory, store), **options))


def store_url(server, ports=None):
    """The URL of the store, with other ports in place of the server's, such as a proxy's."""
    url = server.url(NAMESPACE)
    for port, other in (ports or {}).items():
        url = url.replace(f":{port}", f":{other}")
    return url


def start_instances(stack, directory, urls, env=None):
    """One instance for each URL, as on a host of its own: with a witness of its own."""
    servers = []
    for number, url in enumerate(urls):
        server = Server(make_folder(directory, f"host{number}"),
                        env={**(env or {}), "KEYMILL_STORE": url})
        stack.callback(server.kill)
        servers.append(server.launch())
    return [server.await_ready() for server in servers]


def mint_at_once(test, directory, url, hosts=4):
    """As many hosts as that open the store in the same moment, and each mints a key."""
    folders = [make_folder(directory, f"at-once{number}") for number in range(hosts)]
    with concurrent.futures.ThreadPoolExecutor(hosts) as pool:
        done = list(pool.map(lambda folder: run_keymill("mint", "--store", url, cwd=folder),
                             folders))
    test.assertEqual([each.returncode for each in done], [0] * hosts,
                     [each.stderr for each in done])
    test.assertEqual(len({each.stdout for each in done}), hosts)


def total(servers, metric, **labels):
    return int(sum(server.metric(metric, **labels) for server in servers))


class Session:
    """A look into the database beside Keymill, with the server's own client. Use as a context
    manager; one question at a time."""

    def __init__(self, store, server):
        if store == "postgres":
            self.begin, self.separator = f"SET search_path = {NAMESPACE};\n", "|"
            command, options = server.psql_command(), server_user(USER)
        else:
            self.begin, self.separator = f"USE {NAMESPACE};\n", "\t"
            command, options = server.client_command(), {"env": server.client_environment()}
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, **options)
        self.process.stdin.write(self.begin)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def rows(self, query):
        """Its rows, each a list of strings."""
        self.process.stdin.write(f"{query};\nSELECT 'that is all';\n")
        self.process.stdin.flush()
        found = []
        while (line := self.process.stdout.readline()) != "that is all\n":
            if not line:
                raise RuntimeError(f"the client has ended: {query}")
            found.append(line.rstrip("\n").split(self.separator))
        return found

    def one(self, query):
        [[value]] = self.rows(query)
        return int(value)

    def revision(self):
        """How often the keyspace was changed."""
        return self.one("SELECT rev FROM keymill_keyspaces WHERE name = 'default'")

    def ledger(self):
        """(first, count) of the blocks on record, in order."""
        return [(int(first), int(count)) for first, count in self.rows(
            "SELECT l.first_number, number_count FROM keymill_ledger l JOIN keymill_keyspaces k "
            "ON k.id = l.keyspace_id WHERE k.name = 'default' ORDER BY l.first_number")]


def overlaps(rows):
    """How many of the rows (first, count) reach into the next one."""
    return sum(first + count > after for (first, count), (after, _) in zip(rows, rows[1:]))


def settled(value, seconds=0.3, within=30):
    """value(), when it has not changed for so long."""
    seen = [value(), time.monotonic()]

    def quiet():
        now = value()
        if now != seen[0]:
            seen[:] = [now, time.monotonic()]
        return time.monotonic() - seen[1] > seconds

    await_that(quiet, "nothing changes any more", within)
    return seen[0]
