# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A test with a MariaDB server of its own, and instances of Keymill on it."""

import contextlib
import pathlib
import subprocess
import tempfile
import unittest

from keymill_process import Server, build_program, duplicates
from store_servers import start_server

DATABASE = "keys"
# Small blocks keep an instance reserving nearly all the time.
# And all calls are for one keyspace, so that they can be counted.
BUSY = {"KEYMILL_BLOCK_SIZE": "50", "KEYMILL_BLOCK_GROWTH": "off", "KEYMILL_RUNWAY_TARGET": "1s",
        "KEYMILL_KEYSPACES": "{default: {kind: shuffled}}"}


class MariadbTest(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        folder = tempfile.TemporaryDirectory(prefix="keymill-test-")
        self.directory = pathlib.Path(self.stack.enter_context(folder))
        self.directory.chmod(0o711)  # The server runs as a user of its own.
        self.keys = self.directory / "keys"
        self.database = None

    def start_database(self, name="server", **options):
        folder = self.directory / name
        folder.mkdir()
        self.database = self.stack.enter_context(start_server("mariadb", folder, **options))
        return self.database

    def launch_instance(self, name, env=None, url=None, port=None):
        """An instance as on a host of its own: with a witness of its own."""
        folder = self.directory / name
        folder.mkdir()
        server = Server(folder, env={
            **(env or {}), "KEYMILL_STORE": url or self.database.url(DATABASE)}, port=port)
        self.stack.callback(server.kill)
        return server.launch()

    def start_instances(self, count, env=None):
        servers = [self.launch_instance(f"host{i}", env) for i in range(count)]
        return [server.await_ready() for server in servers]

    def expect_no_duplicates(self):
        found = duplicates(self.keys)
        self.assertGreater(found["keys"], 0)
        self.assertEqual(found["duplicate_keys"], 0)

    def expect_a_sound_ledger(self):
        rows = [(int(first), int(count)) for first, count in self.database.query(
            "SELECT l.first_number, number_count FROM keymill_ledger l JOIN keymill_keyspaces k ON "
            "k.id = l.keyspace_id WHERE k.name = 'default' ORDER BY l.first_number", DATABASE)]
        self.assertTrue(rows)
        for (first, count), (after, _) in zip(rows, rows[1:]):
            self.assertLessEqual(first + count, after)

    @staticmethod
    def inspect_command(*words):
        return [build_program("inspect_store"), *words]

    def run_inspect(self, *words):
        """inspect_store, run to its end."""
        return subprocess.run(self.inspect_command(*words), capture_output=True, text=True,
                              timeout=60, check=False)
