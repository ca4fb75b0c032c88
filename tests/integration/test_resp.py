#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""RESP as the clients of Redis speak it: redis-cli, redis-benchmark and python3-redis.

With --update, writes the table of commands in docs/protocols.md anew.
"""

import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import unittest

import redis

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

# pylint: disable=wrong-import-position
from keymill_process import (RawConnection, Server, await_that, free_port, run_keymill,
                             scaled)
from proof import Checks, ScenarioTest
from scenario_resp_clients import clients
from scenario_resp_hardening import drip, never_read

CONFIG = """
keyspaces:
  default: {kind: shuffled, alphabet: base62, length: 7}
  orders: {kind: sequence, alphabet: decimal}
  pages: {kind: derived, hash: sha256, alphabet: base62, length: 7}
"""
DOCUMENT = ROOT / "docs/protocols.md"
BEGIN = "<!-- commands: made by tests/integration/test_resp.py --update -->"
END = "<!-- end of commands -->"


def syntax(name, arguments):
    """KEYMILL.MINT keyspace [COUNT count]"""
    words = [name.upper()]
    for argument in arguments:
        fields = dict(zip(argument[::2], argument[1::2]))
        text = fields["name"]
        if "token" in fields:
            text = f"{fields['token']} {text}"
        if "multiple" in fields.get("flags", []):
            text += " …"
        words.append(f"[{text}]" if "optional" in fields.get("flags", []) else text)
    return " ".join(words)


def commands_table(client):
    """COMMAND DOCS as a table."""
    docs = client.execute_command("COMMAND DOCS")
    lines = ["| command | what it does |", "|---|---|"]
    for name, told in zip(docs[::2], docs[1::2]):
        fields = dict(zip(told[::2], told[1::2]))
        lines.append(f"| `{syntax(name, fields.get('arguments', []))}` | {fields['summary']} |")
    return "\n".join(lines) + "\n"


class RespTest(ScenarioTest):
    """One server for each test."""

    def serve(self, *flags, **options):
        server = Server(self.directory, *flags, **{"config": CONFIG, "resp": "127.0.0.1:0",
                                                   **options})
        self.addCleanup(server.kill)
        return server.start()

    def cli(self, server, *words, flags=()):
        done = subprocess.run(["redis-cli", "-p", str(server.resp_port), *flags, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, check=False)
        return done.stdout.rstrip("\n")

    def test_redis_cli_one_shot_in_both_versions(self):
        server = self.serve()
        self.assertRegex(self.cli(server, "KEYMILL.MINT", "default"), r"^[0-9A-Za-z]{7}$")
        self.assertEqual(self.cli(server, "INCR", "orders"), "1")
        self.assertEqual(self.cli(server, "INCR", "orders", flags=("-3",)), "2")
        several = self.cli(server, "KEYMILL.MINT", "orders", "COUNT", "3", flags=("-3",))
        self.assertEqual(several, "3\n4\n5")
        self.assertIn("ERR unknown command 'GET'", self.cli(server, "GET", "orders"))
        self.assertIn("NOTFOUND there is no keyspace", self.cli(server, "SPOP", "nope"))
        self.assertIn("redis_version:", self.cli(server, "INFO"))
        self.assertEqual(server.stop(), 0)

    def test_redis_cli_helps_interactively(self):
        server = self.serve()
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            # Without a width it would ask the terminal, which is us.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
            os.execvp("redis-cli", ["redis-cli", "-p", str(server.resp_port)])
        seen = b""

        def read_until(text, at_end=False):
            nonlocal seen
            end = time.monotonic() + 30
            while True:
                plain = re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", seen).rstrip(b"\r")
                if plain.endswith(text) if at_end else text in plain:
                    return
                if time.monotonic() > end or not select.select([terminal], [], [], 30)[0]:
                    self.fail(f"{text} is not in {seen}")
                try:
                    seen += os.read(terminal, 65536)
                except OSError:  # It has ended.
                    self.fail(f"redis-cli has ended: {seen}")

        def type_line(line):
            """Not before it asks: what was typed ahead is dropped then."""
            nonlocal seen
            read_until(b"> ", at_end=True)
            seen = b""
            os.write(terminal, line)

        try:
            type_line(b"help KEYMILL.MINT\r")
            read_until(b"summary: ")
            read_until(b"KEYMILL.MINT keyspace [COUNT count]")
            type_line(b"help @keymill\r")
            read_until(b"KEYMILL.DERIVE keyspace content [SALT salt]")
            type_line(b"INCR orders\r")
            read_until(b"(integer) ")
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)

    def test_redis_benchmark_finds_nothing_to_complain_about(self):
        server = self.serve()
        for pipeline, requests in ((1, scaled(2000)), (64, scaled(100_000))):
            for command in (("INCR", "orders"), ("KEYMILL.MINT", "default")):
                done = subprocess.run(
                    ["redis-benchmark", "-p", str(server.resp_port), "-n", str(requests), "-P",
                     str(pipeline), "-q", *command],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                    check=False)
                self.assertEqual(done.returncode, 0, done.stdout)
                self.assertIn("requests per second", done.stdout)
                self.assertNotRegex(done.stdout, "(?i)warn|error")
        self.assertGreaterEqual(server.metric("keymill_resp_commands_total", command="incr",
                                              outcome="ok"), scaled(100_000))
        self.assertEqual(server.metric("keymill_resp_commands_total", outcome="error"), 0)

    def test_python_mints_without_a_duplicate(self):
        server = self.serve()
        client = redis.Redis(port=server.resp_port, decode_responses=True)
        count = scaled(20_000)
        keys = [client.execute_command("KEYMILL.MINT", "default") for _ in range(count // 10)]
        with client.pipeline(transaction=False) as pipe:
            for _ in range(count):
                pipe.execute_command("KEYMILL.MINT", "default")
            keys += pipe.execute()
        with client.pipeline() as pipe:  # MULTI … EXEC
            for _ in range(1000):
                pipe.spop("default")
            keys += pipe.execute()
        keys += client.spop("default", 1000)
        keys += client.lpop("default", 1000)
        keys += server.mint("default", 1000)
        self.assertEqual(len(set(keys)), count // 10 + count + 4000)
        self.assertEqual([client.incr("orders") for _ in range(3)], [1, 2, 3])
        last = client.incrby("orders", 5000)
        self.assertEqual(client.incr("orders"), last + 1)
        with self.assertRaisesRegex(redis.ResponseError, "NOTFOUND"):
            client.execute_command("KEYMILL.MINT", "nope")
        self.assertTrue(client.ping())
        self.assertEqual(client.info()["redis_mode"], "standalone")

    def test_two_fronts_and_many_clients_share_one_sequence(self):
        server = self.serve("--threads", "2")
        clients = [redis.Redis(port=server.resp_port) for _ in range(4)]
        numbers = []
        for turn in range(scaled(200)):
            for client in clients:
                last = client.incrby("orders", 7)
                numbers += range(last - 6, last + 1)
                numbers.append(client.incr("orders"))
            if turn % 20 == 0:
                numbers += map(int, server.mint("orders", 10))
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertEqual(numbers, sorted(numbers), "one instance only counts upwards")

    def test_clients_mint_unchanged(self):
        self.run_scenario(clients, count=1000, with_npm=False)

    def test_our_own_command_line_speaks_it(self):
        server = self.serve()
        url = f"redis://127.0.0.1:{server.resp_port}"
        done = run_keymill("mint", "orders", "-n", "25000", "--server", url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        numbers = [int(line) for line in done.stdout.split()]
        self.assertEqual(len(numbers), 25000)
        self.assertEqual(numbers, sorted(set(numbers)))
        done = run_keymill("mint", "nope", "--server", url, cwd=self.directory)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no keyspace", done.stderr)
        done = run_keymill("mint", "--server", "redis://127.0.0.1:0", cwd=self.directory)
        self.assertEqual(done.returncode, 2, done.stderr)
        done = run_keymill("bench", url, "--duration", "500ms", "-o", "json", cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(server.stop(), 0)
        done = run_keymill("mint", "--server", url, cwd=self.directory)
        self.assertEqual(done.returncode, 1)

    def test_a_client_that_never_reads_costs_little_and_is_cut_off(self):
        server = self.serve()
        checks = Checks()
        never_read(checks, server, 1)
        self.assertEqual(checks.failures, [])
        client = redis.Redis(port=server.resp_port)
        self.assertTrue(client.ping(), "others are served")

    def test_a_command_that_drips_is_cut_off(self):
        checks = Checks()
        drip(checks, self.serve())
        self.assertEqual(checks.failures, [])

    def test_http_on_this_port_is_cut_off(self):
        server = self.serve()
        for text in ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"):
            with RawConnection(server.resp_port) as connection:
                connection.send(text)
                self.assertTrue(connection.closed())

    def test_a_stop_answers_what_was_sent(self):
        server = self.serve()
        with RawConnection(server.resp_port) as connection:
            connection.send("INCR orders\r\n")
            await_that(lambda: connection.socket.recv(100, socket.MSG_PEEK) == b":1\r\n",
                       "the first answer")
            self.assertEqual(server.stop(), 0)
        self.assertIn("stopped", server.log())

    def test_a_default_port_that_is_taken_is_skipped_and_a_chosen_one_is_not(self):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                other.bind(("127.0.0.1", 6380))
                other.listen()
            except OSError:
                pass  # Somebody else has it: that will do.
            server = self.serve(resp=None)
            self.assertIsNone(server.resp_port)
            self.assertIn("RESP is not spoken: ", server.log())
            self.assertIn("6380", server.log())
            self.assertEqual(server.stop(), 0)
        port = free_port()
        with socket.socket() as other:
            other.bind(("127.0.0.1", port))
            other.listen()
            server = Server(self.directory, config=CONFIG, resp=f"127.0.0.1:{port}").launch()
            self.addCleanup(server.kill)
            self.assertEqual(server.wait(), 1)
            self.assertIn(f"{port}", server.log())
            self.assertIn("--listen-resp", server.log())

    def test_an_address_that_others_can_reach_is_refused(self):
        server = Server(self.directory, config=CONFIG, resp="0.0.0.0:0").launch()
        self.addCleanup(server.kill)
        self.assertEqual(server.wait(), 78)
        self.assertIn("listen.resp", server.log())
        self.assertIn("--insecure", server.log())

    def test_resp_alone(self):
        server = self.serve("--listen", "")
        self.assertIsNone(server.port)
        self.assertEqual(self.cli(server, "INCR", "orders"), "1")
        self.assertEqual(server.stop(), 0)

    def test_connections_are_counted_by_front_end(self):
        server = self.serve()
        client = redis.Redis(port=server.resp_port)
        client.ping()
        self.assertEqual(server.metric("keymill_connections", frontend="resp"), 1)
        client.connection_pool.disconnect()
        await_that(lambda: server.metric("keymill_connections", frontend="resp") == 0,
                   "it is gone")
        self.assertEqual(server.metric("keymill_connections_accepted_total", frontend="resp"), 1)

    def test_the_document_has_every_command(self):
        server = self.serve()
        client = redis.Redis(port=server.resp_port, decode_responses=True)
        text = DOCUMENT.read_text(encoding="utf-8")
        before, rest = text.split(BEGIN + "\n")
        table, after = rest.split(END)
        current = commands_table(client)
        if "--update" in UPDATE:
            DOCUMENT.write_text(before + BEGIN + "\n" + current + END + after, encoding="utf-8")
        else:
            self.assertEqual(table, current, "run this test with --update")


UPDATE = [argument for argument in sys.argv if argument == "--update"]

if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--update"])
