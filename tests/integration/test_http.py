#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The HTTP surface, as an ordinary client sees it."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, scaled
from proof import ScenarioTest


class HttpSurface(ScenarioTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self.directory)
        self.server.start()
        self.addCleanup(self.server.kill)
        self.ask = self.server.ask

    def assert_problem(self, answer, status, slug):
        self.assertEqual((answer.status, answer.json["type"]), (status, slug), answer)
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json")
        self.assertTrue(answer.json["detail"])

    def used(self, keyspace="default"):
        return self.server.held(keyspace)

    def test_get_key_gives_seven_bytes_of_text(self):
        answer = self.ask("GET", "/get-key")
        self.assertEqual(answer.status, 200)
        self.assertRegex(answer.text, r"^[0-9A-Za-z]{7}$")
        self.assertEqual(answer.headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")

    def test_post_mints_as_many_keys_as_asked_for(self):
        for answer in (self.ask("POST", "/v1/keyspaces/default/keys?count=500"),
                       self.ask("POST", "/v1/keyspaces/default/keys", {"count": 500})):
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers["Cache-Control"], "no-store")
            self.assertEqual(answer.json["keyspace"], "default")
            self.assertEqual(len(set(answer.json["keys"])), 500)

    def test_text_plain_gives_one_key_per_line(self):
        answer = self.ask("POST", "/v1/keyspaces/default/keys?count=3",
                          headers={"Accept": "text/plain"})
        self.assertRegex(answer.text, r"^([0-9A-Za-z]{7}\n){3}$")

    def test_a_large_count_is_streamed_as_text(self):
        count = scaled(1_000_000, 20_000)
        answer = self.ask("POST", f"/v1/keyspaces/default/keys?count={count}",
                          headers={"Accept": "text/plain"}, timeout=120)
        keys = answer.text.split("\n")
        self.assertEqual((answer.headers["Transfer-Encoding"], keys.pop()), ("chunked", ""))
        self.assertEqual((len(keys), len(set(keys))), (count, count))

    def test_too_many_keys_are_refused_and_none_is_used(self):
        before = self.used()
        self.assert_problem(self.ask("POST", "/v1/keyspaces/default/keys?count=10001"), 413,
                            "too-many-keys")
        self.assert_problem(self.ask("POST", "/v1/keyspaces/default/keys?count=100000001",
                                     headers={"Accept": "text/plain"}), 413, "too-many-keys")
        self.assertEqual(self.used(), before)

    def test_bad_counts_are_refused_and_none_is_used(self):
        before = self.used()
        for count in ("4294967297", "18446744073709551617"):
            with self.subTest(count=count):
                answer = self.ask("POST", f"/v1/keyspaces/default/keys?count={count}")
                self.assert_problem(answer, 413, "too-many-keys")
        for count in ("0", "-1", "1e9", "%205", "5x", "", "1&count=2"):
            with self.subTest(count=count):
                answer = self.ask("POST", f"/v1/keyspaces/default/keys?count={count}")
                self.assert_problem(answer, 400, "bad-request")
                self.assertIn("count", answer.json["detail"])
        for body in ('{"count":0}', '{"count":-1}', '{"count":1.5}', '{"count":"x"}', "[1]",
                     '{"count":1,"count":2}', "{" * 10_000, "nonsense", '{"cuont":1}'):
            with self.subTest(body=body[:20]):
                answer = self.ask("POST", "/v1/keyspaces/default/keys", body,
                                  {"Content-Type": "application/json"})
                self.assert_problem(answer, 400, "bad-request")
        self.assertEqual(self.used(), before)

    def test_a_body_of_another_type_is_refused(self):
        answer = self.ask("POST", "/v1/keyspaces/default/keys", "count=5",
                          {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(answer.status, 415)

    def test_get_and_head_never_mint_on_v1(self):
        before = self.used()
        for method in ("GET", "HEAD", "PUT", "DELETE"):
            answer = self.ask(method, "/v1/keyspaces/default/keys")
            self.assertEqual((answer.status, answer.headers["Allow"].split(", ")[0]),
                             (405, "POST"))
        self.assertEqual(self.ask("GET", "/v1/keyspaces/default/keys").json["detail"],
                         "use POST here")
        self.assertEqual(self.ask("HEAD", "/get-key").status, 405)
        self.assertEqual(self.used(), before)

    def test_an_unknown_keyspace_says_how_to_create_it(self):
        answer = self.ask("POST", "/v1/keyspaces/nowhere/keys")
        self.assert_problem(answer, 404, "keyspace-not-found")
        self.assertIn("keymill keyspace create nowhere", answer.json["detail"])

    def test_a_keyspace_is_created_once_and_keeps_its_recipe(self):
        recipe = {"kind": "sequence", "alphabet": "decimal", "length": 5, "prefix": "ord_"}
        created = self.ask("PUT", "/v1/keyspaces/orders", recipe)
        self.assertEqual((created.status, created.headers["Location"]),
                         (201, "/v1/keyspaces/orders"))
        self.assertEqual(self.ask("PUT", "/v1/keyspaces/orders", recipe).status, 200)
        other = self.ask("PUT", "/v1/keyspaces/orders", {**recipe, "length": 6})
        self.assert_problem(other, 409, "recipe-mismatch")
        self.assertIn("length", other.json["detail"])
        self.assertEqual(self.server.mint("orders", 2), ["ord_00001", "ord_00002"])
        shown = self.ask("GET", "/v1/keyspaces/orders").json
        self.assertEqual((shown["kind"], shown["state"], shown["capacity"]),
                         ("sequence", "open", "99999"))
        names = [each["name"] for each in self.ask("GET", "/v1/keyspaces").json["keyspaces"]]
        self.assertEqual(sorted(names), ["default", "ids", "orders"])

    def test_bad_recipes_are_refused(self):
        for recipe in ({"kind": "nonsense"}, {"kind": "shuffled", "length": 2},
                       {"lenght": 7}, {"kind": "sequence", "alphabet": "aa"},
                       {"prefix": "a/b"}):
            with self.subTest(recipe=recipe):
                self.assert_problem(self.ask("PUT", "/v1/keyspaces/bad", recipe), 400,
                                    "bad-request")
        self.assertEqual(self.ask("GET", "/v1/keyspaces/bad").status, 404)

    def test_a_retired_keyspace_stays_retired(self):
        self.ask("PUT", "/v1/keyspaces/old", {"kind": "sequence"})
        self.server.mint("old", 3)
        self.assertEqual(self.ask("DELETE", "/v1/keyspaces/old").json["state"], "retired")
        self.assertEqual(self.ask("POST", "/v1/keyspaces/old/keys").status, 410)
        self.assert_problem(self.ask("PUT", "/v1/keyspaces/old", {"kind": "sequence"}), 410,
                            "keyspace-retired")

    def test_a_key_can_be_explained(self):
        key, = self.server.mint()
        told = self.ask("GET", f"/v1/keyspaces/default/keys/{key}")
        self.assertEqual((told.status, told.json["state"], told.json["kind"]),
                         (200, "issued", "shuffled"))
        for unknown in ("0", "!!!", "aaaaaaaaaa"):
            self.assertEqual(self.ask("GET", f"/v1/keyspaces/default/keys/{unknown}").status, 404)

    def test_names_and_paths_that_cannot_be_are_refused(self):
        for path in ("/v1/keyspaces/%2e%2e/keys", "/v1/keyspaces/a%2Fb/keys",
                     "/v1/keyspaces/%00/keys", "/v1/keyspaces/%G0/keys", "/v1/keyspaces/%/keys",
                     "/v1/keyspaces/%c0%af/keys", f"/v1/keyspaces/{'n' * 65}/keys"):
            with self.subTest(path=path):
                self.assertEqual(self.ask("POST", path).status, 400)
        for path in ("//v1", "/v1/keyspaces/default/keys/", "/v1", "/v1/../livez"):
            with self.subTest(path=path):
                self.assertIn(self.ask("GET", path).status, (400, 404))

    def test_probes_and_index(self):
        self.assertEqual(self.ask("GET", "/livez").text, "ok\n")
        self.assertEqual(self.ask("GET", "/readyz").text, "ok\n")
        self.assertEqual(self.ask("GET", "/healthz").status, 200)
        verbose = self.ask("GET", "/readyz?verbose").text
        self.assertTrue(re.search(r"^\[\+\]mint ok$", verbose, re.MULTILINE), verbose)
        self.assertIn("/get-key", self.ask("GET", "/").text)
        self.assertIn("<html", self.ask("GET", "/", headers={"Accept": "text/html"}).text)

    def test_a_keyspace_of_another_instance_is_found(self):
        with Server(self.directory) as other:
            self.assertEqual(self.ask("POST", "/v1/keyspaces/late/keys").status, 404)
            other.ask("PUT", "/v1/keyspaces/late", {"kind": "sequence"})
            answer = self.ask("POST", "/v1/keyspaces/late/keys")
            while answer.status == 404:  # A name that was missing a moment ago is remembered.
                answer = self.ask("POST", "/v1/keyspaces/late/keys")
            self.assertFalse(set(answer.json["keys"]) & set(other.mint("late", 50)))


if __name__ == "__main__":
    unittest.main()
