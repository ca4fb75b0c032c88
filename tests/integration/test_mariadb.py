#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Several instances on a real MariaDB server, which is killed, frozen, and badly configured."""

import contextlib
import os
import pathlib
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Load, await_that, free_port, scaled
from mariadb_case import BUSY, DATABASE, MariadbTest
from scenario_instances import freeze
from server_mariadb import PASSWORD, USER
from store_servers import await_seconds

class Instances(MariadbTest):
    def setUp(self):
        super().setUp()
        self.start_database(settings=("log-bin", "sync_binlog=1"))

    def set_for_new_sessions(self, setting):
        """And for those that there are, which begin anew."""
        self.database.query(f"SET GLOBAL {setting}")
        for [session] in self.database.query(
                f"SELECT id FROM information_schema.processlist WHERE user = '{USER}' AND "
                "id <> CONNECTION_ID()"):
            with contextlib.suppress(RuntimeError):  # It has just ended.
                self.database.query(f"KILL {session}")

    def test_sessions_that_only_read_by_default_write(self):
        [server] = self.start_instances(1, BUSY)
        keys = server.mint(count=10)
        self.set_for_new_sessions("tx_read_only = ON")
        while len(keys) < 1000:
            keys += server.mint(count=10)
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(server.stop(), 0, server.log())

    def test_what_the_server_refuses_to_write_is_an_outage(self):
        [server] = self.start_instances(1, BUSY)
        keys = server.mint(count=10)
        self.set_for_new_sessions("binlog_format = STATEMENT")

        def minted():
            answer = server.ask("POST", "/v1/keyspaces/default/keys?count=10")
            if answer.status == 200:
                keys.extend(answer.json["keys"])
            return answer.status == 200

        self.assertIsNotNone(await_seconds(lambda: not minted(), 30))
        self.assertTrue(server.running(), server.log())
        late = self.launch_instance("late")
        self.assertEqual(late.wait(), 78, late.log())
        self.assertIn("SET GLOBAL binlog_format = ROW", late.log())
        self.set_for_new_sessions("binlog_format = ROW")
        self.assertIsNotNone(await_seconds(minted, 90), server.log())
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(server.stop(), 0, server.log())

    def test_instances_that_start_at_once_never_give_the_same_key_twice(self):
        servers = self.start_instances(3)
        requests = scaled(60_000)
        with Load([server.port for server in servers], self.keys, connections=scaled(200),
                  requests=requests) as load:
            figures = load.finish()
        self.assertEqual(figures["ok"], requests, figures)
        for server in servers:
            self.assertEqual(server.stop(), 0, server.log())
        self.expect_no_duplicates()
        self.expect_a_sound_ledger()
        self.assertEqual(self.database.query("SELECT COUNT(*) FROM keymill_store", DATABASE),
                         [["1"]])

    def test_a_server_that_is_killed_and_comes_back_repeats_nothing(self):
        servers = self.start_instances(2, BUSY)
        with Load([server.port for server in servers], self.keys, connections=scaled(50),
                  duration=16, reconnect=True) as load:
            for _ in range(3):
                time.sleep(2)
                self.database.kill()
                time.sleep(0.5)
                self.database.start()
            load.finish()
        for server in servers:
            took = await_seconds(lambda s=server: s.ask("GET", "/get-key").status == 200, 30)
            self.assertIsNotNone(took, server.log())
            self.assertEqual(server.stop(), 0, server.log())
        self.expect_no_duplicates()
        self.expect_a_sound_ledger()

    def row_is_locked(self):
        try:
            self.database.query("SELECT 1 FROM keymill_keyspaces WHERE name = 'default' "
                                "FOR UPDATE NOWAIT", DATABASE)
        except RuntimeError as error:
            self.assertIn("ERROR 1205", str(error))
            return True
        return False

    def freeze_in_mid_reservation(self, server):
        """Stops the process while the database waits for the rest of its transaction."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            freeze(server.pid)
            # Twice, because a commit that was under way may just be ending.
            if self.row_is_locked() and self.row_is_locked():
                return True
            os.kill(server.pid, signal.SIGCONT)
            time.sleep(0.003)
        return False

    def test_an_instance_frozen_in_mid_reservation_holds_up_nobody_for_long(self):
        frozen, other = self.start_instances(2, BUSY)
        with Load([frozen.port], self.keys, connections=scaled(50), duration=30,
                  reconnect=True) as load:
            self.assertTrue(self.freeze_in_mid_reservation(frozen))
            began = time.monotonic()
            # Far more than it can hold, so that it must reserve.
            keys = []
            slowest = 0.0
            last = began
            while len(keys) < 1000 and time.monotonic() - began < 30:
                answer = other.ask("GET", "/get-key")
                if answer.status == 200:
                    keys.append(answer.text)
                    slowest = max(slowest, time.monotonic() - last)
                    last = time.monotonic()
            os.kill(frozen.pid, signal.SIGCONT)
            load.finish()
        self.assertEqual(len(keys), 1000, other.log())
        self.assertLess(slowest, 5)
        self.assertGreater(slowest, 0.5, "the row was not held, so nothing was shown")
        took = await_seconds(lambda: frozen.ask("GET", "/get-key").status == 200, 30)
        self.assertIsNotNone(took, frozen.log())
        with open(self.keys, "a", encoding="ascii") as out:
            out.writelines(key + "\n" for key in keys)
        self.expect_no_duplicates()

    def test_a_frozen_server_means_503_in_time_and_service_afterwards(self):
        [server] = self.start_instances(1, {**BUSY, "KEYMILL_REQUEST_TIMEOUT": "1s"})
        self.database.freeze()
        self.addCleanup(self.database.thaw)
        answer = None
        for _ in range(20_000):
            began = time.monotonic()
            answer = server.ask("GET", "/get-key")
            self.assertLess(time.monotonic() - began, 3)
            if answer.status != 200:
                break
        self.assertEqual(answer.status, 503)
        self.database.thaw()
        took = await_seconds(lambda: server.ask("GET", "/get-key").status == 200, 30)
        self.assertIsNotNone(took, server.log())
        self.assertLess(took, 10)

    def test_an_instance_that_starts_before_its_server_waits_for_it(self):
        self.database.kill()
        server = self.launch_instance("host", port=free_port())
        await_that(lambda: "trying again" in server.log(), "it has tried")
        self.assertEqual(server.ask("GET", "/readyz").status, 503)
        self.database.start()
        self.assertTrue(server.await_key())
        self.assertEqual(server.stop(), 0, server.log())

    def test_a_backup_that_is_put_back_is_noticed(self):
        timeline = ("SELECT create_time FROM information_schema.tables "
                    "WHERE table_name = 'keymill_store'")
        [server] = self.start_instances(1, BUSY)
        out = server.mint(count=500)
        born = self.database.query(timeline)
        self.database.stop()
        self.database.copy_data(self.directory / "backup")
        self.database.start()
        self.assertEqual(self.database.query(timeline), born)
        # What is to be lost has to be reserved first, which begins when the grace period is over.
        granted = "SELECT next_number FROM keymill_keyspaces WHERE name = 'default'"
        before = self.database.query(granted, DATABASE)

        def reserved():
            out.extend(server.mint(count=100))
            return self.database.query(granted, DATABASE) != before
        self.assertIsNotNone(await_seconds(reserved, 30), server.log())
        self.database.stop()
        self.database.restore_data(self.directory / "backup")
        self.database.start()
        self.assertNotEqual(self.database.query(timeline), born)

        def quarantined():
            answer = server.ask("POST", "/v1/keyspaces/default/keys?count=100")
            if answer.status == 200:
                out.extend(answer.json["keys"])
            return answer.status == 503 and b"quarantined" in answer.body
        self.assertIsNotNone(await_seconds(quarantined, 30), server.log())
        self.assertEqual(len(out), len(set(out)))

    def test_a_wrong_password_is_refused_without_showing_it(self):
        wrong = "not-" + PASSWORD
        server = self.launch_instance("host", url=self.database.url(DATABASE).replace(
            PASSWORD, wrong))
        self.assertEqual(server.wait(), 78, server.log())
        self.assertIn("Access denied", server.log())
        self.assertNotIn(PASSWORD, server.log())

    def test_an_unknown_parameter_is_refused_with_those_that_there_are(self):
        server = self.launch_instance("host", url=self.database.url(DATABASE) + "?sslmode=on")
        self.assertNotEqual(server.wait(), 0)
        self.assertIn("ssl_verify", server.log())
        self.assertNotIn(PASSWORD, server.log())


class Settings(MariadbTest):
    def inspect(self, *settings):
        """What is found, by check."""
        self.start_database(settings=settings)
        done = self.run_inspect(self.database.url(DATABASE))
        self.assertEqual(done.returncode, 0, done.stderr)
        found = {}
        for line in done.stdout.splitlines():
            told = re.fullmatch(r"(\w+) ([^:]+): .+ \| .+", line)
            self.assertTrue(told, line)
            found[told[2]] = told[1]
        return found

    def test_nothing_is_found_on_a_server_with_its_defaults(self):
        self.assertEqual(self.inspect(), {})

    def test_finds_what_loses_acknowledged_blocks(self):
        self.assertEqual(
            self.inspect("innodb_flush_log_at_trx_commit=0", "log_bin", "sync_binlog=0",
                         "skip_innodb_doublewrite", "innodb_flush_method=nosync"),
            {"innodb_flush_log_at_trx_commit": "unsafe", "sync_binlog": "unsafe",
             "innodb_doublewrite": "unsafe", "innodb_flush_method": "unsafe"})


if __name__ == "__main__":
    unittest.main()
