#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a server tells a monitoring system, and what it tells nobody."""

import contextlib
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import DatabaseLock, RawConnection, Server, await_that
from proof import ScenarioTest

SAMPLE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')


def samples(text):
    """{("name", "label=value,…"): number}"""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            found[name, (labels or "").replace('"', "")] = float(value)
    return found


class Metrics(ScenarioTest):
    def start(self, *flags):
        server = Server(self.directory, *flags)
        server.start()
        self.addCleanup(server.kill)
        return server

    def scrape(self, server):
        answer = server.ask("GET", "/metrics")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        return answer.text

    def test_names_and_form_are_what_promtool_wants(self):
        server = self.start()
        server.mint(count=3)
        server.ask("GET", "/v1/keyspaces")
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.scrape(server),
                                 capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, "", ""))

    def test_figures_follow_what_was_asked_for(self):
        server = self.start("--threads", "2")
        keys = server.mint(count=500)
        for _ in range(10):
            keys.append(server.ask("GET", "/get-key").text)
        server.ask("POST", "/v1/keyspaces/nowhere/keys")
        text = self.scrape(server)
        found = samples(text)
        self.assertEqual(found["keymill_keys_issued_total", "keyspace=default"], 510)
        self.assertEqual(
            found["keymill_requests_total", "frontend=http,method=POST,status=2xx"], 1)
        self.assertEqual(
            found["keymill_requests_total", "frontend=http,method=POST,status=4xx"], 1)
        self.assertEqual(
            found["keymill_requests_total", "frontend=http,method=GET,status=2xx"], 10)
        self.assertEqual(found["keymill_request_duration_seconds_count", "frontend=http"], 12)
        self.assertEqual(found["keymill_store_up", ""], 1)
        self.assertEqual(found["keymill_connections_accepted_total", "frontend=http"], 13)
        self.assertGreaterEqual(found["keymill_blocks_reserved_total", "keyspace=default"], 1)
        self.assertGreater(found["process_resident_memory_bytes", ""], 1_000_000)
        self.assertRegex(text, r'keymill_build_info\{version="\d+\.\d+\.\d+",'
                         r'commit="([0-9a-f]{12,}(-dirty)?|unknown)",compiler="[^"]+"\} 1')
        self.assertEqual([key for key in keys if key in text], [])
        # A block may arrive between two looks.
        await_that(lambda: samples(self.scrape(server))["keymill_reservoir_numbers",
                                                        "keyspace=default"] == server.held(),
                   "both looks at the reservoir agree")

    def test_a_store_that_hangs_does_not_keep_the_figures_back(self):
        server = self.start()
        server.mint()
        with DatabaseLock(self.directory / "data" / "keymill.db"):
            for _ in range(5):
                self.scrape(server)
            found = samples(self.scrape(server))
        self.assertGreater(found["keymill_reservoir_numbers", "keyspace=default"], 0)

    def test_a_stop_in_the_middle_of_a_scrape_is_clean(self):
        names = ", ".join(f"k{n}: {{}}" for n in range(60))
        config = f"store: 'memory:'\nshutdown_timeout: 1s\nkeyspaces: {{default: {{}}, {names}}}"
        for _ in range(4):
            server = Server(self.directory, config=config).start()
            self.addCleanup(server.kill)
            with contextlib.ExitStack() as stack:
                scrapers = [stack.enter_context(RawConnection(server.port)) for _ in range(10)]
                for scraper in scrapers:
                    scraper.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
                self.assertTrue(scrapers[0].read_answer())
                server.terminate()
                self.assertEqual(server.wait(30), 0, server.log())

    def test_no_issued_key_is_in_the_log_above_trace_level(self):
        server = self.start("--log-level", "debug")
        keys = server.mint(count=2000)  # More than a block.
        for key in keys[:5]:
            server.ask("GET", f"/v1/keyspaces/default/keys/{key}")
        keys.append(server.ask("GET", "/get-key").text)
        server.ask("DELETE", f"/v1/keyspaces/default/keys/{keys[0]}")
        server.ask("GET", f"/v1/keyspaces/nowhere/keys/{keys[1]}")
        self.assertEqual(server.stop(), 0)
        log = server.log()
        self.assertIn('"level":"debug"', log)
        self.assertEqual([key for key in keys if key in log], [])


if __name__ == "__main__":
    unittest.main()
