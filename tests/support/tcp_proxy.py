# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A TCP proxy before a server on loopback that can spoil a connection in the ways a network does.

`delay` holds every piece up, `vanish` loses bytes without a word, `cut` ends connections as a
process that ends does, or with a reset. A `watch` sees every piece before it goes on and can do
the same to its own connection: that is how one is cut after so many bytes (CutAfter), or when
something certain passes (CutAt).
"""

import collections
import contextlib
import select
import socket
import struct
import threading
import time

TO_SERVER, TO_CLIENT = "to the server", "to the client"
DIRECTIONS = (TO_SERVER, TO_CLIENT)


class Seeker:
    """Finds a pattern in a stream that comes in pieces."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.tail = b""

    def feed(self, data):
        """How many bytes of `data` there are up to the pattern's end; None if it does not end in
        it."""
        text = self.tail + data
        at = text.find(self.pattern)
        if at < 0:
            # Never the whole pattern, so that it is found once.
            self.tail = text[max(0, len(text) - len(self.pattern) + 1):]
            return None
        end = at + len(self.pattern) - len(self.tail)
        self.tail = b""
        return end


class CutAfter:
    """A watch: ends each connection when `count` bytes have gone in a direction."""

    def __init__(self, count, direction, reset=False):
        self.count = count
        self.direction = direction
        self.reset = reset

    def __call__(self, link, direction, data):
        left = self.count - link.passed[self.direction]
        if direction != self.direction or len(data) < left:
            return data
        link.cut(self.reset)
        return data[:left]


class CutAt:
    """A watch: ends a connection behind a pattern, `times` in all; once for each of them."""

    def __init__(self, pattern, direction, times=1, reset=False):
        self.pattern = pattern
        self.direction = direction
        self.reset = reset
        self.left = times
        self.mutex = threading.Lock()

    def __call__(self, link, direction, data):
        if direction != self.direction:
            return data
        end = link.memory.setdefault(self, Seeker(self.pattern)).feed(data)
        if end is None:
            return data
        with self.mutex:
            if self.left == 0:
                return data
            self.left -= 1
        link.cut(self.reset)
        return data[:end]


class Link:
    """One connection through the proxy. A thread of its own moves the bytes."""

    def __init__(self, proxy, client, server):
        self.proxy = proxy
        self.passed = dict.fromkeys(DIRECTIONS, 0)  # Bytes that went on.
        self.lost = dict.fromkeys(DIRECTIONS, 0)    # Bytes that vanished.
        self.memory = {}                            # Of watches.
        self._ends = {TO_SERVER: (client, server), TO_CLIENT: (server, client)}
        self._vanishing = set()
        self._waiting = collections.deque()  # (when, direction, data): held up, in order.
        self._open = list(DIRECTIONS)        # Directions whose source has not ended.
        self._ending = None                  # How it is to be cut.
        self._wake = socket.socketpair()

    def cut(self, reset=False):
        """Ends it; what a watch returns still goes on before. For any thread."""
        self._ending = "reset" if reset else "close"
        with contextlib.suppress(OSError):
            self._wake[1].send(b"x")

    def vanish(self, *directions):
        """From now on these bytes get lost, the end of the connection too. For a watch."""
        self._vanishing.update(directions or DIRECTIONS)

    def run(self):
        try:
            while (self._open or self._waiting) and not self._ending:
                self._round()
        except OSError:
            pass  # One of the two has gone, so the other is told.
        except Exception as mistake:  # pylint: disable=broad-except
            self.proxy.mistakes.append(mistake)
        finally:
            self._close()

    def _round(self):
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            self._deliver(*self._waiting.popleft()[1:])
        if self._ending:
            return
        sources = {self._ends[direction][0]: direction for direction in self._open}
        timeout = self._waiting[0][0] - now if self._waiting else None
        ready, _, _ = select.select([*sources, self._wake[0]], [], [], timeout)
        for source in ready:
            if source in sources and not self._ending:
                self._read(sources[source])

    def _read(self, direction):
        data = self._ends[direction][0].recv(1 << 16)
        if not data:
            self._open.remove(direction)
        if self.proxy.delay > 0 or self._waiting:
            self._waiting.append((time.monotonic() + self.proxy.delay, direction, data))
        else:
            self._deliver(direction, data)

    def _deliver(self, direction, data):
        watch = self.proxy.watch
        if data and watch is not None:
            data = watch(self, direction, data)
            if not data:
                return
        if direction in self._vanishing or direction in self.proxy.vanishing:
            self.lost[direction] += len(data)
            return
        if not data:
            # The other may still have something to say to whoever only stopped talking.
            with contextlib.suppress(OSError):
                self._ends[direction][1].shutdown(socket.SHUT_WR)
            return
        self.passed[direction] += len(data)
        self._ends[direction][1].sendall(data)

    def _close(self):
        for end in self._ends[TO_SERVER]:
            if self._ending == "reset":
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()
        for end in self._wake:
            end.close()


class TcpProxy:
    """Listens on `port` of loopback, and hands on to `target`. Use as a context manager.

    `watch(link, direction, data)` returns what shall go on of a piece; it runs in the thread of
    its link, so it may take its time. `delay` is in seconds, for each way.
    """

    def __init__(self, target, watch=None):
        self.target = target
        self.watch = watch
        self.delay = 0
        self.vanishing = set()
        self.connections = 0  # So far.
        self.mistakes = []    # Exceptions of the watch. The first is raised at the end.
        self._refusing = False
        self._links = set()
        self._mutex = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        if self.mistakes:
            raise self.mistakes[0]

    @property
    def links(self):
        with self._mutex:
            return list(self._links)

    def vanish(self, *directions):
        """Half-open connections: bytes of these directions (or of both) get lost without a word,
        until heal()."""
        self.vanishing = set(directions or DIRECTIONS)

    def cut(self, reset=False):
        """Ends all connections that there are. New ones are welcome."""
        for link in self.links:
            link.cut(reset)

    def refuse(self):
        """New connections are reset, until heal()."""
        self._refusing = True

    def heal(self):
        """Nothing more is lost, held up, or refused. What is lost stays lost."""
        self.vanishing = set()
        self.delay = 0
        self._refusing = False

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            if self._refusing:
                raise ConnectionRefusedError
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            # As the target would: whoever connects must not take this for a connection.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            return
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(self, client, server)
        with self._mutex:
            self._links.add(link)
        try:
            link.run()
        finally:
            with self._mutex:
                self._links.discard(link)
