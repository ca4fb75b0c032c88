#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Where a setting's value comes from when several places name it."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import scaled
from proof import ScenarioTest
from scenario_precedence import precedence


class Precedence(ScenarioTest):
    def test_every_setting_in_every_combination_of_flag_environment_and_file(self):
        self.run_scenario(precedence, mixes=scaled(20))


if __name__ == "__main__":
    unittest.main()
