#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A database that another program has locked."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import scaled, test_scale
from proof import ScenarioTest
from scenario_locked_store import locked_for_a_while, locked_for_good, start_while_locked


class LockedStore(ScenarioTest):
    def test_nobody_notices_a_lock_that_is_shorter_than_the_runway(self):
        self.run_scenario(locked_for_a_while, rate=scaled(2000), seconds=3)

    def test_a_lock_that_stays_means_503_in_time_and_service_afterwards(self):
        self.run_scenario(locked_for_good, slack=1.5 if test_scale() == 1 else 10, clients=20)

    def test_a_server_that_starts_beside_a_lock_says_503_and_recovers(self):
        self.run_scenario(start_while_locked)


if __name__ == "__main__":
    unittest.main()
