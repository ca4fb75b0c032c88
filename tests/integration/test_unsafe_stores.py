#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Servers that could lose an acknowledged block are refused, until they are mended."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import ScenarioTest
from scenario_unsafe_stores import KINDS, unsafe_store
from store_fleet import built_stores


class UnsafeStores(ScenarioTest):
    def run_on(self, kind):
        store = KINDS[kind][0]
        if store not in built_stores():
            self.skipTest(f"built without {store}")
        self.run_scenario(unsafe_store, kind=kind)

    def test_postgres(self):
        self.run_on("postgres")

    def test_redis(self):
        self.run_on("redis")

    def test_mariadb(self):
        self.run_on("mariadb")

    def test_galera(self):
        self.run_on("galera")


if __name__ == "__main__":
    unittest.main()
