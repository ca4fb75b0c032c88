# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A store's server that is away for a while: nobody who asks for keys notices."""

import contextlib
import time

from keymill_process import Load, await_that, duplicates
from store_fleet import start_instances, start_store, store_url
from store_servers import await_seconds

CONNECTIONS = 100
WARM_SECONDS_MAX = 240
# A server that was started anew is not reserved from for 3 s, and takes a while to start.
RETURN_SECONDS = 7
# What is full wants no block when the server is back, so another keyspace tells when one comes.
DRY = "dry"


class Killed:
    """kill -9 of all its processes, and a start on the data that is there."""

    name = "killed"

    @staticmethod
    def begin(server):
        server.kill()

    @staticmethod
    def end(server):
        server.start()


class Frozen:
    """Connections stay, and nothing answers."""

    name = "frozen"

    @staticmethod
    def begin(server):
        server.freeze()

    @staticmethod
    def end(server):
        server.thaw()


def reserved(server):
    return server.metric("keymill_blocks_reserved_total")


def warm_up(checks, server, rate, seconds):
    """Until what it holds outlasts the outage, and what follows."""
    began = time.monotonic()
    await_that(lambda: server.held() / rate > seconds + RETURN_SECONDS or time.sleep(0.2),
               "the reservoir is full", WARM_SECONDS_MAX)
    checks.note(f"warm after {time.monotonic() - began:.1f} s: the reservoir lasts "
                f"{server.held() / rate:.0f} s at {rate:,} keys/s")


def mint_dry(server, count):
    """One answer of the keyspace that is used up in an outage."""
    return server.ask("POST", f"/v1/keyspaces/{DRY}/keys?count={count}").status


def one_outage(checks, database, server, kind, *, store, rate, seconds, seconds_max):
    """Returns how long it took from the server's return to keys of a keyspace that had none."""
    warm_up(checks, server, rate, seconds)
    began = time.monotonic()
    kind.begin(database)
    try:
        await_that(lambda: server.metric("keymill_store_up") == 0, "the instance notices",
                   seconds + 10)
        noticed, before = time.monotonic() - began, reserved(server)
        await_that(lambda: mint_dry(server, 10_000) == 503, "one keyspace has no numbers left")
        time.sleep(max(0, began + seconds - time.monotonic()))
        after, held = reserved(server), server.metric("keymill_reservoir_numbers")
    finally:
        kind.end(database)
    away = time.monotonic() - began
    back = await_seconds(lambda: mint_dry(server, 1) == 200, 60)
    checks.that(before == after and away >= seconds,
                f"{store} {kind.name} for {away:.1f} s: noticed after {noticed:.1f} s, no block "
                f"until its return, {held / rate:.1f} s were left")
    checks.that(back is not None and back <= seconds_max and
                server.metric("keymill_store_up") == 1,
                f"{store} is back: keys of an empty keyspace after "
                f"{60 if back is None else back:.2f} s")
    return 60 if back is None else back


def store_outage(checks, directory, *, store, rate, seconds, seconds_max=5):
    """Killed and frozen under a load that never pauses."""
    keys = directory / "keys"
    with contextlib.ExitStack() as stack:
        database = start_store(stack, directory, store)
        stack.callback(database.thaw)
        [server] = start_instances(stack, directory, [store_url(database)])
        made = server.ask("PUT", f"/v1/keyspaces/{DRY}", {"kind": "sequence"})
        if made.status != 201 or mint_dry(server, 1) != 200:
            raise RuntimeError(f"making the keyspace {DRY}: {made}\n{server.log()}")
        load = stack.enter_context(Load([server.port], keys, connections=CONNECTIONS, rate=rate,
                                        duration=3600))
        backs = [one_outage(checks, database, server, kind, store=store, rate=rate,
                            seconds=seconds, seconds_max=seconds_max)
                 for kind in (Killed, Frozen)]
        figures = load.end()
        checks.that(server.await_key() and server.stop() == 0, "the server serves, and stops")
    failures = sum(figures["failures"].values()) + figures["unknown"]
    reached = figures["ok"] / figures["seconds"]
    checks.that(failures == 0, f"{store}: {figures['ok']:,} answers in {figures['seconds']:.0f} s, "
                f"{failures} failures {figures['failures'] or ''}, slowest "
                f"{figures['max_ms']:.0f} ms")
    checks.that(reached > 0.95 * rate, f"the load was {reached:,.0f} of {rate:,} keys/s")
    found = duplicates(keys)
    checks.that(found["keys"] == figures["keys"] and found["duplicate_keys"] == 0,
                f"{found['keys']:,} keys, {found['duplicate_keys']} duplicates")
    return (f"{store}: away twice for {seconds} s at {reached:,.0f} keys/s: {failures} failures, "
            f"an empty keyspace has keys again after {max(backs):.2f} s")
