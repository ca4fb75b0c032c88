# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""PostgreSQL behind pgbouncer, which gives each transaction another session of few."""

import socket

from server_postgres import USER, PostgresServer
from store_servers import StoreServer, give_to, server_user


class Pgbouncer(StoreServer):
    def __init__(self, directory):
        super().__init__(directory)
        (self.directory / "postgres").mkdir()
        self.database = PostgresServer(self.directory / "postgres")

    def make(self):
        self.directory.chmod(0o755)
        self.data.mkdir(mode=0o700)
        self.database.make()
        self.database.start()
        (self.data / "users").write_text(f'"{USER}" ""\n', encoding="ascii")
        # Fewer sessions than the tests have connections, so that they do change.
        (self.data / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={self.database.port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\n"
            f"unix_socket_dir =\nauth_type = trust\nauth_file = {self.data}/users\n"
            f"pool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 200\n",
            encoding="ascii")
        for path in (self.data, *self.data.iterdir()):
            give_to(USER, path)

    def command(self):
        return ["/usr/sbin/pgbouncer", self.data / "pgbouncer.ini"]

    def popen_options(self):
        return {"cwd": self.data, **server_user(USER)}

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def kill(self):
        super().kill()
        self.database.kill()

    def url(self, namespace):
        return f"postgres://{USER}@127.0.0.1:{self.port}/postgres?schema={namespace}"


SERVER = Pgbouncer
