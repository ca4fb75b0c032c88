#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Tables that somebody has made by hand in MariaDB, for a user who may make nothing."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import await_that, run_keymill
from mariadb_case import BUSY, DATABASE, MariadbTest
from store_fleet import mint_at_once

REFUSED = 78
FILE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "schema" / "mariadb.sql"
TABLES = ("keymill_key", "keymill_keyspaces", "keymill_ledger", "keymill_start", "keymill_store")


class ByHand(MariadbTest):
    def setUp(self):
        super().setUp()
        self.start_database()
        self.url = f"mariadb://poor:p@127.0.0.1:{self.database.port}/{DATABASE}"

    def make(self):
        # As in docs/stores.md.
        self.database.query(f"CREATE DATABASE `{DATABASE}`")
        self.apply()
        self.database.query("CREATE USER poor@127.0.0.1 IDENTIFIED BY 'p'; GRANT SELECT, INSERT, "
                            f"UPDATE, DELETE ON `{DATABASE}`.* TO poor@127.0.0.1")

    def apply(self):
        self.database.query(FILE.read_text(encoding="utf-8"), DATABASE)

    def make_first_version(self):
        """As the file made it then."""
        tables, more = FILE.read_text(encoding="utf-8").split("\n-- From here on: ")
        end = more.split("\n-- The store itself")[1].split("\nUPDATE")[0]
        end = end.replace("'', 2, 0", "'', 1, 0")
        self.database.query(f"CREATE DATABASE `{DATABASE}`")
        self.database.query(f"{tables}\n-- {end}\nCOMMIT;",
                            DATABASE)

    def version(self):
        return self.database.query("SELECT schema_version FROM keymill_store", DATABASE)

    def definitions(self):
        """Of all that is there but the views' makers."""
        tables = [self.database.query(f"SHOW CREATE TABLE {table}", DATABASE) for table in TABLES]
        return tables + self.database.query(
            "SELECT table_name, view_definition, security_type FROM information_schema.views "
            "WHERE table_schema = DATABASE() ORDER BY 1", DATABASE)

    def test_a_user_who_may_make_nothing_serves(self):
        self.make()
        servers = [self.launch_instance(f"host{i}", url=self.url) for i in range(3)]
        keys = []
        for server in servers:  # Launched at once: one of them makes the store.
            server.await_ready()
            keys += server.mint(count=1000)
        for server in servers:
            self.assertEqual(server.stop(), 0, server.log())
        self.assertEqual(len(set(keys)), 3000)
        self.assertEqual(
            self.database.query("SELECT LENGTH(store_id), schema_version, agreed_timeline <> '', "
                                "created_at_ms > 0 FROM keymill_store", DATABASE),
            [["32", "2", "1", "1"]])

    def refused(self, missing):
        """A server does not start: what is missing is named, and what to do about it."""
        done = run_keymill("serve", "--listen", "127.0.0.1:0", "--store", self.url,
                           cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (REFUSED, ""), done.stderr)
        self.assertIn(missing, done.stderr)
        self.assertIn("deploy/schema/mariadb.sql", done.stderr)
        self.assertIn(f"GRANT SELECT, INSERT, UPDATE, DELETE ON `{DATABASE}`.* TO `poor`;",
                      done.stderr)

    def test_a_user_who_lacks_a_right_is_refused_with_what_grants_it(self):
        self.database.query("CREATE USER poor@127.0.0.1 IDENTIFIED BY 'p'")
        self.refused("Access denied")
        self.database.query(f"CREATE DATABASE `{DATABASE}`")
        self.refused("Access denied")
        self.database.query(f"GRANT SELECT ON `{DATABASE}`.* TO poor@127.0.0.1")
        self.refused("CREATE command denied")
        self.apply()
        self.refused("UPDATE command denied")
        self.database.query(f"GRANT INSERT, UPDATE, DELETE ON `{DATABASE}`.* TO poor@127.0.0.1")
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        for right in ("INSERT", "UPDATE", "DELETE"):
            self.database.query(f"REVOKE {right} ON `{DATABASE}`.* FROM poor@127.0.0.1")
            self.refused(f"{right} command denied")
            self.database.query(f"GRANT {right} ON `{DATABASE}`.* TO poor@127.0.0.1")
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_rights_that_are_taken_away_while_serving_are_an_outage(self):
        def change(words):
            self.database.query(";".join(words.format(table=f"`{DATABASE}`.{table}",
                                                      poor="poor@127.0.0.1") for table in TABLES))

        self.make()
        # Rights on a whole database are looked up when a session begins, those on tables always.
        change("GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {poor}")
        self.database.query(f"REVOKE ALL ON `{DATABASE}`.* FROM poor@127.0.0.1")
        server = self.launch_instance("host", {**BUSY, "KEYMILL_REQUEST_TIMEOUT": "500ms"},
                                      url=self.url).await_ready()
        keys = []

        def mint():
            answer = server.ask("POST", "/v1/keyspaces/default/keys?count=100")
            if answer.status == 200:
                keys.extend(answer.json["keys"])
            return answer

        for right in ("UPDATE", "SELECT, INSERT, UPDATE, DELETE"):
            change(f"REVOKE {right} ON {{table}} FROM {{poor}}")
            await_that(lambda: mint().status == 503, f"{right}: nothing is left")
            self.assertIn('"store-unavailable"', mint().text)
            change(f"GRANT {right} ON {{table}} TO {{poor}}")
            await_that(lambda: mint().status == 200, f"{right}: it goes on")
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(server.stop(), 0, server.log())

    def test_applying_it_again_changes_nothing(self):
        self.make()
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        before = self.database.dump(DATABASE)
        self.apply()
        self.assertEqual(self.database.dump(DATABASE), before)

    def test_tables_of_the_first_version_are_brought_up_to_date(self):
        self.make()
        by_hand = self.definitions()
        self.assertEqual([row[0] for row in by_hand[len(TABLES):]], ["available_keys", "used_keys"])
        self.database.query(f"DROP DATABASE `{DATABASE}`")
        self.make_first_version()
        self.assertEqual(self.version(), [["1"]])
        mint_at_once(self, self.directory, self.database.url(DATABASE))
        self.assertEqual(self.version(), [["2"]])
        self.assertEqual(self.definitions(), by_hand)

    def test_a_user_who_may_make_nothing_is_told_how_they_are(self):
        self.make_first_version()
        self.database.query("CREATE USER poor@127.0.0.1 IDENTIFIED BY 'p'; GRANT SELECT, INSERT, "
                            f"UPDATE, DELETE ON `{DATABASE}`.* TO poor@127.0.0.1")
        self.refused("an older version")
        self.apply()
        self.assertEqual(self.version(), [["2"]])
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_is_what_the_service_makes(self):
        self.make()
        by_hand = self.definitions()
        self.database.query(f"DROP DATABASE `{DATABASE}`")
        done = run_keymill("mint", "--store", self.database.url(DATABASE), cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(by_hand, self.definitions())


if __name__ == "__main__":
    unittest.main()
