# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Redis for tests: one server whose append-only file is synced at every write."""

import socket
import subprocess
import urllib.parse

from store_servers import StoreServer


CUT_WRITE = "Unexpected end of file reading the append only file"


class RedisServer(StoreServer):
    """`settings` go into its command line; `tls` is a directory with ca.pem, server.pem and
    server.key: the port then speaks TLS only. Its configuration file is empty, to be rewritten."""

    def __init__(self, directory, *, password="", settings=(), tls=None):
        super().__init__(directory)
        self.password = password
        self.settings = list(settings)
        self.tls = tls

    def make(self):
        self.data.mkdir()
        (self.directory / "redis.conf").touch()

    def command(self):
        words = ["redis-server", self.directory / "redis.conf", "--bind", "127.0.0.1", "--dir",
                 self.data, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
                 "--aof-load-truncated", "no", "--daemonize", "no"]
        if self.tls:
            words += ["--port", "0", "--tls-port", self.port, "--tls-auth-clients", "no",
                      "--tls-ca-cert-file", self.tls / "ca.pem",
                      "--tls-cert-file", self.tls / "server.pem",
                      "--tls-key-file", self.tls / "server.key"]
        else:
            words += ["--port", self.port]
        if self.password:
            words += ["--requirepass", self.password]
        return words + self.settings

    def start(self):
        """What a kill left of a write is removed first, as docs/stores.md says: the server does not
        start with it, and nobody was told that it was written."""
        seen = len(self.log())
        try:
            return super().start()
        except RuntimeError:
            if CUT_WRITE not in self.log()[seen:]:
                raise
        manifest = self.data / "appendonlydir" / "appendonly.aof.manifest"
        subprocess.run(["redis-check-aof", "--fix", manifest], input="y\n", text=True, check=True,
                       capture_output=True)
        return super().start()

    def answers(self):
        if self.tls:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        return self.ask("PING") == "PONG"

    def ask(self, *words):
        """What redis-cli prints; what is wrong included."""
        command = ["redis-cli", "-h", "127.0.0.1", "-p", str(self.port)]
        if self.password:
            command += ["--no-auth-warning", "-a", self.password]
        done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True,
                              timeout=10, check=False)
        return (done.stdout + done.stderr).strip()

    def url(self, namespace):
        login = f":{urllib.parse.quote(self.password, safe='')}@" if self.password else ""
        scheme, more = ("rediss", f"&tls_ca={self.tls}/ca.pem") if self.tls else ("redis", "")
        return f"{scheme}://{login}127.0.0.1:{self.port}/0?prefix={namespace}{more}"


SERVER = RedisServer
