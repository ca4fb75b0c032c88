#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Which server is behind a store in PostgreSQL: everybody sees the same, and sees a change."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import await_that, run_keymill
from postgres_case import PostgresTest


class Timeline(PostgresTest):
    def setUp(self):
        super().setUp()
        self.server = self.database()
        self.url = self.server.url("mill")
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)

    def timelines(self, url=None):
        """The present one and the one that was agreed on."""
        return self.inspect(url or self.url, "identity")[1:]

    def test_a_server_that_is_started_anew_is_another_timeline(self):
        born, agreed = self.timelines()
        self.assertEqual(agreed, born)
        self.assertEqual(self.timelines(), [born, born])
        self.server.kill()
        self.server.start()
        present, agreed = self.timelines()
        self.assertNotEqual(present, born)
        self.assertEqual(agreed, born, "nobody has agreed yet")
        self.inspect(self.url, "agree")
        self.assertEqual(self.timelines(), [present, present])
        self.server.stop()
        self.server.start()
        self.assertNotIn(self.timelines()[0], (born, present))

    def test_a_role_without_special_rights_sees_the_same(self):
        self.server.sql("CREATE ROLE bob LOGIN; GRANT USAGE ON SCHEMA mill TO bob; GRANT SELECT ON "
                        "ALL TABLES IN SCHEMA mill TO bob")
        self.assertEqual(self.timelines(self.server.url("mill", user="bob")), self.timelines())

    def test_a_standby_that_takes_over_is_another_timeline(self):
        born, _ = self.timelines()
        standby = self.database("standby", primary=self.server)
        await_that(lambda: self.server.sql("SELECT state FROM pg_stat_replication") ==
                   ["streaming"], "the standby follows")
        self.server.stop()
        standby.promote()
        present, agreed = self.timelines(standby.url("mill"))
        self.assertNotEqual(present, born)
        self.assertEqual(agreed, born)

    def test_tables_that_are_made_anew_from_a_dump_are_another_timeline(self):
        born, _ = self.timelines()
        dump = self.server.dump("mill")
        self.server.sql("DROP SCHEMA mill CASCADE")
        self.server.sql(dump)
        present, agreed = self.timelines()
        self.assertNotEqual(present, born)
        self.assertEqual(agreed, born)

    def test_a_copy_that_takes_the_name_of_its_database_is_another_timeline(self):
        self.server.sql("CREATE DATABASE keys")
        url = self.server.url("mill", database="keys")
        host = self.directory / "host"
        host.mkdir()
        done = run_keymill("mint", "--store", url, cwd=host)
        self.assertEqual(done.returncode, 0, done.stderr)
        born, _ = self.timelines(url)
        self.server.sql("CREATE DATABASE copy TEMPLATE keys")
        self.assertEqual(self.timelines(url), [born, born], "the model is what it was")
        self.server.sql("ALTER DATABASE keys RENAME TO newer")
        self.server.sql("ALTER DATABASE copy RENAME TO keys")
        present, agreed = self.timelines(url)
        self.assertNotEqual(present, born)
        self.assertEqual(agreed, born)


if __name__ == "__main__":
    unittest.main()
