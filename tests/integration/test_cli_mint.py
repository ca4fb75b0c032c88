#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill mint` beside a server or a store that lets it down."""

import pathlib
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import DatabaseLock, clean_environment, keymill_bin, run_keymill
from proof import ScenarioTest

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(text):
    return f"{len(text):x}\r\n{text}\r\n".encode()


class BadServer:
    """Answers one request with these bytes, then closes, or hangs until it is closed."""

    def __init__(self, answer, hang=False):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.serve, args=(answer, hang))
        self.thread.start()

    def serve(self, answer, hang):
        connection, _ = self.listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(answer)
            if hang:
                self.done.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self.listener.close()


class Mint(ScenarioTest):
    def mint(self, answer, hang=False):
        """Standard output in lines and the message, of 1500 keys wanted."""
        with BadServer(answer, hang) as server:
            began = time.monotonic()
            done = run_keymill("mint", "-n", 1500, "--server", server.url, "--timeout", "700ms",
                               cwd=self.directory, timeout=30)
            self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stdout.splitlines(), done.stderr

    def test_a_server_that_is_silent_is_given_up(self):
        self.assertRegex(self.mint(b"", hang=True)[1],
                         r"^keymill: read from http://\S+: nothing happened for 700ms\n$")

    def test_a_stream_that_stops_is_given_up_and_counted(self):
        keys, message = self.mint(HEAD + chunk("k1\nk2\nk3\nk"), hang=True)
        self.assertEqual(keys, ["k1", "k2", "k3"])
        self.assertIn("got 3 of 1500 keys: read from http://", message)
        self.assertIn("nothing happened for 700ms", message)

    def test_a_stream_that_is_cut_is_counted_and_no_half_key_is_printed(self):
        text = "".join(f"key{n:04}\n" for n in range(679)) + "key0"
        keys, message = self.mint(HEAD + chunk(text))
        self.assertEqual((len(keys), keys[-1]), (679, "key0678"))
        self.assertIn("keymill: got 679 of 1500 keys: read from http://", message)

    def test_an_answer_with_fewer_keys_is_a_failure(self):
        keys, message = self.mint(HEAD + chunk("k1\nk2\n") + b"0\r\n\r\n")
        self.assertEqual(keys, ["k1", "k2"])
        self.assertEqual(message, "keymill: got 2 of 1500 keys: the server sent no more\n")

    def test_more_keys_than_were_asked_for_are_a_failure(self):
        text = "".join(f"key{n:04}\n" for n in range(1501))
        keys, message = self.mint(HEAD + chunk(text) + b"0\r\n\r\n")
        self.assertLessEqual(len(keys), 1500)
        self.assertIn("the server sent more keys than were asked for", message)

    def test_a_line_without_an_end_is_given_up(self):
        keys, message = self.mint(HEAD + chunk("k" * 100_000), hang=True)
        self.assertEqual(keys, [])
        self.assertIn("the server sent a line that is no key", message)

    def test_what_a_strange_server_says_is_told_in_one_line(self):
        for body in (b'{"detail":5}', b"null", b'{"detail":"a\\u001b[2Jb"}', b"[" * 1000,
                     b"x" * 200_000):
            answer = b"HTTP/1.1 503 Busy\r\nContent-Length: %d\r\n\r\n" % len(body)
            with self.subTest(body=body[:20]):
                message = self.mint(answer + body)[1]
                self.assertIn("the server said 503: ", message)
                self.assertNotIn("\x1b", message)
                self.assertLess(len(message), 2000)

    def test_an_answer_of_something_between_is_no_mistake_of_the_user(self):
        for status in (204, 301, 401, 408, 429):
            with self.subTest(status=status):
                self.mint(b"HTTP/1.1 %d Word\r\nContent-Length: 0\r\n\r\n" % status)

    def test_a_store_that_is_locked_in_the_middle_is_given_up(self):
        run_keymill("mint", cwd=self.directory)
        with subprocess.Popen([str(keymill_bin()), "mint", "-n", "100000000", "--timeout", "1s"],
                              cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=clean_environment()) as process:
            process.stdout.read(1)  # It has begun, and now waits for a reader.
            with DatabaseLock(self.directory / "data/keymill.db"):
                count = 0
                while piece := process.stdout.read(1 << 20):
                    count += piece.count(b"\n")
                message = process.stderr.read().decode()
            self.assertEqual(process.wait(30), 1, message)
        self.assertIn(f"got {count} of 100000000 keys: ", message)

    def test_a_timeout_that_is_none_is_a_usage_error(self):
        for text in ("soon", "0", "-1s"):
            done = run_keymill("mint", f"--timeout={text}", cwd=self.directory)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--timeout", done.stderr)


if __name__ == "__main__":
    unittest.main()
