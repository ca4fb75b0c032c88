#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Instances and the server of their store killed at random, in small."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import built_stores, scaled, test_scale
from proof import ScenarioTest
from scenario_server_kills import SERVERS, SERVING_SECONDS, one_server


class ServerKills(ScenarioTest):
    def kill_on(self, server):
        self.run_scenario(one_server, server=server, kills=8, server_kills=2,
                          keys=scaled(500_000), serving_seconds=SERVING_SECONDS / test_scale())


def add_tests():
    """One for each server that this build knows."""
    for server in SERVERS:
        if server in built_stores():
            setattr(ServerKills, f"test_kills_on_{server}_repeat_no_key",
                    lambda self, server=server: self.kill_on(server))


add_tests()

if __name__ == "__main__":
    unittest.main()
