#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The endpoints of other services, in their bytes."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server
from proof import ScenarioTest
from scenario_peers import CONFIG, peers_bytes, play, segments, wrong_segment


class Peers(ScenarioTest):
    def test_the_golden_exchanges(self):
        self.run_scenario(peers_bytes)

    def test_the_numbers_of_segments(self):
        self.run_scenario(segments)

    def test_a_number_beside_is_noticed(self):
        right = (1999, 41999, 201999, 2, 1)
        self.assertEqual(wrong_segment(right, 2001, 100_000), "")
        for place in range(5):
            wrong = tuple(each + (index == place) for index, each in enumerate(right))
            self.assertTrue(wrong_segment(wrong, 2001, 100_000), wrong)

    def test_another_byte_is_noticed(self):
        with Server(self.directory, config=CONFIG) as server:
            row = {"method": "GET", "target": "/generate-id", "status": 200,
                   "headers": {"Content-Type": "application/json"}, "body": '{"id":<number>}\n'}
            self.assertEqual(play(server.port, row), "")
            for change in ({"status": 201}, {"body": '{"id":<number>}'},
                           {"body": '{"id":"<number>"}\n'},
                           {"headers": {"Content-Type": "application/json;charset=UTF-8"}}):
                self.assertTrue(play(server.port, {**row, **change}), change)

    def test_a_client_of_tinyid_counts_as_the_java_one_does(self):
        used = set()
        with Server(self.directory, config=CONFIG) as server:
            for _ in range(3):
                for name in ("odd", "order"):
                    answer = server.ask("POST", "/tinyid/id/nextSegmentIdSimple"
                                        f"?token=t&bizType={name}", body="")
                    current, loading, top, delta, remainder = map(int, answer.text.split(","))
                    self.assertTrue(current <= loading <= top, answer)
                    # Its SegmentId.init and nextId; Java's remainder has the dividend's sign.
                    if abs(current) % delta * (-1 if current < 0 else 1) != remainder:
                        while current % delta != remainder or current < 0:
                            current += 1
                        current -= delta
                    while current + delta <= top:
                        current += delta
                        self.assertEqual(current % delta, remainder)
                        self.assertNotIn((name, current), used)
                        used.add((name, current))
                    minted = server.ask("GET", f"/tinyid/id/nextIdSimple?token=t&bizType={name}"
                                        "&batchSize=1000").text.split(",")
                    self.assertEqual(len(minted), 1000)
                    for number in minted:
                        self.assertNotIn((name, int(number)), used)
                        used.add((name, int(number)))

    def test_ids_grow_and_decode(self):
        with Server(self.directory, config=CONFIG) as server:
            ids = [int(re.fullmatch(r'\{"id":(\d+)\}\n', server.ask("GET", "/generate-id").text)[1])
                   for _ in range(100)]
            self.assertEqual(ids, sorted(set(ids)))
            answer = server.ask("GET", f"/decodeSnowflakeId?snowflakeId={ids[0]}").json
            self.assertEqual(int(answer["workerId"]),
                             server.ask("GET", "/health").json["machine_id"])


if __name__ == "__main__":
    unittest.main()
