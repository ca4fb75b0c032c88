# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""PostgreSQL for tests: Debian's server, in a cluster of its own."""

import os
import pathlib
import signal
import subprocess

from store_servers import StoreServer, give_to, server_user

USER = "postgres"


def binaries():
    """The directory of the newest server that is installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"),
                   key=lambda path: int(path.parents[1].name))
    if not found:
        raise RuntimeError("no PostgreSQL server is installed (package postgresql)")
    return found[-1].parent


class PostgresServer(StoreServer):
    """`settings` are parameters of the server; `auth` is how TCP clients prove who they are.

    `primary` is another PostgresServer, of which this one becomes a standby.
    """

    stop_signal = signal.SIGINT  # Does not wait for clients to leave.

    def __init__(self, directory, settings=None, auth="trust", primary=None):
        super().__init__(directory)
        self.settings = dict(settings or {})
        self.auth = auth
        self.primary = primary

    def make(self):
        # The user of the server must reach its data through directories that are somebody else's.
        os.chmod(self.directory, 0o755)
        self.data.mkdir(mode=0o700)
        give_to(USER, self.data)
        if self.primary is not None:
            self._run("pg_basebackup", "--pgdata", self.data, "--write-recovery-conf", "--no-sync",
                      "--checkpoint", "fast", "--dbname",
                      f"host={self.primary.data} port={self.primary.port} user={USER} "
                      f"application_name=standby")
            return
        password = self.directory / "password"
        password.write_text("superuser\n", encoding="ascii")
        self._run("initdb", "--pgdata", self.data, "--username", USER, "--auth-local", "trust",
                  "--auth-host", self.auth, "--encoding", "UTF8", "--locale", "C.UTF-8",
                  "--no-sync", "--pwfile", password)

    def promote(self):
        """Makes a primary of a standby."""
        self._run("pg_ctl", "promote", "--pgdata", self.data, "--wait")

    def _run(self, program, *words):
        subprocess.run([binaries() / program, *words], check=True, cwd=self.data,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **server_user(USER))

    def command(self):
        settings = {"port": self.port, "listen_addresses": "127.0.0.1",
                    "unix_socket_directories": self.data, "max_connections": 100,
                    "shared_buffers": "32MB", **self.settings}
        words = [binaries() / "postgres", "-D", self.data]
        for name, value in settings.items():
            words += ["-c", f"{name}={value}"]
        return words

    def popen_options(self):
        return {"cwd": self.data, **server_user(USER)}

    def answers(self):
        done = subprocess.run([binaries() / "pg_isready", "-q", "-h", "127.0.0.1", "-p",
                               str(self.port), "-U", USER, "-t", "1"], check=False)
        return done.returncode == 0

    def url(self, namespace, user=USER, database="postgres"):
        return f"postgres://{user}@127.0.0.1:{self.port}/{database}?schema={namespace}"

    def psql_command(self, database="postgres"):
        return [str(binaries() / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                str(self.data), "-p", str(self.port), "-U", USER, "-d", database]

    def dump(self, schema, *flags):
        """The statements that make the schema and everything in it anew."""
        done = subprocess.run([binaries() / "pg_dump", "-h", self.data, "-p", str(self.port), "-U",
                               USER, "--schema", schema, "--inserts", *flags, "postgres"],
                              check=True, text=True, stdout=subprocess.PIPE, **server_user(USER))
        # What newer ones write for psql alone.
        return "\n".join(line for line in done.stdout.splitlines() if not line.startswith("\\"))

    def script(self, text, database="postgres"):
        """Runs statements as somebody does who types them: each in a transaction of its own."""
        subprocess.run(self.psql_command(database), check=True, text=True, input=text,
                       stdout=subprocess.DEVNULL, **server_user(USER))

    def shell(self, command):
        """Runs a command of a shell in which psql means this server and its superuser."""
        env = {**os.environ, "PATH": f"{binaries()}:{os.environ['PATH']}", "PGUSER": USER,
               "PGHOST": str(self.data), "PGPORT": str(self.port)}
        subprocess.run(command, shell=True, check=True, env=env, stdout=subprocess.DEVNULL,
                       **server_user(USER))

    def sql(self, text, database="postgres"):
        """Runs statements as the superuser, and returns the lines of what they answer."""
        done = subprocess.run([*self.psql_command(database), "-c", text], check=True, text=True,
                              stdout=subprocess.PIPE, **server_user(USER))
        return done.stdout.split("\n")[:-1]


SERVER = PostgresServer
