#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Tickets: databases that never talk to each other, and never give the same key."""

import json
import pathlib
import sys
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import built_stores, run_keymill, scaled
from postgres_case import PostgresTest

REFUSED = 78
COUNTERS = {"sequence": ("--alphabet", "decimal"),
            "shuffled": ("--counter", "shuffled", "--length", "8")}


class Tickets(PostgresTest):
    def keymill(self, store, *words, status=0):
        # Each as on a host of its own, with a witness of its own.
        host = self.directory / f"host-{zlib.crc32(store.encode())}"
        done = run_keymill(*words, "--store", store, "--data-dir", host, cwd=self.directory)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def create(self, store, name, stride, offset, *flags, status=0):
        return self.keymill(store, "keyspace", "create", name, "--kind", "ticket", "--stride",
                            stride, "--offset", offset, *flags, status=status)

    def mint(self, store, name, count):
        return self.keymill(store, "mint", name, "-n", count).stdout.split()

    def stores(self):
        """One for each residue: two files and, where it is built in, a PostgreSQL."""
        stores = [f"sqlite:{self.directory}/{name}.db" for name in ("odd", "even")]
        if "postgres" in built_stores():
            stores.append(self.database().url("mill"))
        return stores

    def test_separate_databases_have_no_key_in_common(self):
        stores = self.stores()
        count = scaled(1_000_000)
        for counter, flags in COUNTERS.items():
            with self.subTest(counter=counter):
                seen = set()
                for offset, store in enumerate(stores, 1):
                    self.create(store, counter, len(stores), offset, *flags)
                    keys = self.mint(store, counter, count)
                    self.assertEqual(len(keys), count)
                    seen.update(keys)
                self.assertEqual(len(seen), count * len(stores))

    def test_odd_and_even_never_meet(self):
        for counter, flags in COUNTERS.items():
            with self.subTest(counter=counter):
                odd, even = (f"sqlite:{self.directory}/{counter}{i}.db" for i in (1, 2))
                self.create(odd, "k", 2, 1, *flags)
                self.create(even, "k", 2, 2, *flags)
                count = scaled(1_000_000)
                ours = set(self.mint(odd, "k", count))
                theirs = set(self.mint(even, "k", count))
                self.assertEqual((len(ours), len(theirs)), (count, count))
                self.assertEqual(len(ours & theirs), 0)
                if counter == "sequence":
                    self.assertEqual({int(key) % 2 for key in ours}, {1})
                # Each knows its own, and whose the others are.
                key = next(iter(ours))
                told = self.keymill(odd, "explain", key, "-o", "json").stdout
                self.assertEqual(json.loads(told)["kind"], "ticket")
                refused = self.keymill(even, "explain", key, "--keyspace", "k", status=1)
                self.assertIn("is of offset 1, and this keyspace has offset 2 of 2",
                              refused.stderr)

    def test_tickets_that_would_meet_on_one_store_are_refused(self):
        store = f"sqlite:{self.directory}/one.db"
        self.create(store, "odd", 2, 1)
        refused = self.create(store, "more", 4, 3, status=REFUSED)
        self.assertIn("would give the same keys as keyspace odd", refused.stderr)
        self.assertIn("of stride 4, offset 2, 4 are free", refused.stderr)
        self.create(store, "more", 4, 2)
        self.create(store, "other", 4, 3, "--prefix", "x")
        listed = json.loads(self.keymill(store, "keyspace", "list", "-o", "json").stdout)
        self.assertEqual(sorted(each["name"] for each in listed["keyspaces"]),
                         ["more", "odd", "other"])

    def test_a_configuration_with_two_that_would_meet_is_refused(self):
        config = self.directory / "keymill.yml"
        config.write_text("keyspaces:\n"
                          "  one: {kind: ticket, stride: 2, offset: 1}\n"
                          "  two: {kind: ticket, stride: 6, offset: 5}\n")
        done = run_keymill("serve", "--config", config, "--listen", "127.0.0.1:0",
                           cwd=self.directory, timeout=60)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("keyspace two would give the same keys as keyspace one", done.stderr)


if __name__ == "__main__":
    unittest.main()
