#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Single keys over HTTP: aliases, keys from content, retries; on SQLite and on servers."""

import contextlib
import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import DatabaseLock, Server, scaled
from proof import ScenarioTest
from scenario_claims import alias_boundary, aliases_among_keys, racing_claims, urls_of
from scenario_retries import idempotent_retry
from store_fleet import built_stores, start_instances

DERIVED = {"kind": "derived", "alphabet": "base36", "length": 5}


class OnAStore:
    """What every store that remembers keys must do, with two instances on it."""

    store = ""

    def setUp(self):
        if self.store not in built_stores():
            self.skipTest(f"built without {self.store}")
        super().setUp()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        urls = urls_of(self.stack, self.directory, self.store, 2)
        self.one, self.other = start_instances(self.stack, self.directory, urls)

    def assert_problem(self, answer, status, slug):
        self.assertEqual((answer.status, answer.json["type"]), (status, slug), answer)
        self.assertTrue(answer.json["detail"])

    def derive(self, server, content, **more):
        return server.ask("POST", "/v1/keyspaces/pages/derive", {"content": content, **more})

    def test_an_alias_has_one_owner_on_all_instances(self):
        path = "/v1/keyspaces/default/keys/Summer_Sale-26"
        claimed = self.one.ask("PUT", path, {"owner": "mira"})
        self.assertEqual((claimed.status, claimed.headers["Location"]), (201, path))
        self.assertEqual(claimed.json, {"keyspace": "default", "key": "Summer_Sale-26",
                                        "state": "alias", "owner": "mira"})
        self.assertEqual(self.other.ask("PUT", path, {"owner": "mira"}).status, 200)
        self.assert_problem(self.other.ask("PUT", path, {"owner": "otto"}), 409, "alias-taken")
        self.assert_problem(self.one.ask("PUT", path), 409, "alias-taken")
        # Names compare as bytes on every store.
        self.assertEqual(self.other.ask("PUT", path.lower()).status, 201)
        told = self.other.ask("GET", path)
        self.assertEqual(told.headers["ETag"], '"0"')
        self.assertEqual((told.json["state"], told.json["record"]["owner"]), ("alias", "mira"))
        self.assertEqual(self.one.ask("GET", path).json, told.json)

    def test_keys_that_may_be_handed_out_are_nobodys(self):
        for alias in self.one.mint(count=20):
            answer = self.other.ask("PUT", f"/v1/keyspaces/default/keys/{alias}")
            self.assert_problem(answer, 422, "alias-looks-generated")
        for alias, slug in (("login", "alias-reserved"), ("ab", "alias-invalid"),
                            ("a.b", "alias-invalid"), ("%C3%A4bc", "alias-invalid")):
            answer = self.one.ask("PUT", f"/v1/keyspaces/default/keys/{alias}")
            self.assert_problem(answer, 422, slug)

    def test_the_same_content_has_the_same_key_everywhere(self):
        self.assertEqual(self.one.ask("PUT", "/v1/keyspaces/pages", DERIVED).status, 201)
        first = self.derive(self.one, "https://example.com/")
        self.assertEqual((first.status, first.json["existing"]), (200, False))
        key = first.json["key"]
        self.assertRegex(key, r"^[0-9a-z]{5}$")
        self.assertEqual(self.derive(self.other, "https://example.com/").json,
                         {"keyspace": "pages", "key": key, "existing": True})
        salted = self.derive(self.other, "https://example.com/", salt="user-7").json
        self.assertEqual((salted["existing"], salted["key"] == key), (False, False))
        told = self.other.ask("GET", f"/v1/keyspaces/pages/keys/{key}").json
        self.assertEqual((told["state"], told["record"]["state"]), ("issued", "derived"))
        self.assertEqual(self.one.ask("GET", "/v1/keyspaces/pages").json["keys"],
                         {"derived": "2", "alias": "0"})
        self.assert_problem(self.one.ask("POST", "/v1/keyspaces/pages/keys"), 400, "bad-request")
        self.assert_problem(self.derive(self.one, 5), 400, "bad-request")

    def test_contents_at_once_from_both_instances(self):
        self.one.ask("PUT", "/v1/keyspaces/pages", {**DERIVED, "length": 2})
        contents = [f"content {number}" for number in range(scaled(150, 40))]
        found = ({}, {})

        def derive_all(server, keys, order):
            for content in order:
                answer = self.derive(server, content)
                keys[content] = answer.json["key"] if answer.status == 200 else answer
        threads = [threading.Thread(target=derive_all, args=each) for each in
                   ((self.one, found[0], contents), (self.other, found[1], contents[::-1]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found[0], found[1])
        self.assertEqual(len(set(found[0].values())), len(contents))

    def test_large_contents(self):
        self.one.ask("PUT", "/v1/keyspaces/pages", DERIVED)
        content = "\u0001" * (64 * 1024)  # Six bytes each as JSON.
        self.assertEqual(self.derive(self.one, content).status, 200)
        self.assertTrue(self.derive(self.other, content).json["existing"])
        self.assert_problem(self.derive(self.one, "x" * (64 * 1024 + 1)), 400, "bad-request")
        self.assert_problem(self.derive(self.one, "x" * (1 << 19)), 413, "too-large")

    def test_a_retry_gets_the_same_keys_after_a_crash_as_well(self):
        path = "/v1/keyspaces/default/keys?count=100"
        headers = {"Idempotency-Key": '"8e03978e-40d5-43dd-bc93-6894a57f9324"'}
        first = self.one.ask("POST", path, headers=headers)
        self.assertEqual((first.status, len(set(first.json["keys"]))), (200, 100))
        self.assertEqual(self.other.ask("POST", path, headers=headers).body, first.body)
        self.one.kill()
        self.one.start()
        self.assertEqual(self.one.ask("POST", path, headers=headers).body, first.body)
        lines = self.one.ask("POST", path, headers={**headers, "Accept": "text/plain"})
        self.assertEqual(lines.text.split(), first.json["keys"])
        self.assert_problem(self.other.ask("POST", "/v1/keyspaces/default/keys", headers=headers),
                            422, "idempotency-key-reused")
        self.assert_problem(self.one.ask("POST", "/v1/keyspaces/default/keys?count=10001",
                                         headers=headers), 413, "too-many-keys")

    def test_only_pools_take_keys_back(self):
        [key] = self.one.mint()
        path = f"/v1/keyspaces/default/keys/{key}"
        self.assert_problem(self.one.ask("DELETE", path), 409, "keys-not-recycled")
        self.assert_problem(self.one.ask("DELETE", path, headers={"If-Match": "3"}), 400,
                            "bad-request")


class OnSqlite(OnAStore, ScenarioTest):
    store = "sqlite"


class OnPostgres(OnAStore, ScenarioTest):
    store = "postgres"


class OnEtcd(ScenarioTest):
    """It keeps numbers only, and says so."""

    def test_what_needs_keys_is_not_supported(self):
        if "etcd" not in built_stores():
            self.skipTest("built without etcd")
        with contextlib.ExitStack() as stack:
            [server] = start_instances(stack, self.directory,
                                       urls_of(stack, self.directory, "etcd", 1))
            keys = "/v1/keyspaces/default/keys"
            for answer in (server.ask("PUT", f"{keys}/summer"),
                           server.ask("POST", keys, headers={"Idempotency-Key": "a"}),
                           server.ask("PUT", "/v1/keyspaces/pages", DERIVED)):
                self.assertEqual((answer.status, answer.json["type"]),
                                 (501, "not-supported-by-store"), answer)
                self.assertIn("PostgreSQL", answer.json["detail"])
            self.assertEqual(server.ask("POST", keys).status, 200)


class Scenarios(ScenarioTest):
    """The proofs, in a small size."""

    def test_one_claimant_wins(self):
        self.run_scenario(racing_claims, store="sqlite", claims=scaled(40, 12), rounds=2)

    def test_lost_answers(self):
        self.run_scenario(idempotent_retry, store="sqlite", instances=2,
                          requests=scaled(40, 20))

    def test_no_alias_is_a_key(self):
        self.run_scenario(alias_boundary, tries=scaled(50_000, 16_000))

    def test_no_alias_is_a_key_of_a_pool_or_a_content(self):
        self.run_scenario(aliases_among_keys, store="sqlite", claims=400, keys=2_000,
                          contents=1_500, seconds=60)


class HangingStore(ScenarioTest):
    def test_keys_are_served_while_claims_wait(self):
        """A store that does not answer holds up what needs it, and nothing else."""
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(Server(self.directory))
            server.mint(count=10)
            lock = stack.enter_context(DatabaseLock(self.directory / "data/keymill.db"))
            waiting = [threading.Thread(target=server.ask, args=(
                "PUT", f"/v1/keyspaces/default/keys/waiting-{number}")) for number in range(20)]
            for thread in waiting:
                thread.start()
            for _ in range(20):
                self.assertEqual(server.ask("GET", "/get-key").status, 200)
            lock.release()
            for thread in waiting:
                thread.join()


if __name__ == "__main__":
    unittest.main()
