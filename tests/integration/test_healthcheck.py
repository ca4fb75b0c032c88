#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill healthcheck` and what `keymill version` tells programs."""

import json
import pathlib
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, await_that, free_port, run_keymill
from proof import ScenarioTest

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78


class Healthcheck(ScenarioTest):
    def keymill(self, *arguments, code=OK, env=None):
        done = run_keymill(*arguments, cwd=self.directory, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_server_that_can_mint_is_ready(self):
        with Server(self.directory) as server:
            url = f"http://127.0.0.1:{server.port}"
            for address in (url, url + "/"):
                done = self.keymill("healthcheck", address)
                self.assertEqual((done.stdout, done.stderr), (f"{address} is ready\n", ""))

    def test_without_a_url_the_configured_server_is_asked(self):
        port = free_port()
        with Server(self.directory, "--listen", f"127.0.0.1:{port}"):
            self.assertIn("is ready", self.keymill("healthcheck", env={"PORT": str(port)}).stdout)
            self.assertIn("is ready",
                          self.keymill("healthcheck", "--listen", f"127.0.0.1:{port}").stdout)
            self.assertIn(f"http://127.0.0.1:{port} is ready", self.keymill(
                "healthcheck", "--listen", f"0.0.0.0:{port}", "--insecure").stdout)
        done = self.keymill("healthcheck", code=FAILURE, env={"PORT": str(port)})
        self.assertEqual(done.stdout, "")
        self.assertIn(f"connect to http://127.0.0.1:{port}: ", done.stderr)

    def test_a_server_whose_keyspace_is_retired_is_not_ready(self):
        with Server(self.directory) as server:
            self.keymill("keyspace", "retire", "default")
            url = f"http://127.0.0.1:{server.port}"
            await_that(lambda: server.ask("GET", "/readyz").status == 503, "the server knows")
            done = self.keymill("healthcheck", url, code=FAILURE)
            self.assertIn("is not ready: 503 [-]keyspace failed", done.stderr)

    def test_a_server_that_says_nothing_is_not_ready(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            done = self.keymill("healthcheck", url, "--timeout", "50ms", code=FAILURE)
            self.assertEqual(done.stderr, f"keymill: read from {url}: no answer within 50ms\n")

    def test_what_cannot_be_asked_is_a_usage_error(self):
        for arguments in (("nonsense",), ("http://h:1/path",), ("--timeout", "soon"),
                          ("--listen", "127.0.0.1:0"), ("--listen", "")):
            with self.subTest(arguments=arguments):
                self.keymill("healthcheck", *arguments, code=USAGE)
        self.keymill("healthcheck", code=REFUSED, env={"KEYMILL_LISTEN_HTTP": "nonsense"})

    def test_version_tells_programs_how_it_was_built(self):
        told = json.loads(self.keymill("version", "-o", "json").stdout)
        self.assertRegex(told["version"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(told["compiler"], r"^(gcc|clang) \d+")
        self.assertEqual(told["kinds"], ["sequence", "shuffled", "ticket", "snowflake", "uuid4",
                                         "uuid7", "ulid", "pool", "derived"])
        self.assertIn("sqlite", told["stores"])
        self.assertEqual(set(told["libraries"]), {"boost", "openssl"})


if __name__ == "__main__":
    unittest.main()
