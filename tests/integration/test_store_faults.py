#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Faults of the way to a store, and of those who share it, on every server: in small."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import scaled, test_scale
from proof import ScenarioTest
from scenario_frozen_instance import frozen_instance
from scenario_lost_commits import lost_commits
from scenario_store_outage import store_outage
from store_fleet import built_stores


class StoreTest(ScenarioTest):
    """One test for each store that was built."""

    def run_on(self, store, scenario, **sizes):
        if store not in built_stores():
            self.skipTest(f"built without {store}")
        self.run_scenario(scenario, store=store, **sizes)


class LostCommits(StoreTest):
    def test_postgres(self):
        self.run_on("postgres", lost_commits, cuts=scaled(20, 10))

    def test_mariadb(self):
        self.run_on("mariadb", lost_commits, cuts=scaled(20, 10))


class FrozenInstance(StoreTest):
    def run_frozen(self, store, rounds):
        self.run_on(store, frozen_instance, rounds=rounds, seconds_max=5 / test_scale(),
                    connections=scaled(40, 12))

    def test_postgres(self):
        self.run_frozen("postgres", 1)

    def test_mariadb(self):
        self.run_frozen("mariadb", 1)

    def test_redis(self):
        self.run_frozen("redis", 2)

    def test_etcd(self):
        self.run_frozen("etcd", 2)


class StoreOutage(StoreTest):
    def run_outage(self, store):
        self.run_on(store, store_outage, rate=scaled(1000), seconds=3,
                    seconds_max=5 / test_scale())

    def test_postgres(self):
        self.run_outage("postgres")

    def test_mariadb(self):
        self.run_outage("mariadb")

    def test_redis(self):
        self.run_outage("redis")

    def test_etcd(self):
        self.run_outage("etcd")


if __name__ == "__main__":
    unittest.main()
