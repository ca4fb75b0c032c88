#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""An old copy of the store's data under running instances, once on each store."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import built_stores, test_scale
from proof import ScenarioTest
from scenario_old_copy import (NOTICE_SECONDS, STORES, frozen_too_long, moved_at_once, old_copy,
                               other_kinds, seen_by_both, seen_by_one, seen_by_the_dead)


class OldCopy(ScenarioTest):
    def put_back(self, store, case):
        self.run_scenario(old_copy, store=store, case=case, seconds=NOTICE_SECONDS / test_scale())

    def test_a_copy_that_all_instances_have_seen_more_than(self):
        self.put_back("sqlite", seen_by_both)

    def test_a_copy_that_only_a_dead_instance_has_seen_more_than(self):
        self.put_back("sqlite", seen_by_the_dead)


def add_tests():
    """The hardest case on each store that this build knows."""
    for store in STORES:
        if store in built_stores():
            setattr(OldCopy, f"test_a_copy_in_{store}_that_one_instance_has_seen_more_than",
                    lambda self, store=store: self.put_back(store, seen_by_one))
    if "redis" in built_stores():  # Its server starts the fastest.
        OldCopy.test_a_copy_that_is_moved_before_anybody_could_object = (
            lambda self: self.run_scenario(moved_at_once, store="redis"))
        OldCopy.test_an_instance_that_was_frozen_for_too_long_notices_afterwards = (
            lambda self: self.run_scenario(frozen_too_long, store="redis", drained=True))
        OldCopy.test_so_does_one_that_holds_a_block_of_which_the_copy_has_the_beginning = (
            lambda self: self.run_scenario(frozen_too_long, store="redis", drained=False))
        OldCopy.test_ids_and_keys_of_pools_do_not_come_again_either = (
            lambda self: self.run_scenario(other_kinds, store="redis"))


add_tests()

if __name__ == "__main__":
    unittest.main()
