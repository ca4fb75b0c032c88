#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What clean stops, crashes and restored backups cost."""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import (ask, await_that, clean_environment, keymill_bin, scaled,
                             test_scale)
from proof import ScenarioTest
from scenario_stops import (clean_stops, crashes, crashes_under_load, restored_then_stopped,
                            restored_then_used, restored_with_witness,
                            restored_without_witness)


class Stops(ScenarioTest):
    def test_a_clean_stop_loses_no_number(self):
        self.run_scenario(clean_stops, cycles=scaled(18, 6))

    def test_a_crash_loses_at_most_what_the_reservoir_held(self):
        self.run_scenario(crashes, cycles=scaled(12, 4))

    def test_a_crash_under_load_loses_at_most_what_the_reservoir_held(self):
        self.run_scenario(crashes_under_load, cycles=4, seconds=0.8 if test_scale() == 1 else 5)

    def test_a_restored_backup_is_quarantined_while_its_witness_lives(self):
        self.run_scenario(restored_with_witness)

    def test_a_backup_restored_under_a_server_that_stops_is_quarantined(self):
        self.run_scenario(restored_then_stopped)

    def test_a_backup_restored_under_a_server_that_goes_on_is_quarantined(self):
        self.run_scenario(restored_then_used)

    def test_a_restored_backup_goes_unnoticed_when_the_witness_is_lost_too(self):
        self.run_scenario(restored_without_witness)


class UnreadLog(ScenarioTest):
    """Whoever starts a server with a pipe for its log and never reads it."""

    def test_neither_minting_nor_a_stop_waits_for_the_reader(self):
        ports = self.directory / "ports"
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        command = [str(keymill_bin()), "serve", "--listen", "127.0.0.1:0", "--log-level", "debug",
                   "--print-ports", str(ports)]
        with subprocess.Popen(command, cwd=self.directory, env=clean_environment(),
                              stdout=subprocess.DEVNULL, stderr=writer) as process:
            self.addCleanup(process.kill)
            os.close(writer)
            await_that(ports.exists, "the server is ready")
            port = json.loads(ports.read_text(encoding="utf-8"))["http"]
            for _ in range(200):
                process.send_signal(signal.SIGUSR2)
                self.assertEqual(ask(port, "GET", "/get-key").status, 200)
            process.terminate()
            self.assertEqual(process.wait(20), 0)
        with open(reader, "rb", closefd=False) as pipe:
            self.assertIn(b'"level"', pipe.read())


if __name__ == "__main__":
    unittest.main()
