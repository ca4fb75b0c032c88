#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Several servers on one database, in small."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import scaled
from proof import ScenarioTest
from scenario_instances import kill_nine, three_instances


class Instances(ScenarioTest):
    def test_three_servers_on_one_database_never_give_the_same_key_twice(self):
        self.run_scenario(three_instances, connections=scaled(500), requests=scaled(100_000))

    def test_servers_killed_in_mid_reservation_never_repeat_an_acknowledged_key(self):
        # A restart takes longer beside other tests and under a sanitizer, so kills come less
        # often here.
        period = 1 if scaled(10) == 10 else 3
        self.run_scenario(kill_nine, seconds=8 * period, period=period, connections=scaled(300))


if __name__ == "__main__":
    unittest.main()
