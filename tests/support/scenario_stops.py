# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a stop costs: nothing when it is clean, the reservoir when it is not; and what a
restored backup costs."""

import os
import shutil
import signal
import time

from keymill_process import (Load, Server, await_that, ledger, read_database, run_keymill)
from scenario_instances import freeze, holds_write_lock

COUNTED = "keyspaces: {counted: {kind: sequence, alphabet: decimal}}\n"
BLOCK = 1000
FIXED_BLOCKS = ("--block-size", BLOCK, "--block-growth", "off", "--runway-target", "1s")


def numbers_of(rows, *states):
    return sum(count for _, count, state in rows if state in states)


def clean_stops(checks, directory, *, cycles):
    """Start, mint, stop, many times: 1, 2, 3, … without a gap, and the ledger agrees."""
    keys = []
    for cycle in range(cycles):
        with Server(directory, config=COUNTED) as server:
            # Less than a block, more than one, and none at all.
            count = (7, 1234, 0, 999, 1, 2500)[cycle % 6]
            if count:
                keys += server.mint("counted", count)
            if server.stop() != 0:
                checks.that(False, f"cycle {cycle} stops cleanly: {server.log()}")
    numbers = [int(key) for key in keys]
    missing = len(set(range(1, len(numbers) + 1)) - set(numbers))
    checks.that(numbers == list(range(1, len(numbers) + 1)),
                f"{len(numbers):,} numbers over {cycles} clean stops, {missing} missing")
    rows = ledger(directory / "data/keymill.db", "counted")
    spent, held = numbers_of(rows, "spent"), numbers_of(rows, "held", "burned")
    checks.that(spent == len(numbers) and held == 0,
                f"the ledger says {spent:,} handed out, {held} held or burned")
    return f"{len(numbers):,} numbers over {cycles} clean stops, {missing} lost"


def settled_reservoir(server, keyspace):
    """What the reservoir holds once no refill follows the last request any more."""
    held, since = server.held(keyspace), time.monotonic()
    while time.monotonic() - since < 0.3:
        time.sleep(0.02)
        now = server.held(keyspace)
        if now != held:
            held, since = now, time.monotonic()
    return held


def crashes(checks, directory, *, cycles):
    """kill -9 loses no more than the reservoir held."""
    database = directory / "data/keymill.db"
    acknowledged = lost_before = 0
    worst = (0, 0)
    within = True
    for cycle in range(cycles):
        with Server(directory, config=COUNTED) as server:
            for _ in range(1 + cycle % 3):
                acknowledged += len(server.mint("counted", 1 + 977 * (cycle % 4)))
            held = settled_reservoir(server, "counted")
            server.kill()
        rows = ledger(database, "counted")
        lost = numbers_of(rows, "held", "spent", "burned") - acknowledged - lost_before
        lost_before += lost
        within = within and 0 <= lost <= held
        worst = max(worst, (lost, held))
    checks.that(within, f"{cycles} kills: each lost at most what was held; the most was "
                f"{worst[0]:,} of {worst[1]:,} held")
    return f"kill -9 lost at most {worst[0]:,} of {worst[1]:,} held, {cycles} times"


def reserved(database):
    return numbers_of(ledger(database, "counted"), "held", "spent", "returned", "burned")


def kill_under_load(server, database, aim_seconds):
    """Once the load is under way, kill -9. Returns whether it hit a reservation, and the most
    that can be lost with it: what the reservoir held a moment before, and what was reserved
    since.

    A block may be in the ledger and not yet in the reservoir. But reservations come one after
    the other: whatever was in the ledger before the last one is in the reservoir, or used.
    """
    totals = [reserved(database)]

    def look():
        total = reserved(database)
        totals.extend([total] if total != totals[-1] else [])
        return len(totals) > 2

    await_that(look, "the load is under way")
    end = time.monotonic() + aim_seconds
    while True:
        look()
        held = server.held("counted")
        freeze(server.pid)
        in_flight = holds_write_lock(server.pid, database)
        if in_flight or time.monotonic() >= end:
            break
        os.kill(server.pid, signal.SIGCONT)
    server.kill()
    return in_flight, held + reserved(database) - totals[-2]


def crashes_under_load(checks, directory, *, cycles, connections=50, seconds=0.8):
    """kill -9 amid requests and reservations, of which some commit and nobody learns of it."""
    database, keys = directory / "data/keymill.db", directory / "keys"
    known, lost_before, held_before, in_flight = set(), 0, 0, 0
    worst = (0, 0)
    for cycle in range(cycles):
        # By turns blocks of one size, so that a reservation is never far, and growing ones.
        flags = ("--block-size", 200, "--block-growth", "off") if cycle % 2 else ()
        with Server(directory, *flags, "--runway-target", "1s", config=COUNTED) as server:
            with Load([server.port], keys, connections=connections, duration=seconds,
                      path="/v1/keyspaces/counted/keys", method="POST", reconnect=True) as load:
                hit, ahead = kill_under_load(server, database, 0.3 if cycle % 8 < 7 else 0)
                load.finish()
        in_flight += hit
        rows = ledger(database, "counted")
        fresh = [int(line) for line in keys.read_text(encoding="utf-8").split()]
        repeated = len(fresh) - len(set(fresh) - known)
        known.update(fresh)
        strangers = sum(not any(first <= number < first + count for first, count, state in rows
                                if state in ("held", "spent")) for number in fresh)
        lost = numbers_of(rows, "held", "spent", "burned") - len(known) - lost_before
        lost_before += lost
        held = numbers_of(rows, "held") - held_before
        held_before += held
        # The ledger calls a row held until all of it is used, so the reservoir is the closer
        # bound; an answer may be on its way to each client.
        checks.that(0 <= lost <= min(held, ahead + connections) and repeated == 0 and
                    strangers == 0 and fresh,
                    f"kill {cycle + 1}{' inside a reservation' if hit else ''}: {len(fresh):,} "
                    f"keys, {repeated} of them again, {strangers} not in the ledger; {lost:,} "
                    f"lost, at most {ahead:,} in the reservoir, {held:,} held")
        worst = max(worst, (lost, ahead))
    checks.that(in_flight > 0, f"{in_flight} of {cycles} kills fell inside a reservation")
    return (f"under load at most {worst[0]:,} of {worst[1]:,} in the reservoir, {cycles} times, "
            f"{in_flight} inside a reservation")


def roll_back(directory, *, keep_witness):
    """Give-back, backup, use, restore. Returns what was minted between backup and restore,
    and a server (not started) on the restored database."""
    database = directory / "data/keymill.db"
    with Server(directory, config=COUNTED) as server:
        server.mint("counted", 10)
        server.stop()  # The tail of the block goes back.
    shutil.copy2(database, directory / "backup.db")
    with Server(directory) as server:
        used = server.mint("counted", 100)  # Out of the tail that the backup calls unused.
        server.stop()
    shutil.copy2(directory / "backup.db", database)
    if not keep_witness:
        (directory / "data/witness").unlink()
    return used, Server(directory)


def restored_with_witness(checks, directory):
    used, server = roll_back(directory, keep_witness=True)
    with server:
        answer = server.ask("POST", "/v1/keyspaces/counted/keys")
        checks.that(answer.status == 503 and answer.json["type"].endswith("keyspace-quarantined"),
                    f"a restored backup is noticed: {answer.status} {answer.json.get('type')}")
        state = read_database(directory / "data/keymill.db",
                              "SELECT state FROM keymill_keyspaces WHERE name = 'counted'")
        checks.that(state == [("quarantined",)], f"the store says {state[0][0]}")
        checks.that(server.ask("GET", "/livez").status == 200, "the server itself lives")
        server.stop()
    with Server(directory) as again:
        status = again.ask("POST", "/v1/keyspaces/counted/keys").status
        checks.that(status == 503, f"the next server refuses too: {status}")
        again.stop()
    done = run_keymill("recover", "counted", cwd=directory)
    checks.that(done.returncode == 0, f"keymill recover counted exits with {done.returncode}")
    with Server(directory) as mended:
        fresh = mended.mint("counted", 200)
        repeated = len(set(fresh) & (set(used) | {str(n) for n in range(1, 11)}))
        checks.that(repeated == 0, f"after it, {repeated} of 200 keys were out before")
        mended.stop()
    return "a restored backup is quarantined while its witness lives"


def restore_under(directory, server):
    """Give-back by another instance, backup, use, restore; all of it under a live server.

    Returns every key that is out, and leaves the server frozen: whatever it looks at every
    few seconds, it does not look between the restore and what comes next."""
    database = directory / "data/keymill.db"
    keys = server.mint("counted", 1)
    with Server(directory, *FIXED_BLOCKS) as other:
        keys += other.mint("counted", 1)
        other.stop()  # The tail of its block goes back.
    settled_reservoir(server, "counted")
    shutil.copyfile(database, directory / "backup.db")
    keys += server.mint("counted", 7 * BLOCK // 10)
    await_that(lambda: not numbers_of(ledger(database, "counted"), "returned"),
               "the server reserves what the other one gave back")
    # Some of these are unused, says the backup. Less than half a block calls for no other one.
    keys += server.mint("counted", 4 * BLOCK // 10)
    settled_reservoir(server, "counted")
    freeze(server.pid)
    if holds_write_lock(server.pid, database):
        raise RuntimeError("an idle server is inside a transaction")
    if reserved(database) != reserved(directory / "backup.db"):
        raise RuntimeError("the server took fresh numbers, too: those are too easy to miss")
    shutil.copyfile(directory / "backup.db", database)
    return keys


def mint_on(server, count):
    """Mints until something else than keys comes. Returns the keys, and that answer if any."""
    keys = []
    while len(keys) < count:
        answer = server.ask("POST", "/v1/keyspaces/counted/keys?count=100")
        if answer.status != 200:
            return keys, answer
        keys += answer.json["keys"]
    return keys, None


def quarantined(answer):
    return (answer is not None and answer.status == 503 and
            answer.json["type"].endswith("keyspace-quarantined"))


def check_quarantine(checks, directory, what, out, fresh, answer):
    repeated = len(fresh) - len(set(fresh) - set(out))
    checks.that(repeated == 0, f"{what}: {len(fresh):,} more keys, {repeated} of them again")
    state = read_database(directory / "data/keymill.db",
                          "SELECT state FROM keymill_keyspaces WHERE name = 'counted'")[0][0]
    checks.that(quarantined(answer) and state == "quarantined",
                f"{what}: then {answer or 'nothing but keys'}, and the store says {state}")
    return repeated


def restored_then_stopped(checks, directory):
    """The server that could tell stops cleanly before it looks: its successor must know."""
    with Server(directory, *FIXED_BLOCKS, config=COUNTED) as server:
        out = restore_under(directory, server)
        server.terminate()
        os.kill(server.pid, signal.SIGCONT)
        server.wait()
    with Server(directory, *FIXED_BLOCKS) as again:
        fresh, answer = mint_on(again, 3 * BLOCK)
        repeated = check_quarantine(checks, directory, "restored under a server that then stops",
                                    out, fresh, answer)
        again.stop()
    return f"restored under a server that stops: {repeated} keys repeat"


def restored_then_used(checks, directory):
    """The server goes on and notices, at its next reservation or look."""
    with Server(directory, *FIXED_BLOCKS, config=COUNTED) as server:
        out = restore_under(directory, server)
        os.kill(server.pid, signal.SIGCONT)
        fresh, answer = mint_on(server, 20 * BLOCK)
        repeated = check_quarantine(checks, directory, "restored under a server that goes on",
                                    out, fresh, answer)
        server.stop()
    with Server(directory, *FIXED_BLOCKS) as again:
        more, answer = mint_on(again, 3 * BLOCK)
        repeated += check_quarantine(checks, directory, "and the next one", out + fresh, more,
                                     answer)
        again.stop()
    return f"restored under a server that goes on: {repeated} keys repeat"


def restored_without_witness(checks, directory):
    """The documented limit: nobody is left who could know."""
    used, server = roll_back(directory, keep_witness=False)
    with server:
        repeated = len(set(used) & set(server.mint("counted", 100)))
        server.stop()
    checks.that(repeated > 0, f"without any witness it is not noticed: {repeated} of 100 keys "
                "repeat. This is the documented limit")
    return f"without any witness {repeated} of 100 keys repeat (documented limit)"
