#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The proxy that other tests spoil connections with does what they rely on."""

import contextlib
import itertools
import pathlib
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from commit_cutter import LOSE_ANSWER, LOSE_COMMIT, PASS, STALL, CommitCutter
from keymill_process import await_that, free_port
from tcp_proxy import TO_CLIENT, TO_SERVER, CutAfter, CutAt, Seeker, TcpProxy

QUIET = 0.3  # So long nothing comes: nothing will.


class Echo:
    """A server that answers with what it hears, and remembers it."""

    def __init__(self):
        self.heard = b""
        self.ends = []  # How connections ended.
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                while data := connection.recv(65536):
                    self.heard += data
                    connection.sendall(data)
                self.ends.append("end")
            except ConnectionResetError:
                self.ends.append("reset")


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.echo = self.stack.enter_context(Echo())

    def proxy(self, watch=None):
        return self.stack.enter_context(TcpProxy(self.echo.port, watch))

    def connect(self, proxy):
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=10)
        return self.stack.enter_context(client)

    def says(self, client, data):
        """What comes back of `data`, all of it."""
        client.sendall(data)
        return self.reads(client, len(data))

    @staticmethod
    def reads(client, size):
        got = b""
        while len(got) < size:
            piece = client.recv(65536)
            if not piece:
                break
            got += piece
        return got

    def assert_silent(self, client):
        client.settimeout(QUIET)
        with self.assertRaises(TimeoutError):
            client.recv(1)
        client.settimeout(10)


class Ways(ProxyTest):
    def test_bytes_pass_both_ways_unchanged_and_so_does_the_end(self):
        proxy = self.proxy()
        client = self.connect(proxy)
        text = bytes(range(256)) * 4000
        self.assertEqual(self.says(client, text), text)
        [link] = proxy.links
        self.assertEqual(link.passed, {TO_SERVER: len(text), TO_CLIENT: len(text)})
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(client.recv(1), b"")
        await_that(lambda: self.echo.ends == ["end"] and not proxy.links, "it has ended")

    def test_what_was_said_before_half_a_close_is_still_answered(self):
        proxy = self.proxy()
        proxy.delay = 0.05
        client = self.connect(proxy)
        client.sendall(b"last words")
        client.shutdown(socket.SHUT_WR)
        self.assertEqual(self.reads(client, 100), b"last words")

    def test_a_delay_is_for_each_way_and_ends(self):
        proxy = self.proxy()
        client = self.connect(proxy)
        proxy.delay = 0.1
        began = time.monotonic()
        self.assertEqual(self.says(client, b"slow"), b"slow")
        self.assertGreaterEqual(time.monotonic() - began, 0.2)
        proxy.heal()
        began = time.monotonic()
        self.assertEqual(self.says(client, b"fast"), b"fast")
        self.assertLess(time.monotonic() - began, 0.1)

    def test_a_target_that_is_not_there_is_a_reset(self):
        proxy = self.stack.enter_context(TcpProxy(free_port()))
        with self.assertRaises(ConnectionError):
            self.connect(proxy).recv(1)
        # And so is one that is not let in.
        proxy = self.proxy()
        proxy.refuse()
        with self.assertRaises(ConnectionError):
            self.connect(proxy).recv(1)
        proxy.heal()
        self.assertEqual(self.says(self.connect(proxy), b"in"), b"in")
        self.assertEqual(proxy.connections, 2)


    def test_a_watch_that_fails_ends_its_connection_and_the_test(self):
        def fail(*_):
            raise ValueError("a mistake")
        with self.assertRaisesRegex(ValueError, "a mistake"):
            with TcpProxy(self.echo.port, fail) as proxy:
                client = self.connect(proxy)
                client.sendall(b"x")
                self.assertEqual(client.recv(1), b"")


class Losses(ProxyTest):
    def test_bytes_vanish_one_way_and_the_connection_stays(self):
        proxy = self.proxy()
        client = self.connect(proxy)
        self.assertEqual(self.says(client, b"here"), b"here")
        proxy.vanish(TO_CLIENT)
        client.sendall(b"heard")
        await_that(lambda: self.echo.heard == b"hereheard", "it arrives")
        self.assert_silent(client)
        proxy.vanish(TO_SERVER)
        client.sendall(b"lost")
        self.assert_silent(client)
        proxy.heal()
        self.assertEqual(self.says(client, b"again"), b"again")
        self.assertEqual(self.echo.heard, b"hereheardagain")
        [link] = proxy.links
        self.assertEqual(link.lost, {TO_SERVER: 4, TO_CLIENT: 5})

    def test_the_end_of_a_half_open_connection_is_not_told_either(self):
        proxy = self.proxy()
        client = self.connect(proxy)
        self.assertEqual(self.says(client, b"here"), b"here")
        proxy.vanish()
        client.close()
        time.sleep(QUIET)
        self.assertEqual(self.echo.ends, [])
        proxy.cut()
        await_that(lambda: self.echo.ends == ["end"], "a cut is told")

    def test_a_cut_is_an_end_or_a_reset_for_both(self):
        proxy = self.proxy()
        client = self.connect(proxy)
        self.says(client, b"a")
        proxy.cut()
        self.assertEqual(client.recv(1), b"")
        await_that(lambda: self.echo.ends == ["end"], "the server sees the same")
        client = self.connect(proxy)
        self.says(client, b"b")
        proxy.cut(reset=True)
        with self.assertRaises(ConnectionResetError):
            client.recv(1)
        await_that(lambda: self.echo.ends == ["end", "reset"], "the server sees the same")
        self.assertEqual(self.says(self.connect(proxy), b"c"), b"c")

    def test_a_cut_after_so_many_bytes_is_exact(self):
        proxy = self.proxy(CutAfter(10, TO_SERVER))
        client = self.connect(proxy)
        self.assertEqual(self.says(client, b"123456"), b"123456")
        client.sendall(b"7890abc")
        await_that(lambda: self.echo.ends, "it is cut")
        self.assertEqual(self.echo.heard, b"1234567890")
        proxy = self.proxy(CutAfter(3, TO_CLIENT, reset=True))
        client = self.connect(proxy)
        client.sendall(b"abcdef")
        with self.assertRaises(ConnectionResetError):
            while client.recv(100):
                pass

    def test_a_cut_at_a_pattern_falls_behind_it_though_it_comes_in_pieces(self):
        proxy = self.proxy(CutAt(b"COMMIT", TO_SERVER, times=1))
        client = self.connect(proxy)
        for piece in (b"BEGIN;COM", b"MA;CO", b"MM"):
            self.assertEqual(self.says(client, piece), piece)
        client.sendall(b"IT;AND MORE")
        await_that(lambda: self.echo.ends, "it is cut")
        self.assertEqual(self.echo.heard, b"BEGIN;COMMA;COMMIT")
        client = self.connect(proxy)
        self.assertEqual(self.says(client, b"COMMIT;"), b"COMMIT;")

    def test_a_pattern_is_found_once_wherever_it_is_split(self):
        text = b"xabcabcx"
        for split in range(len(text) + 1):
            seeker = Seeker(b"abcabc")
            found = [seeker.feed(piece) for piece in (text[:split], text[split:])]
            want = [7, None] if split >= 7 else [None, 7 - split]
            self.assertEqual(found, want, split)


class Commits(ProxyTest):
    CHANGE = (b"UPDATE keymill_ledger SET state = 'spent' WHERE block_id = '" + b"a" * 32 +
              b"';UPDATE keymill_ledger SET number_count = 5, reservation = '" + b"b" * 32 +
              b"' WHERE keyspace_id = '" + b"c" * 32 + b"';UPDATE keymill_keyspaces SET rev = 2;")

    def cutter(self, fates):
        self.looks = []
        cutter = CommitCutter("postgres", self.echo.port, itertools.cycle(fates),
                              lambda *seen: self.looks.append(seen))
        cutter.active = True
        return self.stack.enter_context(cutter)

    def test_only_a_transaction_that_changes_something_meets_its_fate(self):
        cutter = self.cutter([LOSE_COMMIT])
        client = self.connect(cutter)
        for text in (b"SELECT\0", b"COMMIT\0", self.CHANGE, b"ROLLBACK\0", b"COMMIT\0"):
            self.assertEqual(self.says(client, text), text)
        self.assertEqual(self.says(client, self.CHANGE), self.CHANGE)
        client.sendall(b"COMMIT\0")
        self.assertEqual(client.recv(1), b"")
        await_that(lambda: self.echo.ends == ["end"], "the server is told of the end")
        self.assertTrue(self.echo.heard.endswith(self.CHANGE))
        self.assertEqual(self.looks, [(LOSE_COMMIT, "b" * 32)])

    def test_the_answer_is_lost_behind_a_commit_that_landed(self):
        cutter = self.cutter([PASS, LOSE_ANSWER, STALL])
        client = self.connect(cutter)
        self.says(client, self.CHANGE)
        self.assertEqual(self.says(client, b"COMMIT\0"), b"COMMIT\0")
        self.says(client, self.CHANGE)
        client.sendall(b"COMMIT\0")
        self.assertEqual(client.recv(1), b"")
        client = self.connect(cutter)
        self.says(client, self.CHANGE)
        client.sendall(b"COMMIT\0")
        self.assert_silent(client)
        self.assertEqual(self.echo.heard, (self.CHANGE + b"COMMIT\0") * 3)
        self.assertEqual([fate for fate, _ in self.looks], [LOSE_ANSWER, STALL])
        self.assertEqual(cutter.lost, {LOSE_ANSWER: 1, LOSE_COMMIT: 0, STALL: 1})


if __name__ == "__main__":
    unittest.main()
