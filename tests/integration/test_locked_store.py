#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A store or a witness that another program has locked, or that cannot be written."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import scaled, test_scale
from proof import ScenarioTest
from scenario_full_disk import full_disk
from scenario_locked_store import locked_for_a_while, locked_for_good, start_while_locked
from scenario_witness import frozen_peer, unwritable_witness

SLACK = 1.5 if test_scale() == 1 else 10


class LockedStore(ScenarioTest):
    def test_nobody_notices_a_lock_that_is_shorter_than_the_runway(self):
        self.run_scenario(locked_for_a_while, rate=scaled(2000), seconds=3)

    def test_a_lock_that_stays_means_503_in_time_and_service_afterwards(self):
        self.run_scenario(locked_for_good, slack=SLACK, clients=20)

    def test_a_server_that_starts_beside_a_lock_says_503_and_recovers(self):
        self.run_scenario(start_while_locked)

    def test_a_peer_that_keeps_the_witness_locked_hangs_nobody(self):
        self.run_scenario(frozen_peer, slack=SLACK)

    def test_a_witness_that_cannot_be_written_means_503_and_wastes_no_numbers(self):
        self.run_scenario(unwritable_witness, seconds=2)

    def test_a_full_disk_means_503_and_service_when_there_is_room(self):
        self.run_scenario(full_disk, rounds=4, slack=SLACK)


if __name__ == "__main__":
    unittest.main()
