# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A test with PostgreSQL servers of its own, and instances of Keymill on them."""

import contextlib
import pathlib
import subprocess
import tempfile
import unittest

from keymill_process import Server, build_program
from store_servers import start_server


class PostgresTest(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.directory = pathlib.Path(
            self.stack.enter_context(tempfile.TemporaryDirectory(prefix="keymill-postgres-")))
        self.directory.chmod(0o755)  # The database is another user's.

    def database(self, name="postgres", **options):
        folder = self.folder(name)
        return self.stack.enter_context(start_server("postgres", folder, **options))

    def folder(self, name):
        path = self.directory / name
        path.mkdir()
        return path

    def instance(self, database, name, *flags):
        """A server of our own on that database, which knows it by that name; not started yet."""
        url = f"{database.url('mill')}&application_name={name}"
        return Server(self.folder(name), "--store", url, *flags)

    def start(self, database, name, *flags):
        return self.stack.enter_context(self.instance(database, name, *flags))

    def inspect(self, *words):
        """What inspect_store says, line by line."""
        done = subprocess.run([build_program("inspect_store"), *words], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()
