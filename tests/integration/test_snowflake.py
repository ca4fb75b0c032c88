#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Snowflake ids from the real program: small forms of the proof, explain and bounds."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import scenario_snowflake as snowflake
from keymill_process import Server, run_keymill
from proof import ScenarioTest


class Scenarios(ScenarioTest):
    def test_a_sleeper_repeats_nothing(self):
        self.run_scenario(snowflake.frozen, rounds=1)

    def test_two_pods_with_one_ordinal(self):
        self.run_scenario(snowflake.one_ordinal, rounds=1)

    def test_crashes(self):
        # A busy machine starts slowly; the proof has the bound.
        self.run_scenario(snowflake.crashes, rounds=2, seconds_max=30)


class Answers(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.directory = pathlib.Path(self.temporary.name)

    def test_an_id_is_explained_and_lies_within_its_bounds(self):
        with Server(self.directory, "--worker-id", "77", config=snowflake.CONFIG) as server:
            key = server.mint("ids")[0]
            told = server.ask("GET", f"/v1/keyspaces/ids/keys/{key}").json
            self.assertEqual(told["kind"], "snowflake")
            self.assertEqual(told["worker"], 77)
            self.assertEqual(told["number"], key)
            ms = (int(key) >> 22) + snowflake.EPOCH_MS
            bounds = server.ask("GET", f"/v1/keyspaces/ids/bounds?from={ms}&to={ms + 1}").json
            self.assertLessEqual(int(bounds["first"]), int(key))
            self.assertGreaterEqual(int(bounds["last"]), int(key))
            self.assertEqual(int(bounds["last"]) - int(bounds["first"]), (1 << 22) - 1)
            for query in ("", "?from=2026-01-01", "?from=x&to=2026-01-01", "?from=2&to=1",
                          "?from=2026-01-01&to=2026-01-02&x=1"):
                answer = server.ask("GET", f"/v1/keyspaces/ids/bounds{query}")
                self.assertEqual(answer.status, 400, query)
            shown = server.ask("GET", "/v1/keyspaces/ids").json
            self.assertGreater(shown["forecast"]["years_left"], 60)
            self.assertEqual([each["name"] for each in
                              server.ask("GET", "/v1/keyspaces").json["keyspaces"]], ["ids"])
            self.assertEqual(server.stop(), 0)
        done = run_keymill("bounds", "ids", "--from", "2026-01-01", "--to", "2026-02-01", "-o",
                           "json", cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        january = json.loads(done.stdout)
        self.assertEqual(int(january["first"]) >> 22, 365 * 86_400_000)
        shown = run_keymill("keyspace", "show", "ids", cwd=self.directory).stdout
        self.assertRegex(shown, r"years left 6\d\.\d")

    def test_a_worker_id_that_is_taken_or_too_large_is_refused(self):
        with Server(self.directory, "--worker-id", "7", config=snowflake.CONFIG) as first:
            first.mint("ids")
            with Server(self.directory, "--worker-id", "7") as second:
                answer = snowflake.answer(second, 1)
                self.assertEqual(answer.status, 503, "it is free once its owner is gone")
                self.assertTrue(answer.json["type"].endswith("overloaded"))
                self.assertIn("retry-after", answer.headers)
                self.assertRegex(answer.json["detail"], r"worker id 7 is in use until 2\S+Z, by "
                                 r"another instance or by one that crashed; wait, or give each")
                ready = second.ask("GET", "/readyz?verbose")
                self.assertIn("[!]keyspace ids: mint ids: worker id 7 is in use", ready.text)
        done = run_keymill("serve", "--listen", "127.0.0.1:0", "--worker-id", "1024",
                           cwd=self.directory)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("keyspace ids: worker_id is 1024, and the largest that fits its layout is "
                      "1023; give another one, or none", done.stderr)


if __name__ == "__main__":
    unittest.main()
