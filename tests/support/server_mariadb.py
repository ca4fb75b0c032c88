# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A MariaDB server for tests (see store_servers.py)."""

import os
import subprocess

from store_servers import StoreServer, give_to, server_user

USER = "mill"
PASSWORD = "grind-5"


class MariadbServer(StoreServer):
    """`settings`: options of mariadbd without their dashes, such as sync_binlog=0."""

    def __init__(self, directory, settings=()):
        super().__init__(directory)
        self.settings = settings
        # A path that a socket's address can hold, however long the directory's name is.
        self.socket = self.directory / "s"

    def make(self):
        give_to("mysql", self.directory)
        self.directory.chmod(0o755)
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={self.data}",
             "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve",
             "--innodb-log-file-size=8M", self._tmpdir()],
            check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            **self.popen_options())
        # Run by the server at each start.
        init = self.directory / "init.sql"
        who = f"'{USER}'@'127.0.0.1'"
        # Not for replicas: each server does this itself.
        init.write_text("SET SESSION sql_log_bin = 0;\n"
                        f"CREATE USER IF NOT EXISTS {who} IDENTIFIED BY '{PASSWORD}';\n"
                        f"GRANT ALL ON *.* TO {who} WITH GRANT OPTION;\n", encoding="ascii")
        give_to("mysql", init)

    def command(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}",
                f"--pid-file={self.directory / 'pid'}", "--bind-address=127.0.0.1",
                f"--port={self.port}", "--skip-name-resolve", "--innodb-buffer-pool-size=32M",
                "--innodb-log-file-size=8M", f"--init-file={self.directory / 'init.sql'}",
                self._tmpdir(), *(f"--{setting}" for setting in self.settings)]

    def _tmpdir(self):
        # Servers that share one remove each other's temporary tables when they start.
        return f"--tmpdir={self.directory}"

    def popen_options(self):
        return server_user("mysql")

    def answers(self):
        return self._client("SELECT 1").returncode == 0

    def url(self, namespace):
        return f"mariadb://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{namespace}"

    def query(self, sql, database=""):
        """The rows of a query, each a list of strings."""
        done = self._client(sql, database)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def client_command(self, database=""):
        """The command line of a client that reads statements from its input."""
        return ["mariadb", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1",
                f"--port={self.port}", f"--user={USER}", "--batch", "--skip-column-names",
                "--unbuffered", "--connect-timeout=2", *([database] if database else [])]

    def client_environment(self):
        return {**os.environ, "MYSQL_PWD": PASSWORD}

    def dump(self, database):
        """The statements that make everything in the database anew."""
        done = subprocess.run(
            ["mariadb-dump", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1",
             f"--port={self.port}", f"--user={USER}", "--hex-blob", "--skip-dump-date", database],
            check=True, text=True, stdout=subprocess.PIPE, env=self.client_environment())
        return done.stdout

    def _client(self, sql, database=""):
        return subprocess.run(self.client_command(database), input=sql, text=True, timeout=30,
                              capture_output=True, check=False, env=self.client_environment())


SERVER = MariadbServer
