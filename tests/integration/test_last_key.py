#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The end of a keyspace."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server
from proof import ScenarioTest
from scenario_last_key import SMALL, one_instance, three_together


class LastKey(ScenarioTest):
    def test_one_server_gives_out_every_key_and_then_says_507(self):
        self.run_scenario(one_instance)

    def test_three_servers_share_the_last_keys(self):
        self.run_scenario(three_together)

    def test_a_larger_request_gets_what_is_left(self):
        with Server(self.directory, config=SMALL.replace("length: 3", "length: 2")) as server:
            keys = []
            while len(keys) < 100:
                keys += server.mint(count=30)
            self.assertEqual(sorted(keys), [f"{n:02}" for n in range(100)])
            answer = server.ask("POST", "/v1/keyspaces/default/keys?count=30")
            self.assertEqual((answer.status, answer.json["type"]), (507, "keyspace-exhausted"))


if __name__ == "__main__":
    unittest.main()
