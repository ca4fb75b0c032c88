#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a running server does when its configuration changes, and when its terminal goes away."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, await_that, clean_environment, keymill_bin
from proof import ScenarioTest


class Reload(ScenarioTest):
    def setUp(self):
        super().setUp()
        self.server = None

    def configure(self, text):
        (self.directory / "keymill.yml").write_text(text, encoding="utf-8")

    def serve(self, text="", *flags):
        self.configure(text)
        self.server = Server(self.directory, *flags).start()
        self.addCleanup(self.server.kill)
        return self.server

    def reload(self, text, *words):
        """The server's words on a new configuration."""
        before = len(self.server.log())
        self.configure(text)
        self.server.signal(signal.SIGHUP)
        for word in words:
            await_that(lambda: word in self.server.log()[before:], f"the log says {word!r}", 20)
        return self.server.log()[before:]

    def test_a_new_keyspace_is_served(self):
        server = self.serve()
        self.assertEqual(server.ask("POST", "/v1/keyspaces/orders/keys").status, 404)
        self.reload("keyspaces: {default: {}, orders: {kind: sequence, alphabet: decimal}}",
                    "new keyspaces: orders")
        self.assertEqual(server.ask("POST", "/v1/keyspaces/orders/keys").json["keys"], ["1"])

    def test_a_level_of_the_log_counts_at_once(self):
        self.serve("log_level: warn")
        self.assertNotIn('"debug"', self.server.log())
        self.reload("log_level: debug\nkeyspaces: {default: {}, more: {}}",
                    "log_level warn -> debug")
        self.reload("log_level: debug\nkeyspaces: {default: {}, more: {}, most: {}}",
                    '"level":"debug"', "reserved")
        log = self.reload("log_level: error\nkeyspaces: {default: {}, more: {}, most: {}, yet: {}}",
                          "log_level debug -> error")
        self.assertIn("new keyspaces: yet", log)

    def test_what_needs_a_restart_is_told_and_nothing_else_changes(self):
        server = self.serve("threads: 1")
        self.reload("threads: 2\ndata_dir: elsewhere\nrequest_timeout: 1s",
                    "needs a restart: data_dir data -> elsewhere, threads 1 -> 2",
                    "changed: request_timeout 2s -> 1s")
        self.assertEqual(server.ask("GET", "/get-key").status, 200)
        self.assertFalse((self.directory / "elsewhere").exists())

    def test_a_bad_file_changes_nothing(self):
        server = self.serve("log_level: info")
        log = self.reload("log_level: debug\nblok_size: 5", "not reloaded", "keymill.yml:2",
                          "block_size")
        self.assertNotIn("changed:", log)
        log = self.reload("log_level: debug\nkeyspaces: {default: {length: 9}}",
                          "not reloaded", "length")
        self.assertNotIn("changed:", log)
        log = self.reload("keyspaces: {aaa: {kind: sequence}, default: {length: 9}}",
                          "not reloaded", "length")
        self.assertEqual(server.ask("GET", "/v1/keyspaces/aaa").status, 404, log)
        self.assertEqual(len(server.ask("GET", "/get-key").text), 7)
        self.reload("log_level: info", "nothing changed")

    def test_a_file_that_is_gone_changes_nothing(self):
        server = self.serve("request_timeout: 1s")
        (self.directory / "keymill.yml").unlink()
        server.signal(signal.SIGHUP)
        await_that(lambda: "keymill.yml is gone" in server.log(), "it says so", 20)
        self.assertNotIn("request_timeout", server.log())

    def test_a_keyspace_that_is_not_named_any_more_is_served_on(self):
        server = self.serve("keyspaces: {default: {}, orders: {kind: sequence}}")
        self.reload("keyspaces: {default: {}}", "keymill keyspace retire", "orders")
        self.assertEqual(server.ask("POST", "/v1/keyspaces/orders/keys").status, 200)

    def test_block_rules_count_for_the_next_block(self):
        server = self.serve("block_size: 10\nblock_growth: off\n"
                            "keyspaces: {orders: {kind: sequence, alphabet: decimal}}")
        self.assertEqual(self.used(server), 10)
        self.reload("block_size: 500\nblock_growth: off\n"
                    "keyspaces: {orders: {kind: sequence, alphabet: decimal}}",
                    "block_size 10 -> 500")
        server.ask("POST", "/v1/keyspaces/orders/keys?count=10")
        await_that(lambda: self.used(server) == 510, "a block of 500 was reserved", 20)

    @staticmethod
    def used(server):
        return int(server.ask("GET", "/v1/keyspaces/orders").json["used"])

    def test_sigusr2_logs_more_and_as_before(self):
        server = self.serve()
        server.signal(signal.SIGUSR2)
        await_that(lambda: "log level debug now" in server.log(), "it logs more", 20)
        server.signal(signal.SIGUSR2)
        await_that(lambda: "log level info now" in server.log(), "it logs as before", 20)

    def test_sigusr2_is_answered_also_where_little_is_logged(self):
        server = self.serve("log_level: error")
        for level in ("debug", "error", "debug"):
            before = len(server.log())
            server.signal(signal.SIGUSR2)
            await_that(lambda: f"log level {level} now" in server.log()[before:],
                       "the level is told", 20)

    def test_a_flag_goes_on_to_win(self):
        self.serve("log_level: info", "--log-level", "warn")
        self.reload("log_level: debug\nthreads: 7", "threads 0 -> 7")
        self.assertNotIn("log_level", self.server.log())


class Terminal(ScenarioTest):
    """A server in the foreground of a terminal, as people start it to try it."""

    def start(self, *prefix):
        master, slave = os.openpty()

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        ports = self.directory / "ports"
        command = [*prefix, str(keymill_bin()), "serve", "--listen", "127.0.0.1:0",
                   "--print-ports", str(ports)]
        with open(self.directory / "log", "wb") as log:
            # pylint: disable-next=subprocess-popen-preexec-fn,consider-using-with
            process = subprocess.Popen(command, cwd=self.directory, env=clean_environment(),
                                       stdin=slave, stdout=subprocess.DEVNULL, stderr=log,
                                       preexec_fn=take_terminal)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(slave)
        await_that(ports.exists, "the server is ready")
        return process, master

    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8")

    def test_ends_cleanly_when_its_terminal_is_closed(self):
        process, master = self.start()
        os.close(master)
        self.assertEqual(process.wait(20), 0)
        self.assertIn("unused numbers went back", self.log())

    def test_goes_on_under_nohup(self):
        process, master = self.start("nohup")
        os.close(master)
        await_that(lambda: "nothing changed" in self.log(),
                   "it read its configuration again", 20)
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    unittest.main()
