#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The files of deploy/schema are what the service applies, and SQLite takes them."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import build_program, read_database, run_keymill
from proof import ScenarioTest

FILES = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "schema"


class Schema(ScenarioTest):
    def test_the_files_are_what_the_service_applies(self):
        self.assertEqual(sorted(path.name for path in FILES.iterdir()),
                         ["mariadb.sql", "postgres.sql", "sqlite.sql"])
        for path in FILES.iterdir():
            made = subprocess.run([build_program("write_schema"), path.stem], check=True,
                                  text=True, stdout=subprocess.PIPE)
            self.assertEqual(path.read_text(encoding="utf-8"), made.stdout,
                             f"run: write_schema {path.stem} > deploy/schema/{path.name}")

    def make(self, name):
        path = self.directory / name
        subprocess.run(["sqlite3", "-bail", str(path)], check=True, text=True,
                       input=(FILES / "sqlite.sql").read_text(encoding="utf-8"))
        return path

    def mint(self, path):
        folder = self.directory / f"of {path.stem}"
        folder.mkdir()
        done = run_keymill("mint", "-n", "3", "--store", f"sqlite:{path}", cwd=folder)
        self.assertEqual((done.returncode, len(done.stdout.split())), (0, 3), done.stderr)

    def test_sqlite_by_hand_is_sqlite_by_the_service(self):
        by_hand, by_service = self.make("hand.db"), self.directory / "service.db"
        self.mint(by_hand)
        self.mint(by_service)
        for query in ("SELECT m.name, p.name, p.type, p.\"notnull\", p.dflt_value, p.pk FROM "
                      "sqlite_schema m JOIN pragma_table_info(m.name) p ORDER BY 1, 2",
                      "SELECT type, name, tbl_name FROM sqlite_schema ORDER BY 1, 2",
                      "SELECT schema_version FROM keymill_store", "PRAGMA application_id"):
            self.assertEqual(read_database(by_hand, query), read_database(by_service, query))

    def test_tables_without_a_store_are_no_store(self):
        path = self.make("hand.db")
        (self.directory / "data").mkdir(mode=0o700)
        done = run_keymill("mint", "--store", f"sqlite:{path}", "--store-create", "never",
                           cwd=self.directory)
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("is not to be created", done.stderr)
        self.assertEqual(read_database(path, "SELECT store_id FROM keymill_store"), [("",)])


if __name__ == "__main__":
    unittest.main()
