#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""How a server starts, what it says then, and what it says when it cannot."""

import fcntl
import json
import os
import pathlib
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import DatabaseLock, Server, free_port, run_keymill
from proof import ScenarioTest
from scenario_locked_store import await_listening

FAILURE, REFUSED = 1, 78


class Start(ScenarioTest):
    def ended(self, *flags, code, env=None, listen="127.0.0.1:0", config=None):
        """What a server says that ends by itself with `code`."""
        server = Server(self.directory, *flags, env=env, listen=listen, config=config).launch()
        try:
            self.assertEqual(server.wait(20), code, server.log())
        finally:
            server.kill()
        return server.log()

    def said(self, *words, **options):
        log = self.ended(*options.pop("flags", ()), **options)
        for word in words:
            self.assertIn(word, log)

    def hang_the_open(self):
        """Another process that has the directory's lock and does not let go of it."""
        run_keymill("mint", cwd=self.directory)
        lock = os.open(self.directory / "data/witness.lock", os.O_RDWR)
        self.addCleanup(os.close, lock)
        fcntl.flock(lock, fcntl.LOCK_EX)
        server = Server(self.directory).launch()
        self.addCleanup(server.kill)
        time.sleep(0.5)
        self.assertTrue(server.running(), server.log())
        return server

    def test_a_stop_while_the_store_hangs_ends_it_cleanly(self):
        server = self.hang_the_open()
        server.terminate()
        self.assertEqual(server.wait(10), 0, server.log())

    def test_a_second_stop_while_the_store_hangs_ends_it_at_once(self):
        server = self.hang_the_open()
        began = time.monotonic()
        server.terminate()
        time.sleep(0.25)
        server.terminate()
        self.assertEqual(server.wait(10), FAILURE, server.log())
        self.assertLess(time.monotonic() - began, 2)

    def test_what_will_not_pass_is_refused_with_advice(self):
        (self.directory / "file").write_text("x", encoding="utf-8")
        (self.directory / "diary").mkdir()
        (self.directory / "diary/keymill.db").write_text("dear diary\n" * 99, encoding="utf-8")
        for folder, words in (("/proc/x", ("/proc/x", "--data-dir")),
                              ("file", ("not a directory", "--data-dir")),
                              ("file/below", ("ot a directory", "--data-dir")),
                              ("diary", ("not a SQLite database", "--store"))):
            with self.subTest(folder=folder):
                self.said(*words, flags=("--data-dir", folder), code=REFUSED)
                done = run_keymill("mint", "--data-dir", folder, cwd=self.directory)
                self.assertEqual(done.returncode, REFUSED, done.stderr)

    def test_what_may_pass_is_waited_for_and_said(self):
        run_keymill("mint", cwd=self.directory)
        port = free_port()
        with DatabaseLock(self.directory / "data/keymill.db"):
            server = Server(self.directory, "--listen", f"127.0.0.1:{port}").launch()
            self.addCleanup(server.kill)
            server.port = port
            await_listening(server)
            time.sleep(0.2)
            self.assertRegex(server.log(), f"locked; trying again, http://127.0.0.1:{port} "
                             "answers 503 meanwhile")
            server.terminate()
            self.assertEqual(server.wait(10), 0, server.log())

    def test_the_command_to_try_works_without_a_default_keyspace(self):
        config = "keyspaces: {orders: {kind: sequence, alphabet: decimal}}\n"
        with Server(self.directory, config=config) as server:
            path = "/v1/keyspaces/orders/keys"
            self.assertIn(f"curl -X POST http://127.0.0.1:{server.port}{path}", server.log())
            self.assertEqual(server.ask("POST", path).status, 200)

    def test_a_log_in_json_has_no_line_that_is_not(self):
        with Server(self.directory, "--log-format", "json") as server:
            server.stop()
            lines = [json.loads(line) for line in server.log().splitlines()]
            ready = [line["msg"] for line in lines if "is ready" in line["msg"]]
            self.assertEqual(len(ready), 1, lines)
            self.assertIn(f"curl http://127.0.0.1:{server.port}/get-key", ready[0])

    def test_a_log_in_text_has_a_short_banner(self):
        with Server(self.directory, "--log-format", "text", "--log-level", "warn") as server:
            self.assertIn(f"  try        curl http://127.0.0.1:{server.port}/get-key\n",
                          server.log())
            self.assertLessEqual(len(server.log().splitlines()), 12)

    def test_a_port_that_is_taken_is_a_failure_with_advice(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            self.said(str(port), "--listen", "PORT", listen=f"127.0.0.1:{port}", code=FAILURE)

    def test_a_name_that_does_not_resolve_is_said_to_be_none(self):
        for flags in ((), ("--insecure",)):
            self.said('"no-such.invalid" does not resolve', flags=flags,
                      listen="no-such.invalid:2205", code=REFUSED)

    def test_a_ports_file_that_cannot_be_written_is_a_failure_that_says_why(self):
        done = run_keymill("serve", "--listen", "127.0.0.1:0", "--print-ports", "/nonexist/x",
                           cwd=self.directory)
        self.assertEqual(done.returncode, FAILURE, done.stderr)
        self.assertIn("write /nonexist/x: No such file or directory", done.stderr)

    def test_a_memory_store_is_said_to_be_for_tests(self):
        with Server(self.directory, "--store", "memory:") as server:
            self.assertIn("for tests only", server.log())
        done = run_keymill("mint", "--store", "memory:", cwd=self.directory)
        self.assertEqual((done.returncode, len(done.stdout.split())), (0, 1))
        self.assertIn("for tests only", done.stderr)

    def test_only_the_peers_that_are_named_are_served(self):
        with Server(self.directory, config="compat: [forge, generate-id]\n") as server:
            self.assertEqual(server.ask("GET", "/get-key").status, 200)
            self.assertEqual(server.ask("GET", "/generate-id").status, 200)
            self.assertEqual(server.ask("GET", "/api/segment/get/orders").status, 404)
            self.assertEqual(server.ask("GET", "/tinyid/id/nextId").status, 404)
        self.said("frge", "forge", config="compat: [frge]\n", code=REFUSED)

    def test_listeners_can_be_turned_off_by_flag(self):
        with Server(self.directory, "--listen-resp", "", "--listen-grpc", "", "--listen-links", "",
                    "--listen", "127.0.0.1:0") as server:
            self.assertEqual(set(server.ports), {"http"})

    def test_a_file_for_what_is_no_secret_is_refused(self):
        self.said("KEYMILL_THREADS_FILE", "KEYMILL_THREADS?", env={"KEYMILL_THREADS_FILE": "/x"},
                  code=REFUSED)
        self.said("KEYMILL_STORE_FILE: /x", env={"KEYMILL_STORE_FILE": "/x"}, code=REFUSED)


if __name__ == "__main__":
    unittest.main()
