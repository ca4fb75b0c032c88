#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Clients that are slow on purpose, and what they cost the others."""

import contextlib
import json
import os
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import (Load, RawConnection, Server, duplicates, keymill_bin,
                             scaled)
from proof import ScenarioTest


class SlowClients(ScenarioTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self.directory)
        self.server.start()
        self.addCleanup(self.server.kill)

    def test_a_header_that_drips_is_cut_off(self):
        with RawConnection(self.server.port, timeout=1) as connection:
            connection.send("GET /get-key HTTP/1.1\r\nHost: x\r\n")
            began = time.monotonic()
            while time.monotonic() - began < 40:
                try:
                    connection.send("A")
                    if connection.socket.recv(1):
                        break  # 408 before the close.
                    break
                except TimeoutError:
                    continue
                except OSError:
                    break
            seconds = time.monotonic() - began
        self.assertLess(seconds, 30, "a byte a second kept the connection")
        self.assertGreater(seconds, 5, "an honest slow client was cut off")

    def test_a_server_that_stood_still_answers_what_came_meanwhile(self):
        # More than one look at the sockets can show, and every one past the end of a drain's
        # patience with idle connections.
        clients = [RawConnection(self.server.port) for _ in range(600)]
        for client in clients:
            self.addCleanup(client.socket.close)
            client.send("GET /get-key HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertEqual(client.read_answer().status, 200)
        os.kill(self.server.pid, signal.SIGTERM)
        # Draining: new connections hear that it is the last time, or nobody listens any more.
        with contextlib.suppress(OSError):
            while True:
                with RawConnection(self.server.port) as probe:
                    probe.send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
                    answer = probe.read_answer()
                    if answer is None or answer.status == 503:
                        break
        os.kill(self.server.pid, signal.SIGSTOP)
        for client in clients:
            client.send("GET /get-key HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(1)
        os.kill(self.server.pid, signal.SIGCONT)
        answers = [client.read_answer().status for client in clients]
        self.assertEqual(answers, [200] * len(clients))

    def test_more_clients_than_files_leave_the_server_its_own(self):
        (self.directory / "limited").mkdir()
        limited = Server(self.directory / "limited", "--block-growth", "off", command=[
            "/bin/bash", "-c", 'ulimit -n 80; exec "$0" serve "$@"', str(keymill_bin())])
        limited.start()
        self.addCleanup(limited.kill)
        clients = [RawConnection(limited.port) for _ in range(100)]
        statuses = []
        for client in clients:
            self.addCleanup(client.socket.close)
            with contextlib.suppress(OSError):
                client.send("GET /get-key HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = client.read_answer()
            statuses.append(answer.status if answer else None)
        self.assertEqual(set(statuses), {200, 503}, "each is served, or told that it cannot be")
        # The refiller, which needs files, goes on beside them.
        served = clients[statuses.index(200)]
        served.send("POST /v1/keyspaces/default/keys?count=9000 HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertEqual(len(json.loads(served.read_answer().body)["keys"]), 9000)

    def test_many_dripping_clients_do_not_keep_others_waiting(self):
        slow = [RawConnection(self.server.port) for _ in range(200)]
        try:
            for connection in slow:
                connection.send("GET /get-key HTTP/1.1\r\nHo")
            with Load([self.server.port], self.directory / "keys", connections=20,
                      requests=scaled(5000)) as load:
                figures = load.finish()
            self.assertEqual((figures["ok"], figures["failures"]), (scaled(5000), {}))
            for connection in slow:  # None of them was forgotten meanwhile.
                connection.send("st: x\r\n\r\n")
            for connection in slow:
                self.assertEqual(connection.read_answer().status, 200)
        finally:
            for connection in slow:
                connection.socket.close()

    def test_a_client_that_never_reads_its_stream_does_not_keep_others_waiting(self):
        memory_before = self.resident_memory()
        with RawConnection(self.server.port) as deaf:
            deaf.send("POST /v1/keyspaces/default/keys?count=10000000 HTTP/1.1\r\nHost: x\r\n"
                      "Accept: text/plain\r\nContent-Length: 0\r\n\r\n")
            keys = self.directory / "keys"
            with Load([self.server.port], keys, connections=20, requests=scaled(20_000)) as load:
                figures = load.finish()
            self.assertEqual((figures["ok"], figures["failures"]), (scaled(20_000), {}))
            self.assertEqual(duplicates(keys)["duplicate_keys"], 0)
            self.assertLess(self.resident_memory() - memory_before, 200 << 20,
                            "the stream piles up in memory")
        # And it recovers: the stream that nobody wants is given up.
        self.assertEqual(self.server.ask("GET", "/get-key").status, 200)
        self.assertEqual(self.server.stop(), 0)

    def resident_memory(self):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text(encoding="utf-8")
        line, = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024

    def test_more_connections_than_allowed_are_told_so(self):
        with Server(self.directory, "--connections-max", 4) as small:
            held = [RawConnection(small.port) for _ in range(4)]
            try:
                for connection in held:
                    connection.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                    self.assertEqual(connection.read_answer().status, 200)
                with RawConnection(small.port) as fifth:
                    answer = fifth.read_answer()
                    self.assertEqual((answer.status, answer.json["type"]), (503, "overloaded"))
                    self.assertTrue(fifth.closed())
            finally:
                for connection in held:
                    connection.socket.close()
            end = time.monotonic() + 20
            while True:  # And it recovers.
                with RawConnection(small.port) as again:
                    again.send("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
                    answer = again.read_answer()
                if answer is not None and answer.status == 200:
                    break
                self.assertLess(time.monotonic(), end)


if __name__ == "__main__":
    unittest.main()
