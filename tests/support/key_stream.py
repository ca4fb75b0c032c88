# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A client that takes keys in streams and keeps every one that reached it.

A stream that is cut counts up to its last whole line: whatever stands there, somebody has seen.
"""

import collections
import socket
import threading

PAUSE_SECONDS = 0.02  # After a refusal, or while nobody listens.


class Cut(Exception):
    """The connection ended before the answer did."""


class Input:
    """The bytes of a connection."""

    def __init__(self, connection):
        self.connection = connection
        self.buffer = b""

    def _more(self):
        try:
            piece = self.connection.recv(1 << 18)
        except OSError as error:
            raise Cut from error
        if not piece:
            raise Cut
        self.buffer += piece

    def line(self):
        while b"\r\n" not in self.buffer:
            self._more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def pieces(self, size):
        """`size` bytes, as they come."""
        while size > 0:
            if not self.buffer:
                self._more()
            piece, self.buffer = self.buffer[:size], self.buffer[size:]
            size -= len(piece)
            yield piece


class KeyStream:
    """Asks one server for streams of `count` keys, one after the other, until it is ended.

    The server may be killed and started again at its port. `path` holds the keys.
    """

    def __init__(self, port, path, *, keyspace="default", count=1_000_000, timeout=30):
        self.port = port
        self.path = path
        self.timeout = timeout
        self.keys = 0  # So far, and at hand in `path`.
        self.cuts = 0
        self.refusals = collections.Counter()
        self._request = (f"POST /v1/keyspaces/{keyspace}/keys?count={count} HTTP/1.1\r\n"
                         "Host: test\r\nAccept: text/plain\r\nContent-Length: 0\r\n\r\n").encode()
        self._end = threading.Event()
        self._connection = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Hangs up, in the middle of a stream as a rule."""
        self._end.set()
        connection = self._connection
        if connection is not None:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is gone already.
        self._thread.join()

    def _run(self):
        with open(self.path, "ab", buffering=0) as file:
            while not self._end.is_set():
                try:
                    with socket.create_connection(("127.0.0.1", self.port),
                                                  self.timeout) as self._connection:
                        source = Input(self._connection)
                        while not self._end.is_set():
                            self._connection.sendall(self._request)
                            self._take_answer(source, file)
                except Cut:
                    self.cuts += 1
                except OSError:
                    self._end.wait(PAUSE_SECONDS)

    def _take_answer(self, source, file):
        status = int(source.line().split()[1])
        headers = {}
        while line := source.line():
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        if status != 200:
            self.refusals[status] += 1
            for _ in source.pieces(int(headers.get(b"content-length", 0))):
                pass
            self._end.wait(PAUSE_SECONDS)
            return
        tail = b""
        for piece in self._body(source, headers):
            whole = piece.rfind(b"\n") + 1
            if whole:
                file.write(tail + piece[:whole])
                self.keys += piece.count(b"\n")
                tail = b""
            tail += piece[whole:]
        if tail:
            raise RuntimeError(f"a stream ended with {tail!r} instead of a whole line")

    @staticmethod
    def _body(source, headers):
        if b"content-length" in headers:
            yield from source.pieces(int(headers[b"content-length"]))
            return
        while size := int(source.line(), 16):
            yield from source.pieces(size)
            source.line()
        source.line()
