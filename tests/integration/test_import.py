#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""keymill import: from each source, and what it refuses."""

import pathlib
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, run_keymill, scaled
from proof import ScenarioTest
from scenario_import import forge_key, imports

USAGE, REFUSED = 2, 78


class Import(ScenarioTest):
    def keymill(self, *words, status=0, stdin=None):
        done = run_keymill(*words, cwd=self.directory, stdin=stdin)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_nothing_that_a_source_has_given_out_comes_again(self):
        self.run_scenario(imports, count=scaled(20_000), ids=scaled(4000, 1000),
                          codes=scaled(200_000, 100_000), counters=scaled(20_000, 5000))

    def test_a_server_goes_on_with_what_was_imported(self):
        database = sqlite3.connect(self.directory / "test.db")
        database.execute("CREATE TABLE range_counters (id INTEGER PRIMARY KEY, last_used INTEGER)")
        database.execute("INSERT INTO range_counters VALUES (1, 3000)")
        database.commit()
        database.close()
        self.keymill("import", "forge", "test.db")
        # With no configuration: the default keyspace is the one that was imported.
        with Server(self.directory) as server:
            keys = {server.ask("GET", "/get-key").text for _ in range(scaled(500))}
        self.assertTrue(all(len(key) == 7 for key in keys))
        self.assertFalse(keys & {forge_key(counter) for counter in range(3000)})

    def test_what_cannot_be_taken_over_is_refused_with_a_reason(self):
        database = sqlite3.connect(self.directory / "empty.db")
        database.execute("CREATE TABLE t (id TEXT)")
        database.execute("CREATE TABLE texts (id)")
        database.execute("INSERT INTO texts VALUES ('9'), (10)")
        database.commit()
        database.close()
        cases = (
            (("forge", "nowhere.db"), 1, "there is no such database"),
            (("forge", "empty.db"), 1, "range_counters"),
            (("max", "sqlite:empty.db", "t", "nothing", "k"), 1, "nothing"),
            (("max", "sqlite:empty.db", "texts", "id", "k"), 2, "of type text"),
            (("max", "redis://127.0.0.1/0", "t", "id", "k"), 2, "postgres://"),
            (("sequence", "sqlite:empty.db", "s", "k"), 2, "SQLite has no sequences"),
            (("codes", "nowhere.txt", "k"), 1, "cannot be read"),
            (("codes", "-", "k", "--kind", "snowflake"), 2, "kind snowflake"),
            (("leaf",), 2, "URL"),
        )
        for words, status, said in cases:
            with self.subTest(words=words):
                done = self.keymill("import", *words, status=status, stdin="abc\n")
                self.assertIn(said, done.stderr)
        done = self.keymill("import", "codes", "-", "k", status=2, stdin="good\ntwo words\n")
        self.assertIn("line 2", done.stderr)
        # Nothing was made by any of them.
        self.assertFalse((self.directory / "data").exists())

    def test_nobody_claims_what_the_source_has_given_out(self):
        database = sqlite3.connect(self.directory / "shop.db")
        database.execute("CREATE TABLE orders (id INTEGER)")
        database.execute("INSERT INTO orders VALUES (1000)")
        database.commit()
        database.close()
        self.keymill("import", "max", "sqlite:shop.db", "orders", "id", "seq")
        for alias in ("999", "1000", "1001"):
            done = self.keymill("claim", "seq", alias, status=1)
            self.assertIn("could hand out", done.stderr)
        self.keymill("claim", "seq", "0999")

    def test_a_ticket_begins_at_the_number_that_is_told(self):
        database = sqlite3.connect(self.directory / "tiny.db")
        database.execute("CREATE TABLE tiny_id_info (biz_type TEXT, max_id INTEGER, "
                         "delta INTEGER, remainder INTEGER)")
        database.execute("INSERT INTO tiny_id_info VALUES ('odd', 200000, 4, 3), "
                         "('no name', 200000, 4, 1)")
        database.commit()
        database.close()
        words = ("import", "tinyid", "sqlite:tiny.db")
        self.assertIn("odd would begin at 200015 ", self.keymill(
            *words, "--only", "odd", "--margin", "10", "--dry-run").stdout)
        done = self.keymill(*words, "--only", "odd")
        self.assertIn("odd begins at 200003 ", done.stdout)
        self.assertEqual(self.keymill("mint", "odd").stdout, "200003\n")
        # The advice for a row that no keyspace can be called after goes on as well.
        advice = self.keymill(*words, status=USAGE).stderr
        self.assertIn("keymill keyspace create NAME --kind ticket --stride 4 "
                      "--alphabet decimal --start 50000\n", advice)
        flags = advice.strip().split(" NAME ")[1].split()
        self.keymill("keyspace", "create", "renamed", *flags)
        self.assertEqual(self.keymill("mint", "renamed").stdout, "200001\n")

    def test_codes_of_another_form_leave_the_list_as_it_is(self):
        self.keymill("import", "codes", "-", "k", stdin="aaaaaaa\n")
        done = self.keymill("import", "codes", "-", "k", stdin="promo-code\n")
        self.assertIn("1 more cannot be claimed", done.stdout)
        done = self.keymill("import", "codes", "-", "k", status=USAGE, stdin="\n")
        self.assertIn("stdin has no codes", done.stderr)
        self.keymill("import", "codes", "-", "k", stdin="aaaaaaa\n")
        self.keymill("mint", "k")

    def test_codes_may_all_lie_below_the_start(self):
        words = ("import", "codes", "-", "k", "--alphabet", "decimal", "--length", "6",
                 "--start", "999980")
        for _ in range(2):
            self.keymill(*words, stdin="000000\n000001\n")
        self.keymill("mint", "k")

    def test_other_codes_are_another_recipe(self):
        self.keymill("import", "codes", "-", "k", stdin="aaaaaaa\n")
        done = self.keymill("import", "codes", "-", "k", status=REFUSED, stdin="bbbbbbb\n")
        self.assertIn("taken is", done.stderr)


if __name__ == "__main__":
    unittest.main()
