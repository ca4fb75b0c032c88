#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Load from the moment the server is executed, in an empty directory."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import test_scale
from proof import ScenarioTest
from scenario_cold_start import cold_start

# Other tests run beside this one, and a sanitizer makes everything slower.
SLOWEST_MS = 1000 if test_scale() == 1 else 10_000


class ColdStart(ScenarioTest):
    def test_under_load_from_exec_on_nobody_waits_long_and_soon_nobody_at_all(self):
        self.run_scenario(cold_start, threads=2, seconds=5, slowest_ms=SLOWEST_MS)


if __name__ == "__main__":
    unittest.main()
