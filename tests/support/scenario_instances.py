# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Three servers on one database: under load, and under load with kill -9."""

import collections
import contextlib
import os
import pathlib
import signal
import time

from keymill_process import Load, Server, duplicates, free_port, ledger, read_database

INSTANCES = 3
# The byte of a database file that SQLite write-locks from BEGIN IMMEDIATE to the end of
# COMMIT (sqlite3's os.h: PENDING_BYTE + 1).
RESERVED_BYTE = 0x40000001


def start_together(stack, directory, env=None, command=None):
    servers = [Server(directory, env=env, command=command, port=free_port())
               for _ in range(INSTANCES)]
    for server in servers:
        server.launch()
        stack.callback(server.kill)
    for server in servers:
        server.await_ready()
    return servers


def three_instances(checks, directory, *, connections, requests, p95_ms=None, command=None):
    """Many clients of three servers that share a directory never see a key twice."""
    keys = directory / "keys"
    with contextlib.ExitStack() as stack:
        servers = start_together(stack, directory, command=command)
        checks.that((directory / "data/keymill.db").exists(),
                    f"{INSTANCES} servers run on one database")
        refuse_taken_port(checks, directory, servers[0].port, command)
        load = stack.enter_context(Load([server.port for server in servers], keys,
                                        connections=connections, requests=requests))
        figures = load.finish()
        for server in servers:
            checks.that(server.running(), f"the server on port {server.port} still runs")
            checks.that(server.stop() == 0, "and stops cleanly")
    failures = sum(figures["failures"].values()) + figures["unknown"]
    checks.that(figures["ok"] == requests and failures == 0,
                f"{figures['ok']:,} of {requests:,} requests answered, {failures} failures "
                f"{figures['failures'] or ''}")
    if p95_ms is not None:
        checks.that(figures["p95_ms"] < p95_ms,
                    f"p95 {figures['p95_ms']:.1f} ms, less than {p95_ms} ms")
    found = duplicates(keys)
    checks.that(found["keys"] == requests and found["duplicate_keys"] == 0,
                f"{found['keys']:,} keys, {found['duplicate_keys']} duplicates")
    rate = figures["ok"] / figures["seconds"]
    return (f"{found['keys']:,} keys to {connections:,} clients of {INSTANCES} servers, "
            f"{found['duplicate_keys']} duplicates, {failures} failures, "
            f"p95 {figures['p95_ms']:.1f} ms, {rate:,.0f} keys/s")


def refuse_taken_port(checks, directory, port, command):
    second = Server(directory, port=port, command=command).launch()
    try:
        code = second.wait()
    finally:
        second.kill()
    checks.that(code == 1 and str(port) in second.log(),
                f"a second server on port {port} exits with {code} and says: "
                f"{second.log().strip().splitlines()[-1]}")


def task_states(pid):
    states = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The name before the state may hold spaces and parentheses.
            states.append((task / "stat").read_text().rpartition(")")[2].split()[0])
    return states


def freeze(pid):
    """SIGSTOP, and back only when every thread has stopped."""
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + 5
    while any(state not in "TtZX" for state in task_states(pid)):
        if time.monotonic() > end:
            raise RuntimeError(f"process {pid} does not stop")
        time.sleep(0.0005)


def holds_write_lock(pid, database):
    """Whether this process is inside a write transaction of the database."""
    inode = str(os.stat(database).st_ino)
    for line in pathlib.Path("/proc/locks").read_text().splitlines():
        # 1: POSIX  ADVISORY  WRITE 2389 fe:00:1053131 1073741825 1073741825
        words = line.split()
        if words[1] != "POSIX" or words[3] != "WRITE" or words[4] != str(pid):
            continue
        first, last = int(words[6]), float("inf") if words[7] == "EOF" else int(words[7])
        if words[5].rpartition(":")[2] == inode and first <= RESERVED_BYTE <= last:
            return True
    return False


def holds_file_lock(pid, path):
    """Whether this process has locked the file with flock(2). One that waits for it has not."""
    inode = str(os.stat(path).st_ino)
    for line in pathlib.Path("/proc/locks").read_text().splitlines():
        # 1: FLOCK  ADVISORY  WRITE 2389 fe:00:1053131 0 EOF; waiting: 1: -> FLOCK …
        words = line.split()
        if words[1] == "FLOCK" and words[4] == str(pid) and words[5].rpartition(":")[2] == inode:
            return True
    return False


def holds_a_lock(pid):
    """Whether this process has locked any file, be it only to read it. That, too, holds others up:
    nobody can write to a SQLite database while somebody reads it."""
    return any(words[1] in ("POSIX", "FLOCK") and words[4] == str(pid) for words in
               map(str.split, pathlib.Path("/proc/locks").read_text().splitlines()))


def kill_nine_in_flight(server, database, aim_seconds):
    """Kills the server; returns whether it died inside a reservation.

    With `aim_seconds` it is stopped and let go again until it is inside one, for so long.
    """
    end = time.monotonic() + aim_seconds
    while True:
        freeze(server.pid)
        in_flight = holds_write_lock(server.pid, database)
        if in_flight or time.monotonic() >= end:
            break
        os.kill(server.pid, signal.SIGCONT)
        time.sleep(0.001)
    server.kill()
    return in_flight


def kill_nine(checks, directory, *, seconds, period=0.5, connections=2000, block_size=50):
    """kill -9 of one of three servers after the other, often in mid-reservation."""
    # Tiny blocks that do not grow keep every server reserving nearly all the time.
    env = {"KEYMILL_BLOCK_SIZE": str(block_size), "KEYMILL_BLOCK_GROWTH": "off",
           "KEYMILL_RUNWAY_TARGET": "1s"}
    keys = directory / "keys"
    database = directory / "data/keymill.db"
    kills = in_flight = 0
    ended = collections.Counter()
    with contextlib.ExitStack() as stack:
        servers = start_together(stack, directory, env=env)
        load = stack.enter_context(Load([server.port for server in servers], keys,
                                        connections=connections, duration=seconds + 2,
                                        reconnect=True))
        time.sleep(min(1, period))
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            due = began + (kills + 1) * period
            victim = servers[kills % len(servers)]
            # Every fourth kill takes the moment as it comes.
            aim = 0 if kills % 4 == 3 else period / 2
            in_flight += kill_nine_in_flight(victim, database, aim)
            ended[victim.port, victim.process.returncode] += 1
            kills += 1
            victim.start()
            time.sleep(max(0, due - time.monotonic()))
        figures = load.finish()
        # And it recovers: all three serve, from a database that is sound.
        for server in servers:
            checks.that(server.ask("GET", "/get-key").status == 200, "a server serves at the end")
            checks.that(server.stop() == 0, "and stops cleanly")
    sound = read_database(database, "PRAGMA integrity_check")
    checks.that(sound == [("ok",)], f"SQLite finds the database sound: {sound}")
    rows = ledger(database, "default")
    overlaps = sum(first + count > after for (first, count, _), (after, _, _) in
                   zip(rows, rows[1:]))
    checks.that(overlaps == 0, f"{len(rows):,} rows in the ledger, {overlaps} overlap")
    found = duplicates(keys)
    checks.that(found["keys"] == figures["keys"] and found["keys"] > 0,
                f"{found['keys']:,} acknowledged keys on record, {figures['unknown']} requests "
                f"without an answer, other answers: {figures['failures'] or 'none'}")
    checks.that(found["duplicate_keys"] == 0, f"{found['duplicate_keys']} duplicates")
    by_signal = [count for (_, code), count in ended.items() if code == -signal.SIGKILL]
    due = seconds / period
    checks.that(sum(by_signal) == kills and len(by_signal) == INSTANCES and kills >= 0.8 * due,
                f"{kills} kills of {due:.0f} due in {seconds:g} s, {connections:,} clients; the "
                f"servers died {', '.join(map(str, by_signal))} times of SIGKILL")
    checks.that(2 * in_flight >= kills,
                f"{in_flight} of {kills} kills fell inside a reservation")
    return (f"{found['keys']:,} acknowledged keys of {connections:,} clients, "
            f"{found['duplicate_keys']} duplicates, {kills} kills in {seconds:g} s, {in_flight} "
            "of them inside a reservation")
