#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""UUIDs and ULIDs over HTTP and on the command line."""

import json
import pathlib
import sys
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, run_keymill
from proof import ScenarioTest

KINDS = ("uuid4", "uuid7", "ulid")
NOT_COUNTED = ("keymill_reservoir_numbers", "keymill_runway_seconds",
               "keymill_capacity_used_ratio", "keymill_exhaustion_timestamp_seconds")


class RandomKinds(ScenarioTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self.directory)
        self.server.start()
        self.addCleanup(self.server.kill)
        for kind in KINDS:
            answer = self.server.ask("PUT", f"/v1/keyspaces/{kind}", {"kind": kind})
            self.assertEqual(answer.status, 201, answer)

    def test_a_server_mints_and_explains_them(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                keys = self.server.ask("POST", f"/v1/keyspaces/{kind}/keys?count=1000").json["keys"]
                self.assertEqual(len(set(keys)), 1000)
                if kind != "uuid4":
                    self.assertEqual(keys, sorted(keys))
                    more = self.server.ask("POST", f"/v1/keyspaces/{kind}/keys").json["keys"]
                    self.assertGreater(more[0], keys[-1])
                if kind != "ulid":
                    self.assertEqual({uuid.UUID(key).version for key in keys}, {int(kind[4])})
                told = self.server.ask("GET", f"/v1/keyspaces/{kind}/keys/{keys[0]}")
                self.assertEqual((told.status, told.json["state"]), (200, "unknown"))
                self.assertEqual("time" in told.json, kind != "uuid4")
                none = self.server.ask("GET", f"/v1/keyspaces/{kind}/keys/{keys[0]}x")
                self.assertEqual(none.status, 404)

    def test_nothing_is_said_of_what_nobody_counts(self):
        for kind in KINDS:
            self.server.ask("POST", f"/v1/keyspaces/{kind}/keys")
            told = self.server.ask("GET", f"/v1/keyspaces/{kind}").json
            self.assertEqual(told["kind"], kind)
            self.assertFalse({"capacity", "used", "left"} & set(told), told)
        page = self.server.ask("GET", "/metrics").text
        self.assertIn('keymill_keys_issued_total{keyspace="uuid7"} 1\n', page)
        self.assertIn('keymill_reservoir_numbers{keyspace="default"}', page)
        for name in NOT_COUNTED:
            for kind in KINDS:
                self.assertNotIn(f'{name}{{keyspace="{kind}"', page)

    def test_the_command_line_lists_and_plans_them(self):
        listed = run_keymill("keyspace", "list", cwd=self.directory).stdout
        line = next(line for line in listed.splitlines() if line.startswith("uuid4"))
        self.assertEqual(line.split(), ["uuid4", "uuid4", "open", "-", "-", "-"])
        shown = run_keymill("keyspace", "show", "ulid", cwd=self.directory).stdout
        self.assertNotIn("capacity", shown)
        self.assertIn("order      by time", shown)
        for kind in KINDS:
            plan = run_keymill("plan", "--kind", kind, "-o", "json", cwd=self.directory)
            self.assertEqual(plan.returncode, 0, plan.stderr)
            self.assertEqual(int(json.loads(plan.stdout)["capacity"]),
                             2**128 if kind == "ulid" else 2**122)
        refused = run_keymill("plan", "--kind", "uuid4", "--length", "7", cwd=self.directory)
        self.assertIn("length: a keyspace of kind uuid4 has none", refused.stderr)

    def test_a_retired_one_gives_nothing(self):
        self.assertEqual(self.server.ask("DELETE", "/v1/keyspaces/uuid7").status, 200)
        self.assertNotEqual(self.server.ask("POST", "/v1/keyspaces/uuid7/keys").status, 200)


if __name__ == "__main__":
    unittest.main()
