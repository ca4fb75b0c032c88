# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Clients of the RESP port that mean no good: who does not read, who drips, who never says EXEC."""

import contextlib
import pathlib
import re
import select
import socket
import subprocess
import time

from keymill_process import Server, build_target, clean_environment
from scenario_wire import WRITE_TIMEOUT_SECONDS, rss_kib

ROOT = pathlib.Path(__file__).resolve().parents[2]
REQUEST_TIMEOUT_SECONDS = 10
HOLDING_TIMEOUT_SECONDS = 120
# The looks of a server at its deadlines, and a machine that has other things to do.
SLACK_SECONDS = 15
MIB = 1024 * 1024
PINGS = b"*1\r\n$4\r\nPING\r\n" * (MIB // 14)
SENT_MAX = 64 * MIB


def connect(port):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.settimeout(2)
    made.connect(("127.0.0.1", port))
    return made


def send_until_full(greedy):
    """A MiB of PING at a time, until the server does not read any more. How much that was."""
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < SENT_MAX:
            sent += greedy.send(PINGS)
    return sent


def seconds_until_cut_off(sockets, seconds_max):
    """When each of them was ended by the other side, without reading; None for who was not."""
    began = time.monotonic()
    poll = select.poll()
    at = {each.fileno(): None for each in sockets}
    for number in at:
        poll.register(number, select.POLLRDHUP)
    while None in at.values() and time.monotonic() - began < seconds_max:
        for number, _ in poll.poll(200):
            poll.unregister(number)
            at[number] = time.monotonic() - began
    return list(at.values())


def never_read(checks, server, clients):
    """Pipelines that nobody reads the answers of: bounded memory, and the end after a while."""
    before = rss_kib(server.pid)
    with contextlib.ExitStack() as stack:
        greedy = [stack.enter_context(connect(server.resp_port)) for _ in range(clients)]
        sent = [send_until_full(each) for each in greedy]
        grown = (rss_kib(server.pid) - before) / 1024 / clients
        checks.that(max(sent) < SENT_MAX, f"a client that does not read is not read from after "
                    f"{max(sent) / MIB:.1f} MiB of PING")
        checks.that(grown < 2, f"it costs the server {grown:.2f} MiB")
        cut = seconds_until_cut_off(greedy, WRITE_TIMEOUT_SECONDS + SLACK_SECONDS)
        last = max(filter(None, cut), default=0)
        checks.that(None not in cut, f"{clients - cut.count(None)} of {clients} were cut off, the "
                    f"last one after {last:.0f} s")
    return f"{grown:.2f} MiB for a client that never reads, cut off within {last:.0f} s"


def drip(checks, server):
    """A byte a second of one command."""
    with connect(server.resp_port) as slow:
        slow.settimeout(1)
        slow.sendall(b"PING\r\n*2\r\n$4\r\nECHO\r\n$60000\r\n")
        began, answer = time.monotonic(), b""
        while time.monotonic() - began < 4 * REQUEST_TIMEOUT_SECONDS:
            try:
                slow.sendall(b"x")
                piece = slow.recv(1000)
            except TimeoutError:
                continue
            except OSError:
                break
            answer += piece
            if not piece:
                break
        seconds = time.monotonic() - began
    checks.that(REQUEST_TIMEOUT_SECONDS / 2 < seconds < REQUEST_TIMEOUT_SECONDS + SLACK_SECONDS,
                f"a command that drips is cut off after {seconds:.0f} s")
    checks.that(answer.startswith(b"+PONG\r\n-ERR Protocol error: the command did not arrive"),
                f"and hears why: {answer!r}")
    return f"a drip of {seconds:.0f} s"


def held(checks, server):
    """Nearly a MiB that waits for EXEC; and a connection that only waits."""
    with connect(server.resp_port) as holding, connect(server.resp_port) as idle:
        idle.sendall(b"PING\r\n")
        word = b"x" * 60_000
        echo = b"*2\r\n$4\r\nECHO\r\n$%d\r\n%s\r\n" % (len(word), word)
        holding.sendall(b"MULTI\r\n" + echo * 17)
        told = b""
        while told.count(b"\r\n") < 18:
            told += holding.recv(1000)
        checks.that(told == b"+OK\r\n" + b"+QUEUED\r\n" * 17, "17 commands of 60 kB wait for EXEC")
        cut = seconds_until_cut_off([holding], HOLDING_TIMEOUT_SECONDS + SLACK_SECONDS)[0]
        checks.that(cut is not None and cut > HOLDING_TIMEOUT_SECONDS / 2,
                    f"that connection is closed after {cut or 0:.0f} s without a word")
        idle.sendall(b"PING\r\n")
        idle.settimeout(10)
        checks.that(idle.recv(100).startswith(b"+PONG\r\n"), "one that holds nothing is not")
    return f"MULTI held for {cut or 0:.0f} s"


@contextlib.contextmanager
def resp_server(directory):
    server = Server(directory, resp="127.0.0.1:0")
    server.start()
    try:
        yield server
    finally:
        server.kill()


def every_split(checks):
    """The unit tests that split messages at every byte. One that is gone is noticed."""
    tests = 0
    for program, name in (
            ("src/api/resp/api_resp_test", "RespSessionTest.WhereTheBytesAreSplitChangesNothing"),
            ("src/wire/wire_test", "RespCommandPropertyTest.*")):
        path = build_target(pathlib.Path(program).name) / program
        done = subprocess.run([path, f"--gtest_filter={name}"], text=True, capture_output=True,
                              check=False)
        passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
        count = int(passed[1]) if passed else 0
        checks.that(done.returncode == 0 and count > 0, f"{name}: {count} passed")
        tests += count
    return f"{tests} tests of every split"


def fuzz(checks, seconds):
    figures = []
    for target in ("resp", "resp_session"):
        done = subprocess.run([ROOT / "dev", "fuzz", target, str(seconds)], text=True,
                              capture_output=True, check=False, cwd=ROOT, env=clean_environment())
        said = re.search(r"(\d+) runs, no finding", done.stdout + done.stderr)
        runs = int(said[1]) if said else 0
        checks.that(done.returncode == 0 and runs > 0, f"fuzz {target} for {seconds} s: {runs:,} "
                    "runs, no finding" if said else f"fuzz {target}: {done.stderr[-2000:]}")
        figures.append(f"{runs:,} runs of {target}")
    return ", ".join(figures)


def hardening(checks, directory, *, clients, seconds):
    with resp_server(directory) as server:
        figures = [never_read(checks, server, clients), drip(checks, server),
                   held(checks, server)]
        checks.that(server.running(), "the server is there")
    return "; ".join(figures + [every_split(checks), fuzz(checks, seconds)])
