#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A standby of PostgreSQL takes over under load, in small."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import test_scale
from proof import ScenarioTest
from scenario_failover import SERVING_SECONDS, failover


class Failover(ScenarioTest):
    def test_a_standby_that_takes_over_repeats_no_key(self):
        self.run_scenario(failover, promotions=2,
                          serving_seconds=SERVING_SECONDS / test_scale())


if __name__ == "__main__":
    unittest.main()
