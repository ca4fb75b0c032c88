#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A schema that somebody has made by hand in PostgreSQL, for a role that may make nothing."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, await_that, run_keymill
from postgres_case import PostgresTest
from server_postgres import USER
from store_fleet import mint_at_once
from store_servers import server_user

REFUSED = 78
FILE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "schema" / "postgres.sql"


class ByHand(PostgresTest):
    def setUp(self):
        super().setUp()
        self.server = self.database()
        # As in docs/stores.md; nothing of what everybody may do otherwise.
        self.server.sql("CREATE ROLE mill LOGIN; REVOKE ALL ON DATABASE postgres FROM PUBLIC; "
                        "GRANT CONNECT ON DATABASE postgres TO mill; "
                        "REVOKE ALL ON SCHEMA public FROM PUBLIC")
        self.url = self.server.url("keymill", user="mill")

    def apply(self):
        return subprocess.run(self.server.psql_command(), check=False, text=True,
                              input=FILE.read_text(encoding="utf-8"), stderr=subprocess.PIPE,
                              **server_user(USER))

    def make(self):
        done = self.apply()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.server.sql("GRANT USAGE ON SCHEMA keymill TO mill; GRANT SELECT, INSERT, UPDATE, "
                        "DELETE ON ALL TABLES IN SCHEMA keymill TO mill")

    def test_a_role_that_may_make_nothing_serves(self):
        self.make()
        servers = [Server(self.folder(f"host{i}"), "--store", self.url) for i in range(3)]
        for server in servers:  # At once: one of them makes the store.
            self.stack.callback(server.kill)
            server.launch()
        keys = []
        for server in servers:
            server.await_ready()
            keys += server.mint(count=1000)
        for server in servers:
            self.assertEqual(server.stop(), 0, server.log())
        self.assertEqual(len(set(keys)), 3000)
        [store] = self.server.sql("SELECT length(store_id), schema_version, agreed_timeline <> '', "
                                  "created_at_ms > 0 FROM keymill.keymill_store")
        self.assertEqual(store, "32|2|t|t")

    def refused(self, missing):
        """A server does not start: what is missing is named, and what to do about it."""
        done = run_keymill("serve", "--listen", "127.0.0.1:0", "--store", self.url,
                           cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (REFUSED, ""), done.stderr)
        self.assertIn(missing, done.stderr)
        self.assertIn("deploy/schema/postgres.sql", done.stderr)
        grant = done.stderr[done.stderr.index("GRANT USAGE"):]
        return grant[:grant.rindex(";")]

    def test_a_role_that_may_make_nothing_is_told_so_where_nothing_is(self):
        self.refused("CREATE on the database postgres is missing")
        self.server.sql("CREATE SCHEMA keymill")
        self.refused("permission denied for schema keymill")
        self.server.sql("GRANT USAGE ON SCHEMA keymill TO mill")
        self.refused("CREATE on the schema keymill is missing")
        self.server.sql("DROP SCHEMA keymill; GRANT CREATE ON DATABASE postgres TO mill")
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_role_that_owns_its_schema_needs_no_right_on_the_database(self):
        self.server.sql("CREATE SCHEMA keymill AUTHORIZATION mill")
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.split()), 1)

    def test_a_role_that_lacks_a_right_is_refused_with_what_grants_it(self):
        self.make()
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        for right, missing in (
                ("USAGE ON SCHEMA keymill", "permission denied for schema keymill"),
                ("ALL ON ALL TABLES IN SCHEMA keymill", "permission denied for table"),
                ("INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keymill",
                 "UPDATE on keymill_store"),
                ("DELETE ON keymill.keymill_ledger", "DELETE on keymill_ledger"),
                ("UPDATE ON keymill.keymill_key", "UPDATE on keymill_key")):
            self.server.sql(f"REVOKE {right} FROM mill")
            grants = self.refused(missing)
            self.server.sql(grants)
            done = run_keymill("mint", "--store", self.url, cwd=self.directory)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_role_that_may_only_read_can_look(self):
        self.make()
        minted = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(minted.returncode, 0, minted.stderr)
        self.server.sql("REVOKE INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keymill FROM mill")
        done = run_keymill("keyspace", "list", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("default", done.stdout)

    def test_rights_that_are_taken_away_while_serving_are_an_outage(self):
        self.make()
        server = self.stack.enter_context(Server(
            self.folder("host"), "--store", self.url, "--block-size", "20", "--block-growth", "off",
            "--runway-target", "1s", "--request-timeout", "500ms"))
        keys = server.mint(count=10)

        def mint():
            answer = server.ask("POST", "/v1/keyspaces/default/keys?count=100")
            if answer.status == 200:
                keys.extend(answer.json["keys"])
            return answer

        for right, whose in (("USAGE", "SCHEMA keymill"), ("UPDATE", "keymill.keymill_keyspaces"),
                             ("ALL", "ALL TABLES IN SCHEMA keymill")):
            self.server.sql(f"REVOKE {right} ON {whose} FROM mill")
            await_that(lambda: mint().status == 503, f"{right}: nothing is left")
            self.assertIn('"store-unavailable"', mint().text)
            self.server.sql(f"GRANT {right} ON {whose} TO mill")
            await_that(lambda: mint().status == 200, f"{right}: it goes on")
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(server.stop(), 0, server.log())

    def test_tables_that_were_emptied_are_no_new_store(self):
        self.make()
        minted = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(minted.returncode, 0, minted.stderr)
        self.server.sql("TRUNCATE keymill.keymill_store")
        done = run_keymill("serve", "--listen", "127.0.0.1:0", "--store", self.url,
                           cwd=self.folder("elsewhere"))  # Without the witness.
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("keymill_store is empty", done.stderr)
        self.assertIn("from a backup", done.stderr)
        self.assertIn('DROP SCHEMA "keymill" CASCADE;', done.stderr)

    def test_applying_it_again_changes_nothing(self):
        self.make()
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        before = self.server.dump("keymill")
        self.assertNotEqual(self.apply().returncode, 0)
        self.assertEqual(self.server.dump("keymill"), before)

    def first_version(self):
        """The file as it was then, and what the next version has added to it."""
        tables, more = FILE.read_text(encoding="utf-8").split("\n-- From here on: ")
        more, end = more.split("\n-- The store itself")
        return tables + "\n-- The store itself" + end.replace("'', 2, 0", "'', 1, 0"), "--" + more

    def test_tables_of_the_first_version_are_brought_up_to_date(self):
        schema = ("keymill", "--schema-only", "--no-owner", "--no-privileges")
        self.make()
        by_hand = self.server.dump(*schema)
        self.server.sql("DROP SCHEMA keymill CASCADE")
        self.server.sql(self.first_version()[0])
        mint_at_once(self, self.directory, self.server.url("keymill"))
        self.assertEqual(self.server.sql("SELECT schema_version FROM keymill.keymill_store"), ["2"])
        self.assertEqual(self.server.dump(*schema), by_hand)

    def test_a_role_that_may_make_nothing_is_told_how_they_are(self):
        tables, more = self.first_version()
        self.server.sql(tables)
        self.server.sql("GRANT USAGE ON SCHEMA keymill TO mill; GRANT SELECT, INSERT, UPDATE, "
                        "DELETE ON ALL TABLES IN SCHEMA keymill TO mill")
        grants = self.refused("an older version")
        self.server.sql(f"BEGIN; SET LOCAL search_path = keymill; {more} "
                        "UPDATE keymill_store SET schema_version = 2; COMMIT")
        self.refused("INSERT on keymill_key")
        self.server.sql(grants)
        done = run_keymill("mint", "--store", self.url, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_it_is_what_the_service_makes(self):
        self.make()
        by_hand = self.server.dump("keymill", "--schema-only", "--no-owner", "--no-privileges")
        self.server.sql("DROP SCHEMA keymill CASCADE")
        done = run_keymill("mint", "--store", self.server.url("keymill"), cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        by_service = self.server.dump("keymill", "--schema-only", "--no-owner", "--no-privileges")
        self.assertEqual(by_hand, by_service)


if __name__ == "__main__":
    unittest.main()
