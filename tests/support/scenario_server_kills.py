# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Instances on several hosts, and the server of their store, killed (-9) at random under load."""

import collections
import contextlib
import os
import pathlib
import random
import signal
import tempfile
import time

from fleet import SMALL_BLOCKS, Fleet, blocks_reserved
from in_flight import awaits_store
from keymill_process import await_that
from scenario_instances import freeze
from store_servers import start_server

# Their fixed blocks are so small that instances reserve nearly all the time, and so large that
# each server hands out some hundred thousand keys in a second.
SERVERS = {"postgres": 2000, "mariadb": 2000, "redis": 1000, "etcd": 4000}
INSTANCES = 4
SERVING_SECONDS = 5
AIM_SECONDS = 0.2
IN_FLIGHT_SHARE = 0.25


def store_ports(store):
    return [member.port for member in store.members] if hasattr(store, "members") else [store.port]


class Outage:
    """The store's server dies of kill -9; of a cluster, the leader."""

    def __init__(self, store):
        self.store = store
        self.leader = store.kill_leader() if hasattr(store, "kill_leader") else None
        if self.leader is None:
            store.kill()

    def end(self):
        """Back as soon as the store answers again: the server is restarted, or the other members
        have elected another leader."""
        if self.leader is None:
            self.store.start()
            return
        others = [member for member in self.store.members if member is not self.leader]
        await_that(lambda: any(member.answers() for member in others), "another one leads")

    def clean_up(self):
        if self.leader is not None:
            self.leader.start()


class Killer:
    """Kills instances and the server behind them, in an order that `seed` says."""

    def __init__(self, fleet, store, seed):
        self.fleet = fleet
        self.store = store
        self.random = random.Random(seed)
        self.ended = collections.Counter()
        self.kills = 0
        self.in_flight = 0
        self.serving_seconds = []

    def run(self, kills, server_kills, pause_seconds):
        events = [self.kill_instance] * kills + [self.kill_server] * server_kills
        self.random.shuffle(events)
        for event in events:
            time.sleep(self.random.uniform(0, 2 * pause_seconds))
            event()

    def kill_instance(self):
        """Every other time the moment is as it comes; else it is inside a reservation, if one
        begins soon."""
        victim = self.random.choice(self.fleet.servers)
        victim.await_ready()
        self.kills += 1
        end = time.monotonic() + AIM_SECONDS * (self.kills % 2)
        while True:
            freeze(victim.pid)
            inside = awaits_store(victim.pid, store_ports(self.store))
            if inside or time.monotonic() >= end:
                break
            os.kill(victim.pid, signal.SIGCONT)
            time.sleep(0.001)
        self.in_flight += inside
        self._restart(victim)

    def _restart(self, victim):
        os.kill(victim.pid, signal.SIGKILL)
        self.ended[victim.wait()] += 1
        victim.launch()

    def kill_server(self):
        """And measures how long each instance needs to reserve again once it is back."""
        for server in self.fleet.servers:
            server.await_ready()
        outage = Outage(self.store)
        if self.random.random() < 0.5:
            # One that starts while the store is away must find it as well.
            self._restart(self.random.choice(self.fleet.servers))
        time.sleep(self.random.uniform(0.05, 0.5))
        waiting = {server: blocks_reserved(server) for server in self.fleet.servers}
        outage.end()
        began = time.monotonic()
        while waiting and time.monotonic() < began + 6 * SERVING_SECONDS:
            waiting = {server: before for server, before in waiting.items()
                       if blocks_reserved(server) <= before}
            time.sleep(0.01)
        self.serving_seconds.append(float("inf") if waiting else time.monotonic() - began)
        outage.clean_up()


def one_server(checks, directory, *, server, kills, server_kills, keys, pause_seconds=0.45,
               serving_seconds=SERVING_SECONDS):
    """Returns how many keys were checked, and the figures as text."""
    seed = random.randrange(1 << 32)
    checks.note(f"{server}, seed {seed}:")
    directory.chmod(0o755)  # Some servers run as users of their own.
    folder = directory / server
    folder.mkdir()
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(start_server(server, folder))
        fleet = Fleet(stack, directory, store.url("mill"), INSTANCES, "--block-size",
                      SERVERS[server], *SMALL_BLOCKS).start()
        fleet.stream()
        fleet.load(connections=40, rate=1000)
        killer = Killer(fleet, store, seed)
        began = time.monotonic()
        killer.run(kills, server_kills, pause_seconds)
        seconds = time.monotonic() - began
        under_fire = fleet.streamed()
        await_that(lambda: fleet.streamed() >= keys, f"{keys:,} keys are out", 600)
        fleet.end_load()
        end_well(checks, fleet, SERVERS[server])
        found = fleet.verify(checks, keys)
    more = killer.ended[-signal.SIGKILL] - kills
    checks.that(set(killer.ended) == {-signal.SIGKILL} and killer.kills == kills,
                f"{kills} kills of instances in {seconds:.0f} s, with {under_fire:,} keys, and "
                f"{more} more while the server was away; {server_kills} of {server}")
    checks.that(killer.in_flight >= IN_FLIGHT_SHARE * kills,
                f"{killer.in_flight} of {kills} kills fell inside a reservation")
    slowest = max(killer.serving_seconds)
    checks.that(slowest <= serving_seconds, f"every instance reserves again within {slowest:.2f} s "
                f"of its return, {len(killer.serving_seconds)} times")
    return found["keys"], (
        f"{server} {found['keys']:,} keys, {found['duplicate_keys']} duplicates, "
        f"{killer.in_flight} of {kills} inside a reservation, back within {slowest:.2f} s")


def all_servers(checks, directory, *, servers, kills, server_kills, keys):
    """One after the other; `keys` is the least for each."""
    total, figures = 0, []
    directory.chmod(0o755)  # As below.
    for server in servers:
        with tempfile.TemporaryDirectory(dir=directory) as folder:
            count, text = one_server(checks, pathlib.Path(folder), server=server, kills=kills,
                                     server_kills=server_kills, keys=keys)
        total += count
        figures.append(text)
    least = keys * len(servers)
    checks.that(total >= least, f"{total:,} keys were checked, at least {least:,}")
    return (f"{total:,} keys; {kills} kills of {INSTANCES} instances and {server_kills} of their "
            f"server, on each of {len(servers)}: " + "; ".join(figures))


def end_well(checks, fleet, block):
    """All serve and stop cleanly; what they gave back is handed out by the next process."""
    for server in fleet.servers:
        server.await_ready()
        fleet.record([server.await_key()])
    codes = [server.stop() for server in fleet.servers]
    checks.that(codes == [0] * len(codes), f"{len(codes)} instances serve, and stop with {codes}")
    again = fleet.servers[0].start()
    for _ in range(5):
        fleet.record(again.mint(count=block))
    again.stop()
