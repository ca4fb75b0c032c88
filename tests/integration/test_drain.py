#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A clean stop under load: what was sent is answered, what was not used goes back."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import (DatabaseLock, Load, RawConnection, Server, duplicates, ledger,
                             scaled)
from proof import ScenarioTest

GET_KEY = "GET /get-key HTTP/1.1\r\nHost: x\r\n\r\n"
COUNTED = "keyspaces: {default: {kind: sequence, alphabet: decimal}}\n"


class Drain(ScenarioTest):
    def start(self, *flags, config=None):
        server = Server(self.directory, *flags, config=config)
        server.start()
        self.addCleanup(server.kill)
        return server

    def test_readyz_says_503_while_keys_are_still_given_out(self):
        server = self.start("--drain-delay", "2s")
        with RawConnection(server.port) as connection:
            connection.send(GET_KEY)
            self.assertEqual(connection.read_answer().status, 200)
            server.terminate()
            while server.ask("GET", "/readyz").status == 200:
                time.sleep(0.01)
            self.assertEqual(server.ask("GET", "/livez").status, 200)
            self.assertEqual(server.ask("GET", "/get-key").status, 200)
            connection.send(GET_KEY)
            self.assertEqual(connection.read_answer().status, 200)
            self.assertEqual(server.wait(), 0)

    def test_a_new_connection_sees_503_while_work_is_in_flight(self):
        server = self.start("--block-size", 1, "--block-growth", "off", "--request-timeout", "20s")
        with DatabaseLock(self.directory / "data/keymill.db") as lock:
            with RawConnection(server.port) as parked:
                parked.send(GET_KEY * 100)
                time.sleep(0.5)
                server.terminate()
                until = time.monotonic() + 10
                while (probe := server.ask("GET", "/readyz")).status == 200:
                    self.assertLess(time.monotonic(), until)
                    time.sleep(0.01)
                time.sleep(1.5)  # Longer than idle connections are left open.
                probe = server.ask("GET", "/readyz")
                self.assertEqual((probe.status, probe.headers["Connection"]), (503, "close"))
                lock.release()
                while (answer := parked.read_answer()) is not None:
                    self.assertEqual(answer.status, 200)
        self.assertEqual(server.wait(), 0, server.log())

    def test_a_stop_under_load_answers_every_request_and_loses_no_number(self):
        server = self.start("--drain-delay", "1s", config=COUNTED)
        keys = self.directory / "keys"
        with Load([server.port], keys, connections=50, duration=3, reconnect=True) as load:
            time.sleep(1.5)
            self.assertEqual(server.stop(), 0, server.log())
            figures = load.finish()
        self.assertEqual((figures["unknown"], figures["failures"]), (0, {}))
        self.assertGreater(figures["ok"], 100)
        self.assertEqual(duplicates(keys)["duplicate_keys"], 0)
        rows = ledger(self.directory / "data/keymill.db", "default")
        spent = sum(count for _, count, state in rows if state == "spent")
        self.assertEqual((spent, {state for _, _, state in rows} - {"spent", "returned"}),
                         (figures["keys"], set()))

    def test_requests_in_the_socket_and_connections_in_the_queue_are_answered(self):
        for _ in range(scaled(4, 2)):
            server = self.start()
            connections = [RawConnection(server.port) for _ in range(50)]
            for connection in connections:
                connection.send(GET_KEY * 20)
            self.assertEqual(server.stop(), 0)
            for connection in connections:
                statuses = []
                while (answer := connection.read_answer()) is not None:
                    statuses.append(answer.status)
                connection.socket.close()
                self.assertEqual(statuses, [200] * 20)

    def stop_while_parked(self, connections, requests_each):
        """Stops a server whose requests wait for a locked database; returns all statuses."""
        server = self.start("--block-size", 50, "--block-growth", "off", "--runway-target", "1s",
                            "--request-timeout", "10s")
        statuses = []
        with DatabaseLock(self.directory / "data/keymill.db") as lock:
            clients = [RawConnection(server.port) for _ in range(connections)]
            for client in clients:
                client.send(GET_KEY * requests_each)
            time.sleep(0.5)
            server.terminate()
            time.sleep(0.5)
            lock.release()
            for client in clients:
                while (answer := client.read_answer()) is not None:
                    statuses.append(answer.status)
                client.socket.close()
        self.assertEqual(server.wait(), 0, server.log())
        return statuses

    def test_requests_that_wait_for_the_store_are_answered(self):
        self.assertEqual(self.stop_while_parked(200, 1), [200] * 200)

    def test_requests_behind_one_that_waits_for_the_store_are_answered(self):
        statuses = self.stop_while_parked(1, 200)
        self.assertEqual((len(statuses), set(statuses)), (200, {200}))

    def test_a_stop_ends_although_a_client_never_reads(self):
        server = self.start("--shutdown-timeout", "2s")
        with RawConnection(server.port) as deaf:
            deaf.send("POST /v1/keyspaces/default/keys?count=10000000 HTTP/1.1\r\nHost: x\r\n"
                      "Accept: text/plain\r\nContent-Length: 0\r\n\r\n")
            deaf.socket.recv(1)
            began = time.monotonic()
            self.assertEqual(server.stop(), 0, server.log())
            self.assertLess(time.monotonic() - began, 20)

    def test_a_second_signal_ends_it_at_once(self):
        server = self.start("--drain-delay", "60s", "--shutdown-timeout", "120s")
        server.terminate()
        while server.ask("GET", "/readyz").status == 200:
            time.sleep(0.01)
        time.sleep(0.25)  # Sooner, it would count as the first one again.
        began = time.monotonic()
        server.terminate()
        self.assertNotEqual(server.wait(), 0)
        self.assertLess(time.monotonic() - began, 10)

    def test_one_request_that_is_delivered_twice_is_a_clean_stop(self):
        server = self.start("--drain-delay", "1s", config=COUNTED)
        server.mint(count=10)
        for _ in range(3):
            server.terminate()
            time.sleep(0.02)
        self.assertEqual(server.wait(), 0, server.log())
        rows = ledger(self.directory / "data/keymill.db", "default")
        self.assertEqual({state for _, _, state in rows}, {"spent", "returned"})

    def test_a_stop_beside_a_locked_database_ends_in_time(self):
        server = self.start("--shutdown-timeout", "3s")
        server.mint(count=10)
        with DatabaseLock(self.directory / "data/keymill.db"):
            began = time.monotonic()
            self.assertEqual(server.stop(), 0, server.log())
            self.assertLess(time.monotonic() - began, 20)
        with Server(self.directory) as again:  # And it recovers.
            again.mint(count=10)


if __name__ == "__main__":
    unittest.main()
