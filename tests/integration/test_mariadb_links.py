#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The way to a MariaDB server: COMMITs that are lost on it, several hosts, TLS, a Unix socket."""

import itertools
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from certificates import make_certificate
from commit_cutter import LOSE_ANSWER, LOSE_COMMIT, PASS, STALL, CommitCutter
from keymill_process import Load, await_that, free_port, scaled
from mariadb_case import BUSY, DATABASE, MariadbTest
from server_mariadb import PASSWORD, USER


class LostCommits(MariadbTest):
    def test_a_commit_without_its_answer_is_burned_and_never_guessed(self):
        self.start_database()
        fates = [PASS, LOSE_ANSWER, PASS, LOSE_COMMIT, PASS, PASS, LOSE_ANSWER, STALL]
        with CommitCutter("mariadb", self.database.port, itertools.cycle(fates)) as cutter:
            url = self.database.url(DATABASE).replace(str(self.database.port), str(cutter.port))
            servers = [self.launch_instance(f"host{i}", BUSY, url).await_ready()
                       for i in range(2)]
            cutter.active = True
            with Load([server.port for server in servers], self.keys, connections=scaled(20),
                      duration=15, reconnect=True) as load:
                load.finish()
            cutter.active = False
            lost = sum(cutter.lost.values())
            await_that(lambda: sum(server.unknown_outcomes() for server in servers) == lost,
                       "each is counted")
            burned = sum(server.metric("keymill_blocks_burned_total") for server in servers)
            for server in servers:
                self.assertRegex(server.await_key(), "^[0-9A-Za-z]+$")
                self.assertEqual(server.stop(), 0, server.log())
        for fate, times in cutter.lost.items():
            self.assertGreater(times, 0, f"fate {fate}")
        self.assertEqual(burned, lost)
        self.expect_no_duplicates()
        self.expect_a_sound_ledger()


class Hosts(MariadbTest):
    def test_the_first_host_that_is_writable_is_used(self):
        replica = self.start_database("replica", settings=["read_only=1"])
        primary = self.start_database("primary")
        hosts = ",".join(f"127.0.0.1:{port}" for port in (free_port(), replica.port, primary.port))
        url = f"mariadb://{USER}:{PASSWORD}@{hosts}/{DATABASE}"
        server = self.launch_instance("host", url=url).await_ready()
        self.assertEqual(len(server.mint(count=10)), 10)
        self.assertEqual(server.stop(), 0, server.log())
        self.assertEqual(replica.query(f"SHOW DATABASES LIKE '{DATABASE}'"), [])
        self.assertNotIn(PASSWORD, server.log())
        alone = self.run_inspect(replica.url(DATABASE))
        self.assertEqual(alone.returncode, 1)
        self.assertIn("read-only", alone.stderr)

    def test_a_unix_socket_needs_no_host(self):
        self.start_database()
        self.database.query(f"CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}'; "
                            f"GRANT ALL ON `{DATABASE}`.* TO {USER}@localhost")
        url = f"mariadb://{USER}:{PASSWORD}@/{DATABASE}?socket={self.database.socket}"
        self.assertEqual(self.run_inspect(url).stderr, "")

    def test_tables_without_an_identity_are_what_a_crash_left_and_are_completed(self):
        self.start_database()
        self.database.query(
            f"CREATE DATABASE `{DATABASE}`; USE `{DATABASE}`; CREATE TABLE keymill_store (store_id "
            "VARBINARY(64) NOT NULL PRIMARY KEY, schema_version BIGINT NOT NULL, created_at_ms "
            "BIGINT NOT NULL, agreed_timeline VARBINARY(255) NOT NULL, moved_to MEDIUMTEXT NOT "
            "NULL, fill_name VARBINARY(64) NOT NULL) ENGINE = InnoDB")
        servers = self.start_instances(2)
        for server in servers:
            self.assertEqual(len(server.mint(count=10)), 10)
        self.assertEqual(self.database.query("SELECT COUNT(*) FROM keymill_store", DATABASE),
                         [["1"]])

    def test_a_user_that_may_not_create_can_run_on_what_is_there(self):
        self.start_database()
        [server] = self.start_instances(1)
        self.assertEqual(server.stop(), 0, server.log())
        self.database.query("CREATE USER poor@127.0.0.1 IDENTIFIED BY 'p'; GRANT SELECT, INSERT, "
                            f"UPDATE, DELETE ON `{DATABASE}`.* TO poor@127.0.0.1")
        url = f"mariadb://poor:p@127.0.0.1:{self.database.port}/{DATABASE}"
        server = self.launch_instance("poor", url=url).await_ready()
        self.assertEqual(len(server.mint(count=10)), 10)
        refused = self.run_inspect(url.replace(DATABASE, "another"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("another", refused.stderr)


class Tls(MariadbTest):
    def make_certificate(self):
        folder = self.directory / "tls"
        folder.mkdir()
        make_certificate(folder / "cert.pem", folder / "key.pem")
        (folder / "key.pem").chmod(0o644)
        return folder

    def test_an_encrypted_connection_is_verified_unless_told_otherwise(self):
        folder = self.make_certificate()
        self.start_database(settings=[f"ssl-cert={folder}/cert.pem", f"ssl-key={folder}/key.pem",
                                      f"ssl-ca={folder}/cert.pem"])
        url = self.database.url(DATABASE)
        self.database.query(f"ALTER USER {USER}@127.0.0.1 REQUIRE SSL; FLUSH PRIVILEGES")
        self.assertEqual(self.run_inspect(url).returncode, 1, "not encrypted")
        self.assertEqual(self.run_inspect(f"{url}?ssl=on").returncode, 1, "an unknown authority")
        self.assertEqual(self.run_inspect(f"{url}?ssl=on&ssl_verify=off").stderr, "")
        self.assertEqual(self.run_inspect(f"{url}?ssl_ca={folder}/cert.pem").stderr, "")

    def test_a_frozen_server_is_left_at_the_deadline_behind_tls_too(self):
        folder = self.make_certificate()
        self.start_database(settings=[f"ssl-cert={folder}/cert.pem", f"ssl-key={folder}/key.pem"])
        url = self.database.url(DATABASE) + "?ssl=on&ssl_verify=off"
        server = self.launch_instance("host", {**BUSY, "KEYMILL_REQUEST_TIMEOUT": "1s"},
                                      url).await_ready()
        self.database.freeze()
        self.addCleanup(self.database.thaw)
        answer = server.ask("GET", "/get-key")
        while answer.status == 200:
            began = time.monotonic()
            answer = server.ask("GET", "/get-key")
            self.assertLess(time.monotonic() - began, 3)
        self.assertEqual(answer.status, 503)
        time.sleep(3)  # Several calls to the store end by their deadlines.
        self.database.thaw()
        server.await_key()
        self.assertEqual(server.stop(), 0, server.log())


if __name__ == "__main__":
    unittest.main()
