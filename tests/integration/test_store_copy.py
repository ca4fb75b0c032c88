#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A store that moves to others under load, in small."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import built_stores
from proof import ScenarioTest
from scenario_store_copy import store_copy


class StoreCopy(ScenarioTest):
    def test_a_store_that_moves_on_and_on_repeats_no_key(self):
        servers = [server for server in ("postgres", "etcd", "mariadb", "redis")
                   if server in built_stores()]
        self.run_scenario(store_copy, servers=servers, rows=600, kills=2)

    def test_keys_that_are_remembered_move_too(self):
        if "redis" not in built_stores():
            self.skipTest("built without redis")
        self.run_scenario(store_copy, servers=["redis"], rows=200, kills=1, remembers=True)


if __name__ == "__main__":
    unittest.main()
