#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Short links from outside: the API, the listener, their settings."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, ask, run_keymill, scaled
from proof import ScenarioTest
from scenario_links import killed, links, location, make


class Links(ScenarioTest):
    """Links of real servers."""

    def serve(self, *flags, **env):
        server = Server(self.directory, "--listen-links", "127.0.0.1:0", *flags, env=env)
        self.addCleanup(server.kill)
        return server.start()

    def test_links_on_sqlite_and_redis(self):
        for store in ("sqlite", "redis"):
            folder = self.directory / store
            folder.mkdir()
            self.run_scenario(lambda checks, _, store=store, folder=folder: links(
                checks, folder, store=store, count=scaled(12, 4), claims=8, rounds=2, instances=2))

    def test_kills_lose_no_link(self):
        self.run_scenario(killed, store="sqlite", kills=scaled(4, 2))

    def test_a_link_outlives_its_server(self):
        server = self.serve()
        answer = make(server, "https://example.com/", alias="spring-sale")
        self.assertEqual(answer.status, 201)
        self.assertEqual(answer.headers["Location"], "/v1/links/spring-sale")
        self.assertEqual(answer.json["public_url"],
                         f"http://127.0.0.1:{server.links_port}/spring-sale")
        for _ in range(3):
            self.assertEqual(location(server, "spring-sale"), "https://example.com/")
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(location(server, "spring-sale"), "https://example.com/")
        # What was counted is written down at a clean stop, too.
        self.assertEqual(server.ask("GET", "/v1/links/spring-sale").json["hits"], 3)

    def test_homepage_and_public_url(self):
        server = self.serve("--links-homepage", "https://home.test/", "--links-public-url",
                            "https://sho.rt/")
        self.assertEqual(location(server, ""), "https://home.test/")
        self.assertEqual(location(server, "nobody-s"), "https://home.test/")
        key = make(server, "https://example.com/").json["key"]
        self.assertEqual(server.ask("GET", f"/v1/links/{key}").json["public_url"],
                         f"https://sho.rt/{key}")

    def test_links_have_keys_of_their_keyspace(self):
        server = self.serve("--links-keyspace", "short", KEYMILL_KEYSPACES=(
            "{short: {kind: shuffled, alphabet: base32, length: 9, prefix: x}, "
            "codes: {kind: pool}}"))
        key = make(server, "https://example.com/").json["key"]
        self.assertEqual((len(key), key[0]), (10, "x"))
        self.assertEqual(server.stop(), 0)
        server = self.serve("--links-keyspace", "codes")
        answer = make(server, "https://example.com/")
        self.assertEqual(answer.status, 400)
        self.assertIn("links_keyspace", answer.json["detail"])

    def test_without_a_listener_links_can_be_made(self):
        server = Server(self.directory)
        self.addCleanup(server.kill)
        server.start()
        answer = make(server, "https://example.com/")
        self.assertEqual(answer.status, 201)
        self.assertNotIn("public_url", answer.json)

    def test_links_alone_can_be_served(self):
        server = self.serve()
        key = make(server, "https://example.com/").json["key"]
        self.assertEqual(server.stop(), 0)
        server = self.serve("--listen", "")
        self.assertEqual(set(server.ports), {"links"})
        self.assertEqual(location(server, key), "https://example.com/")

    def test_nothing_else_is_served_at_the_listener_for_links(self):
        server = self.serve()
        for path in ("/metrics", "/v1/keyspaces", "/get-key", "/readyz", "/openapi.json"):
            self.assertEqual(ask(server.links_port, "GET", path).status, 404, path)
        answer = ask(server.links_port, "POST", "/v1/links", {"url": "https://example.com/"})
        self.assertIn(answer.status, (405, 413))

    def test_a_port_that_is_taken_is_named(self):
        server = self.serve()
        other = Server(self.directory, "--listen-links", f"127.0.0.1:{server.links_port}").launch()
        self.addCleanup(other.kill)
        self.assertEqual(other.wait(), 1)
        self.assertIn("--listen-links", other.log())

    def test_explain_and_audit_know_links(self):
        server = self.serve()
        make(server, "https://example.com/", alias="spring-sale")
        self.assertEqual(server.stop(), 0)
        told = run_keymill("explain", "spring-sale", "--keyspace", "default", cwd=self.directory)
        self.assertIn("link", told.stdout)
        audit = run_keymill("audit", "--keyspace", "default", "-o", "csv", cwd=self.directory)
        self.assertIn("spring-sale", audit.stdout)

    def test_figures(self):
        server = self.serve()
        key = make(server, "https://example.com/").json["key"]
        for _ in range(3):
            location(server, key)
        self.assertEqual(server.metric("keymill_links_created_total"), 1)
        self.assertEqual(server.metric("keymill_links_loads_total"), 1)
        self.assertEqual(server.metric("keymill_requests_total", frontend="links", status="3xx"), 3)


if __name__ == "__main__":
    unittest.main()
