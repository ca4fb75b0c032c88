#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Which server is behind a store in MariaDB: everybody sees the same, and sees a change."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import await_that, run_keymill
from mariadb_case import DATABASE, MariadbTest
from server_mariadb import PASSWORD, USER

TOKEN = "SELECT token FROM keymill_start"


class TimelineTest(MariadbTest):
    def start(self, *settings):
        self.start_database(settings=settings)
        self.mint()

    def mint(self, url=None):
        done = run_keymill("mint", "--store", url or self.database.url(DATABASE),
                           cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)

    def timelines(self, url=None, what="identity"):
        """The present one and the one that was agreed on."""
        done = self.run_inspect(url or self.database.url(DATABASE), what)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()[1:]


class Timeline(TimelineTest):
    def test_a_server_that_is_started_anew_is_another_timeline(self):
        self.start()
        born, agreed = self.timelines()
        self.assertEqual(agreed, born)
        self.assertEqual(self.timelines(), [born, born])
        self.database.kill()
        self.database.start()
        self.assertEqual(self.database.query(TOKEN, DATABASE), [])
        present, agreed = self.timelines()
        self.assertNotEqual(present, born)
        self.assertEqual(agreed, born, "nobody has agreed yet")
        self.assertEqual(self.timelines()[0], present, "it was begun once")
        self.timelines(what="agree")
        self.assertEqual(self.timelines(), [present, present])
        self.database.stop()
        self.database.start()
        self.assertNotIn(self.timelines()[0], (born, present))

    def test_whoever_comes_at_once_after_a_start_sees_the_same(self):
        self.start()
        self.database.kill()
        self.database.start()
        clients = [subprocess.Popen(self.inspect_command(self.database.url(DATABASE), "identity"),
                                    stdout=subprocess.PIPE, text=True) for _ in range(8)]
        told = {client.communicate(timeout=60)[0] for client in clients}
        self.assertEqual([client.returncode for client in clients], [0] * 8)
        self.assertEqual(len(told), 1, told)

    def test_a_user_who_may_only_use_the_tables_sees_the_same(self):
        self.start()
        self.database.query("CREATE USER poor@127.0.0.1 IDENTIFIED BY 'p'; GRANT SELECT, INSERT, "
                            f"UPDATE, DELETE ON `{DATABASE}`.* TO poor@127.0.0.1")
        url = f"mariadb://poor:p@127.0.0.1:{self.database.port}/{DATABASE}"
        self.assertEqual(self.timelines(url), self.timelines())
        self.database.kill()
        self.database.start()
        present = self.timelines(url)
        self.assertEqual(self.timelines(), present)

    def test_tables_that_are_made_anew_from_a_dump_are_another_timeline(self):
        self.start()
        born, _ = self.timelines()
        # The server tells only in which second a table was made.
        await_that(lambda: self.database.query(
            "SELECT SYSDATE() > create_time FROM information_schema.tables WHERE table_name = "
            "'keymill_store'") == [["1"]], "the second is over")
        # Tables come by name: that of the keyspaces some time before the one that names the store.
        dump = self.database.dump(DATABASE)
        self.database.query(dump.partition("-- Table structure for table `keymill_store`")[0],
                            DATABASE)
        early, agreed = self.timelines()
        self.assertNotEqual(early, born)
        self.assertEqual(agreed, born)
        self.database.query(dump, DATABASE)
        present, agreed = self.timelines()
        self.assertNotEqual(present, born)
        self.assertEqual(agreed, born)


class Replication(TimelineTest):
    """The table in memory must neither stop a replica nor make it look like its primary."""

    def setUp(self):
        super().setUp()
        self.replica = self.start_database("replica", settings=[
            "server_id=2", "log_bin", "log_slave_updates", "sync_binlog=1", "gtid_strict_mode=1"])
        self.primary = self.start_database("primary", settings=[
            "server_id=1", "log_bin", "sync_binlog=1"])
        self.replica.query(
            f"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {self.primary.port}, "
            f"MASTER_USER = '{USER}', MASTER_PASSWORD = '{PASSWORD}', MASTER_CONNECT_RETRY = 1, "
            "MASTER_USE_GTID = slave_pos; START SLAVE")

    def follows(self):
        """Whether the replica has all that the primary has, and goes on."""
        [status] = self.replica.query("SHOW SLAVE STATUS")
        self.assertEqual(status[11], "Yes", status)  # Slave_SQL_Running.
        rows = ("SELECT next_number, rev, agreed_timeline FROM keymill_keyspaces, keymill_store "
                "ORDER BY name")
        try:
            return self.replica.query(rows, DATABASE) == self.primary.query(rows, DATABASE)
        except RuntimeError:
            return False  # The tables are not there yet.

    def test_both_may_be_started_anew_and_the_replica_follows(self):
        for server in (self.primary, self.replica, self.primary, self.replica):
            self.mint()
            self.timelines(what="agree")
            await_that(self.follows, "the replica follows")
            server.kill()
            server.start()
            self.replica.dump(DATABASE)  # As backups do; it must leave no trace.
        self.mint()
        self.timelines(what="agree")
        await_that(self.follows, "the replica follows")

    def test_a_replica_that_takes_over_is_another_timeline(self):
        self.mint()
        born, _ = self.timelines()
        await_that(self.follows, "the replica follows")
        token = self.primary.query(TOKEN, DATABASE)
        await_that(lambda: self.replica.query(TOKEN, DATABASE) == token, "it has the token")
        self.primary.kill()
        self.replica.query("STOP SLAVE")
        present, agreed = self.timelines(self.replica.url(DATABASE))
        self.assertNotEqual(present, born)
        self.assertEqual(agreed, born)
        self.assertEqual(self.replica.query(TOKEN, DATABASE), token, "it was not begun again")
        found = self.run_inspect(self.replica.url(DATABASE)).stdout
        self.assertIn("warning engine: the table keymill_start", found)
        self.replica.kill()
        self.replica.start()
        again, _ = self.timelines(self.replica.url(DATABASE))
        self.assertNotIn(again, (born, present), "the second of the start tells")


if __name__ == "__main__":
    unittest.main()
