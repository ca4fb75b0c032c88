#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The command line when its output goes nowhere: full devices and closed descriptors."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import Server, clean_environment, keymill_bin
from proof import ScenarioTest

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78


class Output(ScenarioTest):
    def shell(self, line):
        """Runs a shell line in which $MILL is the program."""
        return subprocess.run(["/bin/sh", "-c", line], cwd=self.directory, text=True,
                              env=clean_environment({"MILL": str(keymill_bin())}),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              check=False)

    def test_a_message_that_cannot_be_written_changes_no_exit_code(self):
        for line, code in (("$MILL mnit", USAGE), ("$MILL", USAGE), ("$MILL mint -n x", USAGE),
                           ("$MILL mint nowhere", FAILURE), ("$MILL mint --config no.yml", REFUSED),
                           ("$MILL keyspace create orders", OK),
                           ("$MILL keyspace create orders", OK)):
            for redirection in ("2>/dev/full", "2>&-"):
                with self.subTest(line=line, redirection=redirection):
                    self.assertEqual(self.shell(f"{line} {redirection}").returncode, code)

    def test_a_server_runs_although_nobody_can_read_what_it_says(self):
        for number, redirection in enumerate(("2>/dev/full", ">&- 2>&- <&-")):
            with self.subTest(redirection=redirection):
                home = self.directory / str(number)
                home.mkdir()
                command = ["/bin/sh", "-c", f'exec "$0" serve "$@" {redirection}',
                           str(keymill_bin())]
                with Server(home, command=command) as server:
                    self.assertEqual(server.ask("GET", "/get-key").status, 200)
                    self.assertEqual(server.stop(), 0)

    def test_data_that_cannot_be_written_is_a_failure_that_says_why(self):
        self.shell("$MILL mint")
        for verb in ("mint -n 3", "version", "--version", "--help", "keyspace list",
                     "keyspace list -o json", "keyspace show default", "mint -n 100000"):
            with self.subTest(verb=verb):
                done = self.shell(f"$MILL {verb} >/dev/full")
                self.assertEqual((done.returncode, done.stderr), (
                    FAILURE,
                    "keymill: write to standard output: No space left on device\n"))

    def test_closed_descriptors_are_given_to_no_other_file(self):
        for closed in (">&-", "<&- >&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                done = self.shell(f"$MILL mint -n 3 {closed}")
                self.assertEqual(done.returncode, FAILURE)
                if "2>" not in closed:
                    self.assertIn("write to standard output: ", done.stderr)
                for name in os.listdir(self.directory / "data"):
                    if name == "witness.lock":
                        self.assertEqual((self.directory / "data" / name).read_bytes(), b"")
        self.assertEqual(len(self.shell("$MILL mint -n 3 <&-").stdout.split()), 3)


if __name__ == "__main__":
    unittest.main()
