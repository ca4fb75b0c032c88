#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Restarts of instances behind nginx, under load."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import scaled
from proof import ScenarioTest
from scenario_rolling_restart import rolling_restart


class RollingRestart(ScenarioTest):
    def test_without_retries_no_request_is_lost(self):
        self.run_scenario(rolling_restart, restarts=2, rate=scaled(500))

    def test_the_example_as_it_is_shipped_loses_none_either(self):
        self.run_scenario(rolling_restart, restarts=1, rate=scaled(500), retry=True)


if __name__ == "__main__":
    unittest.main()
