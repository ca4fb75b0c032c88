#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Starts that are refused, and stores that are not made by accident."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, run_keymill
from proof import ScenarioTest
from scenario_refusals import (REFUSED, misspelt_setting, open_bind, other_recipe, refused,
                               removed_witness, vanished_database)


class Refusals(ScenarioTest):
    def test_another_recipe_is_refused(self):
        self.run_scenario(other_recipe)

    def test_a_vanished_database_is_not_replaced(self):
        self.run_scenario(vanished_database)

    def test_a_database_that_vanished_after_its_witness_is_not_replaced(self):
        self.run_scenario(removed_witness)

    def test_a_bind_that_others_can_reach_is_refused(self):
        self.run_scenario(open_bind)

    def test_a_misspelt_setting_is_refused_with_its_line(self):
        self.run_scenario(misspelt_setting)

    def test_store_create_never_makes_no_database(self):
        def never(checks, directory):
            server = Server(directory, "--store-create", "never")
            refused(checks, server, "store_create never", "does not exist", "store_create")
            checks.that(not (directory / "data").exists(), "no data directory was made")

        self.run_scenario(never)

    def test_store_create_never_opens_a_database_that_is_there(self):
        self.assertEqual(run_keymill("mint", cwd=self.directory).returncode, 0)
        with Server(self.directory, "--store-create", "never") as server:
            self.assertEqual(len(server.mint(count=5)), 5)

    def test_a_file_of_another_program_is_refused(self):
        def foreign(checks, directory):
            (directory / "data").mkdir()
            (directory / "data/keymill.db").write_bytes(b"no database " * 1000)
            refused(checks, Server(directory), "a file that is no database", "keymill.db")

        self.run_scenario(foreign)

    def test_a_misspelt_environment_variable_is_refused(self):
        def misspelt(checks, directory):
            server = Server(directory, env={"KEYMILL_BLOCKSIZE": "5"})
            refused(checks, server, "a misspelt variable", "KEYMILL_BLOCKSIZE",
                    "KEYMILL_BLOCK_SIZE")

        self.run_scenario(misspelt)

    def test_a_bad_value_in_the_environment_names_the_variable(self):
        done = run_keymill("mint", cwd=self.directory, env={"KEYMILL_STORE": "oracle:x"})
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("KEYMILL_STORE", done.stderr)


if __name__ == "__main__":
    unittest.main()
