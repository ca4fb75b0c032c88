# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a stop costs: nothing when it is clean, the reservoir when it is not; and what a
restored backup costs."""

import shutil
import time

from keymill_process import Server, ledger, read_database, run_keymill

COUNTED = "keyspaces: {counted: {kind: sequence, alphabet: decimal}}\n"


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


def restored_without_witness(checks, directory):
    """The documented limit: nobody is left who could know."""
    used, server = roll_back(directory, keep_witness=False)
    with server:
        repeated = len(set(used) & set(server.mint("counted", 100)))
        server.stop()
    checks.that(repeated > 0, f"without any witness it is not noticed: {repeated} of 100 keys "
                "repeat. This is the documented limit")
    return f"without any witness {repeated} of 100 keys repeat (documented limit)"
