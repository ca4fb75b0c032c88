# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The link cut between COMMIT and its answer: nobody knows what happened, and nobody guesses."""

import collections
import contextlib
import itertools
import random
import threading

from commit_cutter import LOSE_ANSWER, LOSE_COMMIT, PASS, CommitCutter
from keymill_process import Load, await_that, duplicates
from store_fleet import (BUSY, Session, overlaps, settled, start_instances, start_store, store_url,
                         total)

INSTANCES = 3
ENVIRONMENT = {**BUSY, "KEYMILL_BLOCK_SIZE": "1000"}
SECONDS_MAX = 240  # Ten times what 200 cuts take.


class Witnesses:
    """Looks in the database at each cut, while the instance still waits for its answer."""

    def __init__(self, session):
        self.session = session
        self.mutex = threading.Lock()
        self.found = collections.Counter()  # (fate, how many rows there are of the reservation)
        self.ids = {LOSE_ANSWER: [], LOSE_COMMIT: []}

    def look(self, fate, reservation):
        with self.mutex:
            self.found[fate, self.rows([reservation])] += 1
            self.ids[fate].append(reservation)

    def rows(self, reservations):
        listed = ", ".join(f"'{each}'" for each in reservations)
        return self.session.one(
            f"SELECT COUNT(*) FROM keymill_ledger WHERE reservation IN ({listed})")


def fates(cuts):
    """As many of the one as of the other, as they come, each behind a COMMIT that passes."""
    plan = [LOSE_ANSWER, LOSE_COMMIT] * ((cuts + 1) // 2)
    random.Random(cuts).shuffle(plan)
    return itertools.chain.from_iterable(
        [(PASS, fate) for fate in plan[:cuts]] + [itertools.repeat(PASS)])


def lost_commits(checks, directory, *, store, cuts, connections=60):
    """`cuts` reservations of instances under load end in the dark, one way or the other."""
    keys = directory / "keys"
    with contextlib.ExitStack() as stack:
        database = start_store(stack, directory, store)
        cutter = stack.enter_context(CommitCutter(store, database.port, fates(cuts)))
        url = store_url(database, {database.port: cutter.port})
        servers = start_instances(stack, directory, [url] * INSTANCES, ENVIRONMENT)
        session = stack.enter_context(Session(store, database))
        witnesses = Witnesses(session)
        cutter.look = witnesses.look

        def silent_changes():
            """Changes of the keyspace that no instance was told of."""
            return session.revision() - total(servers, "keymill_blocks_reserved_total")

        before = settled(silent_changes)
        next_before = session.one("SELECT next_number FROM keymill_keyspaces")
        load = stack.enter_context(Load([server.port for server in servers], keys,
                                        connections=connections, duration=SECONDS_MAX,
                                        reconnect=True))
        cutter.active = True
        await_that(lambda: cutter.mistakes or sum(witnesses.found.values()) >= cuts,
                   f"{cuts} links were cut", SECONDS_MAX - 30)
        figures = load.end()
        after = settled(silent_changes)
        checks_of_cuts(checks, store, cutter, witnesses, after - before)
        burned = total(servers, "keymill_blocks_burned_total", keyspace="default")
        unknown = sum(server.unknown_outcomes() for server in servers)
        checks.that(burned == unknown == cuts, f"{cuts} cuts: {unknown} unknown outcomes, "
                    f"keymill_blocks_burned_total {burned} in {INSTANCES} instances")
        each = [server.unknown_outcomes() for server in servers]
        checks.that(min(each) > 0, f"every instance lost some: {each}")
        rows = session.ledger()
        next_after = session.one("SELECT next_number FROM keymill_keyspaces")
        checks.that(overlaps(rows) == 0 and next_after > next_before,
                    f"{len(rows):,} rows in the ledger, {overlaps(rows)} overlap; next went from "
                    f"{next_before:,} to {next_after:,}")
        for server in servers:
            checks.that(server.await_key() and server.stop() == 0, "a server serves, and stops")
    found = duplicates(keys)
    checks.that(found["keys"] == figures["keys"] > 0, f"{found['keys']:,} acknowledged keys on "
                f"record, other answers: {figures['failures'] or 'none'}")
    checks.that(found["duplicate_keys"] == 0, f"{found['duplicate_keys']} duplicates")
    return (f"{store}: {cuts} cuts, {cutter.lost[LOSE_ANSWER]} committed and "
            f"{cutter.lost[LOSE_COMMIT]} not, {burned} burned, {found['keys']:,} keys, "
            f"{found['duplicate_keys']} duplicates")


def checks_of_cuts(checks, store, cutter, witnesses, silent):
    """The database says of each whether it has happened."""
    answers, commits = cutter.lost[LOSE_ANSWER], cutter.lost[LOSE_COMMIT]
    found = witnesses.found
    checks.that(answers > 0 and found[LOSE_ANSWER, 1] == answers,
                f"{store}: {answers} answers lost, of {found[LOSE_ANSWER, 1]} the block is on "
                "record")
    late = witnesses.rows(witnesses.ids[LOSE_COMMIT])
    checks.that(commits > 0 and found[LOSE_COMMIT, 0] == commits and late == 0,
                f"{commits} COMMITs lost, of {commits - found[LOSE_COMMIT, 0]} there is a block, "
                f"and of {late} in the end")
    checks.that(silent == answers, f"the revision has moved on {silent} times more than the "
                "instances were told")
