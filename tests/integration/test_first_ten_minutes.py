#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The session of a new user, word for word. With --update it is kept as it is now."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import ScenarioTest
from scenario_first_ten_minutes import first_ten_minutes

UPDATE = "--update" in sys.argv


class FirstTenMinutes(ScenarioTest):
    maxDiff = None

    def test_every_answer_is_the_one_that_is_kept(self):
        self.run_scenario(first_ten_minutes, update=UPDATE)


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--update"])
