#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Pools from the real program: small forms of the proofs."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import scenario_pool as pool
from proof import ScenarioTest


class Scenarios(ScenarioTest):
    def test_no_key_of_a_pool_comes_twice_from_killed_instances(self):
        self.run_scenario(pool.drain, store="sqlite", audit="batch", keys=10_000, kills=4,
                          all_every=2)

    def test_every_acknowledged_key_is_marked_used_after_a_kill(self):
        self.run_scenario(pool.drain, store="sqlite", audit="key", keys=20_000, kills=4,
                          all_every=2)


if __name__ == "__main__":
    unittest.main()
