# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""An instance that is frozen in the middle of a reservation: the others go on without it."""

import contextlib
import os
import signal
import threading
import time

from keymill_process import Load, await_that, duplicates
from scenario_instances import freeze
from store_fleet import (BUSY, SQL_SERVERS, Session, start_instances, start_store, store_url,
                         total)
from store_servers import await_seconds
from tcp_proxy import TO_CLIENT, TO_SERVER, Seeker, TcpProxy

OTHERS = 2
# Longer than any transaction may be idle, so that its end is there when the instance goes on.
FROZEN_SECONDS = 3
# What a reservation sends on its way: the row is locked when this is answered. Redis and etcd lock
# nothing; there it is the look, or the change itself.
STEPS = {"postgres": b" FOR UPDATE", "mariadb": b" FOR UPDATE", "redis": b"EVALSHA",
         "etcd": b"POST /v3/kv/txn"}


class Holder:
    """A watch that holds back the answer to a step, until it is told to let it go."""

    def __init__(self, step):
        self.step = step
        self.skip = None  # So many steps pass first; None: all.
        self.held = threading.Event()
        self.let_go = threading.Event()

    def arm(self, skip):
        self.held.clear()
        self.let_go.clear()
        self.skip = skip

    def __call__(self, link, direction, data):
        if direction == TO_SERVER:
            seeker = link.memory.setdefault("step", Seeker(self.step))
            if seeker.feed(data) is not None and self.skip is not None:
                self.skip -= 1
                if self.skip < 0:
                    self.skip = None
                    link.memory["due"] = True
        elif direction == TO_CLIENT and link.memory.pop("due", False):
            self.held.set()
            self.let_go.wait()
        return data


def ports_of(server):
    return [member.port for member in getattr(server, "members", [server])]


def frozen_instance(checks, directory, *, store, rounds, seconds_max=5, connections=40):
    """Frozen again and again under load, each time with the reservation half done."""
    keys = directory / "keys"
    times = []
    with contextlib.ExitStack() as stack:
        database = start_store(stack, directory, store)
        holder = Holder(STEPS[store])
        proxies = {port: stack.enter_context(TcpProxy(port, holder)).port
                   for port in ports_of(database)}
        urls = [store_url(database, proxies)] + [store_url(database)] * OTHERS
        victim, *others = start_instances(stack, directory, urls, BUSY)
        stack.callback(holder.let_go.set)
        load = stack.enter_context(Load([server.port for server in (victim, *others)], keys,
                                        connections=connections, duration=3600, reconnect=True))
        for number in range(rounds):
            times.append(one_round(checks, store, database, holder, number, victim, others,
                                   seconds_max))
            # What it believed to be under way is over, and it knows.
            before = total([victim], "keymill_blocks_reserved_total")
            await_that(lambda: total([victim], "keymill_blocks_reserved_total") > before + 2,
                       "it reserves again")
        figures = load.end()
        for server in (victim, *others):
            checks.that(server.await_key() and server.stop() == 0, "a server serves, and stops")
    found = duplicates(keys)
    checks.that(found["keys"] == figures["keys"] > 0, f"{found['keys']:,} acknowledged keys on "
                f"record, other answers: {figures['failures'] or 'none'}")
    checks.that(found["duplicate_keys"] == 0, f"{found['duplicate_keys']} duplicates")
    return (f"{store}: frozen {rounds} times, the others went on after {max(times):.2f} s at most, "
            f"{found['keys']:,} keys, {found['duplicate_keys']} duplicates")


def one_round(checks, store, database, holder, number, victim, others, seconds_max):
    """Freezes it and lets it go; returns how long it took until all the others reserved."""
    holder.arm(skip=number % 2)
    if not holder.held.wait(30):
        raise RuntimeError(f"no reservation in 30 s:\n{victim.log()[-3000:]}")
    began = time.monotonic()
    freeze(victim.pid)
    try:
        # Not the first block: that may have been granted before.
        wanted = {server: total([server], "keymill_blocks_reserved_total") + 2
                  for server in others}
        # It finds the answer when it wakes up, as if nothing had happened.
        holder.let_go.set()
        where = "in mid-reservation"
        if store in SQL_SERVERS:
            with Session(store, database) as session:
                free = session.rows("SELECT name FROM keymill_keyspaces WHERE name = 'default' "
                                    "FOR UPDATE SKIP LOCKED")
            where = "with the row locked" if not free else "too late"
        waited = await_seconds(
            lambda: all(total([server], "keymill_blocks_reserved_total") >= count
                        for server, count in wanted.items()), 4 * seconds_max)
        took = time.monotonic() - began
        checks.that(waited is not None and took <= seconds_max and where != "too late",
                    f"{store}: frozen {where}: the {len(others)} others have reserved blocks "
                    f"after {took:.2f} s")
        time.sleep(max(0, began + FROZEN_SECONDS - time.monotonic()))
    finally:
        os.kill(victim.pid, signal.SIGCONT)
    return took
