#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Snowflake ids of a real process whose wall clock jumps."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import built_stores
from proof import ScenarioTest
from scenario_snowflake import clock_steps, one_worker


class Clock(ScenarioTest):
    def test_no_step_repeats_an_id_of_one_worker(self):
        self.run_scenario(one_worker, steps=["-1"])


def add_tests():
    """One for each kind of clock that a store can have: the host's, and its own."""
    for store in ("sqlite", "postgres"):
        if store in built_stores():
            setattr(Clock, f"test_no_step_repeats_an_id_with_{store}",
                    lambda self, store=store: self.run_scenario(clock_steps, store=store, rounds=1))


add_tests()

if __name__ == "__main__":
    unittest.main()
