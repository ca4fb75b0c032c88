#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Snowflake ids of a real process whose wall clock jumps."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import ScenarioTest
from scenario_snowflake import clock_steps, one_worker


class Clock(ScenarioTest):
    def test_no_step_repeats_an_id(self):
        self.run_scenario(clock_steps, rounds=1)

    def test_no_step_repeats_an_id_of_one_worker(self):
        self.run_scenario(one_worker, steps=["-1"])


if __name__ == "__main__":
    unittest.main()
