#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill verify`, from the command line."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import run_keymill, scaled
from proof import ScenarioTest
from scenario_verify import planted_duplicate


class Verify(ScenarioTest):
    def write(self, name, *keys):
        path = self.directory / name
        path.write_text("".join(f"{key}\n" for key in keys), encoding="utf-8")
        return path

    def verify(self, *arguments, **options):
        return run_keymill("verify", *arguments, cwd=self.directory, **options)

    def test_one_duplicate_among_many_keys_is_found(self):
        self.run_scenario(planted_duplicate, keys=scaled(1_000_000), memory_matters=False)

    def test_distinct_keys_are_fine(self):
        done = self.verify(self.write("a", "x1", "x2"), self.write("b", "x3"))
        self.assertEqual((done.returncode, done.stdout),
                         (0, "3 keys, 3 distinct, 0 duplicates\n"))

    def test_a_key_in_two_files_is_named_with_both_places(self):
        done = self.verify(self.write("a", "x1", "x2"), self.write("b", "x3", "x1"))
        self.assertEqual(done.returncode, 1)
        for word in ("x1", "a:1", "b:2", "2 times"):
            self.assertIn(word, done.stdout)

    def test_the_first_twenty_duplicates_are_shown_and_all_are_counted(self):
        keys = [f"k{n}" for n in range(30)]
        done = self.verify("-o", "json", self.write("a", *keys, *keys, *keys))
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report["duplicate_keys"], len(report["first"])),
                         (1, 30, 20))
        self.assertEqual({each["count"] for each in report["first"]}, {3})

    def test_standard_input_is_read_for_a_dash(self):
        done = self.verify("-", stdin="a\nb\na\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 duplicate\n", done.stdout)

    def test_a_missing_file_is_a_failure_that_names_it(self):
        done = self.verify("nowhere")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("nowhere", done.stderr)


if __name__ == "__main__":
    unittest.main()
