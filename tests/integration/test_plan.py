#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What is said of a recipe before and after a keyspace is made of it."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import run_keymill
from proof import ScenarioTest

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78

SHUFFLED = """\
kind       shuffled
key        7 characters
capacity   3521614606208 (3.5 trillion)
lifetime   112 years at 1000/s
guess      1 in 112 after a year; 1 in 2 when half full
collision  none: a permutation (random keys: even odds after 2.2 million)
storage    0 bytes per key: one counter, and a row per block
warning    after a year more than one guess in a million hits an issued key; --length 10 would do; \
do not let a key alone open anything
"""


class Plan(ScenarioTest):
    def keymill(self, *arguments, code=OK):
        done = run_keymill(*arguments, cwd=self.directory)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_plan_tells_capacity_lifetime_and_odds(self):
        done = self.keymill("plan", "--kind", "shuffled", "--alphabet", "base62", "--length", "7",
                            "--rate", "1000/s")
        self.assertEqual((done.stdout, done.stderr), (SHUFFLED, ""))

    def test_a_plan_makes_nothing(self):
        self.keymill("plan", "--rate", "1/s")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_plan_is_json_for_programs(self):
        told = json.loads(self.keymill("plan", "--kind", "sequence", "--alphabet", "decimal",
                                       "--length", "6", "--rate", "60/m", "-o", "json").stdout)
        self.assertEqual((told["capacity"], told["rate_per_second"], told["lifetime_seconds"]),
                         ("999999", 1.0, 999999.0))
        self.assertTrue(told["guess_odds"]["countable"])
        self.assertEqual((told["collision_odds"], told["storage_bytes_per_key"]), (0, 0))
        self.assertEqual([each["kind"] for each in told["warnings"]], ["short-lived"])

    def test_what_cannot_be_is_a_usage_error(self):
        for words, said in ((("--rate", "1000"), "1000/s"), (("--rate", "0/s"), "1000/s"),
                            (("--length", "2"), "length"), (("--kind", "shufled"), "shuffled")):
            with self.subTest(words=words):
                done = self.keymill("plan", *words, code=USAGE)
                self.assertEqual(done.stdout, "")
                self.assertIn(said, done.stderr)

    def test_a_keyspace_is_shown_with_its_odds(self):
        self.keymill("keyspace", "create", "links")
        self.keymill("mint", "links", "-n", "1000")
        text = self.keymill("keyspace", "show", "links").stdout
        self.assertRegex(text, r"(?m)^guess      1 in 3,521,614,606 now; 1 in 2 when half full$")
        self.assertRegex(text, r"(?m)^lifetime   .*, 112 years at 1000/s, ")
        self.assertRegex(text, r"(?m)^collision  none: ")
        self.assertNotIn("warning", text)
        told = json.loads(self.keymill("keyspace", "show", "links", "-o", "json").stdout)
        self.assertEqual(told["plan"]["guess_odds"]["half_full"], 0.5)
        self.assertEqual(told["plan"]["collision_odds"], 0)

    def test_a_regrettable_recipe_is_warned_of_when_it_is_created(self):
        self.keymill("mint")
        done = self.keymill("keyspace", "create", "short", "--length", "5")
        self.assertRegex(done.stderr, r"^keymill: warning: .* one guess in a million .*\n$")
        self.assertNotIn("warning", done.stdout)
        self.assertRegex(self.keymill("keyspace", "show", "short").stdout,
                         r"(?m)^warning    .* one guess in a million ")
        done = self.keymill("keyspace", "create", "few", "--kind", "sequence", "--alphabet",
                            "decimal", "--length", "4")
        self.assertIn("warning: there are only 9999 keys", done.stderr)
        self.assertEqual(self.keymill("keyspace", "create", "fine").stderr, "")


if __name__ == "__main__":
    unittest.main()
