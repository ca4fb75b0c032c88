# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A store's server that is away for a while: nobody who asks for keys notices."""

import concurrent.futures
import contextlib
import time

from keymill_process import Load, await_that, duplicates
from store_fleet import start_instances, start_store, store_url, total
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


def lasts(servers, rate):
    """Seconds until the first of them has nothing left; each has its share of the load."""
    held = [server.metric("keymill_reservoir_numbers", keyspace="default") for server in servers]
    return min(held) / (rate / len(servers))


def warm_up(checks, servers, rate, seconds):
    """Until what each holds outlasts the outage, and what follows."""
    began = time.monotonic()
    await_that(lambda: lasts(servers, rate) > seconds + RETURN_SECONDS or time.sleep(0.2),
               "the reservoirs are full", WARM_SECONDS_MAX)
    checks.note(f"warm after {time.monotonic() - began:.1f} s: the smallest of {len(servers)} "
                f"reservoirs lasts {lasts(servers, rate):.0f} s at {rate:,} keys/s in all")


def mint_dry(server, count):
    """One answer of the keyspace that is used up in an outage."""
    return server.ask("POST", f"/v1/keyspaces/{DRY}/keys?count={count}").status


def all_up(servers, value):
    return all(server.metric("keymill_store_up") == value for server in servers)


def all_answer(servers, count, status):
    with concurrent.futures.ThreadPoolExecutor(len(servers)) as pool:  # A 503 takes its time.
        return all(told == status for told in pool.map(lambda server: mint_dry(server, count),
                                                       servers))


def one_outage(checks, database, servers, kind, *, store, rate, seconds, seconds_max):
    """Returns how long it took from the server's return to keys of a keyspace that had none, at
    every instance."""
    warm_up(checks, servers, rate, seconds)
    began = time.monotonic()
    kind.begin(database)
    try:
        await_that(lambda: all_up(servers, 0), "the instances notice", seconds + 10)
        noticed = time.monotonic() - began
        before = total(servers, "keymill_blocks_reserved_total")
        await_that(lambda: all_answer(servers, 10_000, 503), "one keyspace has no numbers left")
        time.sleep(max(0, began + seconds - time.monotonic()))
        after, left = total(servers, "keymill_blocks_reserved_total"), lasts(servers, rate)
    finally:
        kind.end(database)
    away = time.monotonic() - began
    back = await_seconds(lambda: all_answer(servers, 1, 200), 60)
    checks.that(before == after and away >= seconds,
                f"{store} {kind.name} for {away:.1f} s: noticed after {noticed:.1f} s, no block "
                f"until its return, {left:.1f} s were left")
    checks.that(back is not None and back <= seconds_max and all_up(servers, 1),
                f"{store} is back: keys of an empty keyspace after "
                f"{60 if back is None else back:.2f} s")
    return 60 if back is None else back


def store_outage(checks, directory, *, store, rate, seconds, instances=1, seconds_max=5):
    """Killed and frozen under a load that never pauses. `rate` is that of all instances."""
    keys = directory / "keys"
    with contextlib.ExitStack() as stack:
        database = start_store(stack, directory, store)
        stack.callback(database.thaw)
        servers = start_instances(stack, directory, [store_url(database)] * instances)
        made = servers[0].ask("PUT", f"/v1/keyspaces/{DRY}", {"kind": "sequence"})
        if made.status != 201:
            raise RuntimeError(f"making the keyspace {DRY}: {made}\n{servers[0].log()}")
        await_that(lambda: all_answer(servers, 1, 200), f"all have the keyspace {DRY}")
        load = stack.enter_context(Load([server.port for server in servers], keys,
                                        connections=CONNECTIONS, rate=rate, duration=3600))
        backs = [one_outage(checks, database, servers, kind, store=store, rate=rate,
                            seconds=seconds, seconds_max=seconds_max)
                 for kind in (Killed, Frozen)]
        figures = load.end()
        for server in servers:
            checks.that(server.await_key() and server.stop() == 0, "a server serves, and stops")
    failures = sum(figures["failures"].values()) + figures["unknown"]
    reached = figures["ok"] / figures["seconds"]
    checks.that(failures == 0, f"{store}: {figures['ok']:,} answers in {figures['seconds']:.0f} s, "
                f"{failures} failures {figures['failures'] or ''}, slowest "
                f"{figures['max_ms']:.0f} ms")
    checks.that(reached > 0.99 * rate, f"the load was {reached:,.0f} of {rate:,} keys/s")
    found = duplicates(keys)
    checks.that(found["keys"] == figures["keys"] and found["duplicate_keys"] == 0,
                f"{found['keys']:,} keys, {found['duplicate_keys']} duplicates")
    return (f"{store}: away twice for {seconds} s at {reached:,.0f} keys/s of {instances} "
            f"instances: {failures} failures, "
            f"an empty keyspace has keys again after {max(backs):.2f} s")
