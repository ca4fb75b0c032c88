# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a request costs the server besides time: heap, memory, other people's patience."""

import contextlib
import collections
import json
import pathlib
import resource
import signal
import socket
import statistics
import struct
import subprocess
import threading
import time

from keymill_process import Load, Server, build_program

# How long the server waits for a reader that takes nothing.
WRITE_TIMEOUT_SECONDS = 30

KEY_REQUEST = b"GET /get-key HTTP/1.1\r\nHost: localhost\r\nUser-Agent: keymill\r\n\r\n"
BATCH_REQUEST = (b"POST /v1/keyspaces/default/keys?count=100 HTTP/1.1\r\nHost: localhost\r\n"
                 b"User-Agent: keymill\r\nContent-Length: 0\r\n\r\n")


def rss_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError("no VmRSS")


@contextlib.contextmanager
def idle_connections(port, count):
    """So many connections, each used once, that stay open for as long as the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, count + 4096)), hard))
    idle = []
    try:
        for _ in range(count):
            one = socket.create_connection(("127.0.0.1", port), timeout=30)
            idle.append(one)
            one.sendall(KEY_REQUEST)
            if not one.recv(4096):
                raise RuntimeError("closed at once")
        yield
    finally:
        while idle:
            idle.pop().close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Pipeline:
    """Sends the same request again and again, `depth` at a time, and waits for the answers."""

    def __init__(self, port, depth, request=KEY_REQUEST):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.depth = depth
        self.request = request
        self.socket.sendall(request)
        self.answer_size = len(self.socket.recv(65536))
        self.buffer = bytearray(1 << 20)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def turn(self):
        self.socket.sendall(self.request * self.depth)
        left = self.depth * self.answer_size
        while left > 0:
            got = self.socket.recv_into(self.buffer)
            if got == 0:
                raise RuntimeError("the server has closed the connection")
            left -= got
        if left < 0:
            raise RuntimeError("more bytes than answers have")


class SlowReader:
    """Asks for a long stream and reads one byte of it a second.

    Its kernel takes in some kilobytes ahead of it and then nothing for minutes, which the
    server cannot tell from a dead peer: it cuts the connection. Then the reader asks again.
    """

    def __init__(self, port):
        self.port = port
        self.taken = 0
        self.streams = 0
        self.began = time.monotonic()
        self.ending = threading.Event()
        self.socket = None
        self._ask()
        self.thread = threading.Thread(target=self._read)

    def _ask(self):
        if self.socket:
            self.socket.close()
        self.streams += 1
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", self.port))
        self.socket.settimeout(5)
        self.socket.sendall(b"POST /v1/keyspaces/counted/keys?count=100000000 HTTP/1.1\r\n"
                            b"Host: localhost\r\nAccept: text/plain\r\nContent-Length: 0\r\n\r\n")

    def _read(self):
        while True:
            if not self.served():
                self._ask()
            if self.socket.recv(1) != b"":
                self.taken += 1
            if self.ending.wait(1):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()
        self.socket.close()

    def seconds(self):
        return time.monotonic() - self.began

    def served(self):
        """Whether the server's side of the connection is open."""
        local, remote = self.socket.getsockname()[1], self.socket.getpeername()[1]
        for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
            _, ours, theirs, state = line.split()[:4]
            if ours.endswith(f":{remote:04X}") and theirs.endswith(f":{local:04X}"):
                return state == "01"
        return False


def system_calls(checks, directory, turns):
    """A wake-up costs the event loop one read and one write."""
    figures = []
    with Server(directory, "--threads", "1") as server:
        loop = next(task.name for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir()
                    if (task / "comm").read_text(encoding="ascii").strip() == "keymill-loop")
        for what, request, depth in (("one at a time", KEY_REQUEST, 1),
                                     ("pipelined 32 deep", KEY_REQUEST, 32),
                                     ("for 100 keys", BATCH_REQUEST, 1)):
            log = directory / "strace"
            with Pipeline(server.port, depth, request) as pipeline:
                for _ in range(100):
                    pipeline.turn()
                with subprocess.Popen(["strace", "-q", "-p", loop, "-o", str(log)],
                                      stderr=subprocess.DEVNULL) as strace:
                    while not log.exists() or log.stat().st_size == 0:
                        pipeline.turn()  # Until it is attached and sees the calls.
                    seen_before = log.read_text(encoding="ascii", errors="replace").count("\n")
                    for _ in range(turns):
                        pipeline.turn()
                    strace.send_signal(signal.SIGINT)
                    strace.wait()
            calls = collections.Counter(
                line.split("(", 1)[0]
                for line in log.read_text(encoding="ascii", errors="replace").splitlines()[
                    seen_before:])
            log.unlink()
            reads, writes = calls.pop("recvfrom", 0), calls.pop("sendto", 0)
            waits = calls.pop("epoll_wait", 0)
            others = sum(calls.values())
            checks.that(turns <= reads <= turns * 1.02 + 5 and turns <= writes <= turns * 1.02 + 5,
                        f"{turns:,} wake-ups {what}: {reads:,} reads, {writes:,} writes")
            checks.that(waits <= turns * 1.02 + 20 and others <= turns * 0.01 + 5,
                        f"{what}: {waits:,} times waited, {others} other calls {dict(calls)}")
            figures.append(f"{(reads + writes) / turns:.2f} and {waits / turns:.2f} waits {what}")
    return "reads and writes for a wake-up: " + "; ".join(figures)


def allocations(checks, directory, requests):
    """Nothing is taken from the heap for a request, once everything has been used once."""
    count_path = directory / "mallocs"
    preload = build_program("malloc_count")
    figures = []
    with Server(directory, "--threads", "1", env={
            "LD_PRELOAD": str(preload), "MILL_MALLOC_COUNT": str(count_path)}) as server:
        def count():
            return struct.unpack("<Q", count_path.read_bytes())[0]

        server.mint()
        checks.that(count() > 0, f"the counter counts: {count()} allocations of the loop so far")
        for what, request, depth in (("one at a time", KEY_REQUEST, 1),
                                     ("pipelined 32 deep", KEY_REQUEST, 32),
                                     ("for 100 keys", BATCH_REQUEST, 1)):
            with Pipeline(server.port, depth, request) as pipeline:
                for _ in range(2000):  # Blocks, batches, buffers and a change of the second.
                    pipeline.turn()
                before = count()
                turns = requests // depth
                for _ in range(turns):
                    pipeline.turn()
                taken = count() - before
            # Once a second the head of the answers is made anew, in memory that it has.
            checks.that(taken == 0, f"{turns * depth:,} requests {what}: {taken} allocations")
            figures.append(f"{taken} in {turns * depth:,} {what}")
    return "allocations: " + "; ".join(figures)


def stream(checks, directory, keys):
    """A stream takes no memory, however long it is and whoever else reads slowly."""
    reader = build_program("stream_reader")
    per_request = min(keys, 100_000_000)
    requests = keys // per_request
    figures = []
    with Server(directory) as server:
        server.ask("PUT", "/v1/keyspaces/counted",
                   {"kind": "sequence", "alphabet": "base62", "length": 7})

        def run(what):
            arguments = [str(reader), str(server.port), "counted", str(per_request)]
            subprocess.run([*arguments[:3], "1000000", "1"], check=True, stdout=subprocess.DEVNULL)
            before = rss_kib(server.pid)
            with subprocess.Popen([*arguments, str(requests)], stdout=subprocess.PIPE,
                                  text=True) as process:
                largest = before
                while process.poll() is None:
                    largest = max(largest, rss_kib(server.pid))
                    time.sleep(0.05)
                seen = json.loads(process.stdout.read())
            checks.that(seen["keys"] == keys and seen["broken"] == 0,
                        f"{what}: {seen['keys']:,} keys in {requests} answers")
            checks.that(seen["out_of_order"] == 0,
                        f"{what}: each key is larger than the one before, so 0 duplicates")
            growth = largest - before
            checks.that(abs(growth) <= 1024, f"{what}: the server grew by {growth} KiB")
            figures.append(f"{seen['keys']:,} keys {what}, {seen['out_of_order']} out of order, "
                           f"{growth:+} KiB, {seen['bytes'] / seen['seconds'] / 1e6:.0f} MB/s")

        run("alone")
        with SlowReader(server.port) as slow:
            run("beside a reader of one byte a second")
            seconds = slow.seconds()
            checks.that(slow.taken >= seconds * 0.9 - 2, f"it has read {slow.taken} bytes in "
                        f"{seconds:.0f} s, of {slow.streams} streams")
            checks.that(slow.streams <= 1 + seconds / WRITE_TIMEOUT_SECONDS,
                        f"and was cut off {slow.streams - 1} times, not before "
                        f"{WRITE_TIMEOUT_SECONDS} s")
    return "; ".join(figures)


def connections(checks, directory, count, seconds, rounds):
    """Idle connections cost little memory, and the busy ones nothing."""
    busy = 100
    alone, among = [], []
    each = 0.0
    with Server(directory) as server:
        def p99(name):
            with Load([server.port], directory / name, connections=busy,
                      duration=seconds) as load:
                report = load.finish()
            checks.that(not report["failures"], f"{name}: failures {report['failures'] or 'none'}")
            return report["p99_ms"]

        p99("warm")
        for round_number in range(rounds):
            alone.append(p99(f"alone-{round_number}"))
            before = rss_kib(server.pid)
            with idle_connections(server.port, count):
                each = max(each, (rss_kib(server.pid) - before) / count)
                among.append(p99(f"among-{round_number}"))
    checks.that(each <= 16, f"{count:,} connections that were used once: {each:.1f} KiB each")
    ratio = statistics.median(among) / statistics.median(alone)
    checks.that(ratio <= 2, f"p99 of {busy} busy ones: {statistics.median(alone):.2f} ms alone, "
                            f"{statistics.median(among):.2f} ms among them, {ratio:.2f} times")
    return (f"{each:.1f} KiB for each of {count:,} connections; p99 of {busy} busy ones is "
            f"{ratio:.2f} times that without the others")
