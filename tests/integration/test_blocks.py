#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Blocks for clients that hand out numbers themselves, over HTTP."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, ledger, scaled
from proof import ScenarioTest
from scenario_blocks import lending
from store_fleet import built_stores

CONFIG = """
keyspaces:
  orders: {kind: sequence, alphabet: decimal}
  even: {kind: ticket, stride: 2, offset: 2, alphabet: decimal, prefix: "t-"}
  far: {kind: sequence, alphabet: decimal, start: 9223372036854775000}
"""


class Blocks(ScenarioTest):
    def lend(self, server, keyspace="orders", query="?count=100"):
        answer = server.ask("POST", f"/v1/keyspaces/{keyspace}/blocks{query}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def give_back(self, server, block, used, status=204):
        answer = server.ask("DELETE", f"/v1/keyspaces/{block['keyspace']}/blocks/{block['id']}"
                            f"?used={used}")
        self.assertEqual(answer.status, status, answer)
        return answer

    def test_a_block_outlives_kill_nine_of_its_server(self):
        server = Server(self.directory, config=CONFIG)
        with server:
            block = self.lend(server)
        with server.start():
            self.give_back(server, block, 30)
            self.give_back(server, block, 30, status=404)
            rest = self.lend(server, query="?count=1000")
            self.assertEqual(int(rest["first"]), int(block["first"]) + 30)
            self.assertEqual(rest["count"], 70)

    def test_a_client_makes_the_text_from_the_number(self):
        with Server(self.directory, config=CONFIG) as server:
            block = self.lend(server, "even", "?count=5")
            first = int(block["first"])
            self.assertEqual((first % 2, block["stride"], block["first_key"]),
                             (0, 2, f"t-{first}"))
            keys = {f"t-{first + i * block['stride']}" for i in range(5)}
            for key in keys:
                explained = server.ask("GET", f"/v1/keyspaces/even/keys/{key}").json
                self.assertEqual(explained["state"], "reserved")
                self.assertEqual(explained["block"]["state"], "lent")
            self.assertFalse(keys & set(server.mint("even", 100)))

    def test_numbers_above_two_to_the_53_are_text(self):
        with Server(self.directory, config=CONFIG) as server:
            answer = server.ask("POST", "/v1/keyspaces/far/blocks?count=10000")
            self.assertIn('"first":"922337203685477', answer.text)
            self.assertLess(answer.json["count"], 1000, "what is left, and never beyond the end")
            more = server.ask("POST", "/v1/keyspaces/far/blocks?count=10000")
            self.assertIn(more.status, (200, 507))

    def test_a_clean_stop_leaves_blocks_with_their_clients(self):
        server = Server(self.directory, config=CONFIG)
        with server:
            server.mint("orders", 5)
            self.lend(server)
            self.assertEqual(server.stop(), 0)
        states = [state for _, _, state in ledger(self.directory / "data/keymill.db", "orders")]
        self.assertIn("lent", states)
        self.assertNotIn("held", states)


class Lending(ScenarioTest):
    def test_no_number_is_used_twice_on_sqlite(self):
        self.run_scenario(lending, store="sqlite", keyspace="odd", seconds=scaled(5, 3))

    def test_no_number_is_used_twice_on_postgres(self):
        if "postgres" not in built_stores():
            self.skipTest("built without postgres")
        self.run_scenario(lending, store="postgres", seconds=scaled(5, 3))


if __name__ == "__main__":
    unittest.main()
