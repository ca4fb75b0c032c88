#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The rules of the tree and the example of the configuration, broken one at a time."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import Checks, ScenarioTest
from scenario_mutations import broken_defaults, broken_rules


class Mutations(ScenarioTest):
    def assert_all_found(self, scenario):
        checks = Checks()
        made, found = scenario(checks, self.directory)
        self.assertEqual(checks.failures, [])
        self.assertEqual(made, found)

    def test_a_broken_rule_is_found_in_this_tree(self):
        self.assert_all_found(broken_rules)

    def test_an_example_that_departs_from_the_defaults_is_noticed(self):
        self.assert_all_found(broken_defaults)


if __name__ == "__main__":
    unittest.main()
