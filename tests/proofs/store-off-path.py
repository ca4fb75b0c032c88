#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A request costs the same whatever the store is, refills included: the store is off its path.

One server for each store, and a second one with SQLite, take turns under the same load. Figures are
ratios to the first one with SQLite in the same round; the second tells how far two servers that are
the same differ on this machine.
"""

import contextlib
import dataclasses
import pathlib
import statistics
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS.parent / "bench")]

# pylint: disable=wrong-import-position
import measure
from proof import proof_scale, prove, sized
from speed_rows import in_turns
from store_fleet import SERVERS, make_folder, start_store, store_url

ALLOWANCE = 0.05
ROUNDS = 11
SECONDS = 3  # Of load on one server in one round
TURNS = 5
RUNWAY = "1s"  # Far less than anybody would choose, so that there are many refills.
BASE, TWIN = "sqlite", "sqlite again"


@dataclasses.dataclass
class Total:
    requests: int = 0
    seconds: float = 0
    cpu: float = 0

    def add(self, report, cpu):
        self.requests += report["requests"]
        self.seconds += report["seconds"]
        self.cpu += cpu

    @property
    def cost(self):
        return self.cpu / self.requests

    @property
    def rate(self):
        return self.requests / self.seconds


def one_round(peers, number):
    totals = {name: Total() for name in peers}
    for turn in range(TURNS):
        for name, peer in in_turns(peers.items(), number + turn):
            totals[name].add(*measure.load(peer, pipeline=1,
                                           seconds=SECONDS * min(1, proof_scale()) / TURNS))
    return totals


def blocks(peer):
    """How many the server has reserved."""
    for line in measure.ask(peer.port, "GET", "/metrics").text.splitlines():
        if line.startswith("keymill_blocks_reserved_total{"):
            return int(float(line.split()[-1]))
    return 0


def compare(checks, rounds, name):
    """Both medians, over all rounds, of the ratio to the server with SQLite."""
    cost = statistics.median(each[name].cost / each[BASE].cost for each in rounds)
    rate = statistics.median(each[name].rate / each[BASE].rate for each in rounds)
    middle = statistics.median(each[name].cost for each in rounds)
    line = (f"{name}: CPU per request {cost - 1:+.1%} ({middle * 1e9:,.0f} ns), rate "
            f"{rate - 1:+.1%} ({statistics.median(each[name].rate for each in rounds):,.0f}/s)")
    if name == TWIN:
        checks.note(f"{line}: the noise of this machine")
    else:
        checks.that(abs(cost - 1) <= ALLOWANCE and abs(rate - 1) <= ALLOWANCE,
                    f"{line}, within {ALLOWANCE:.0%}")
    return f"{name} {cost - 1:+.1%}, {rate - 1:+.1%}"


def store_off_path(checks, directory):
    with contextlib.ExitStack() as stack:
        urls = {BASE: "sqlite:keymill.db", TWIN: "sqlite:keymill.db"}
        for store in SERVERS:
            urls[store] = store_url(start_store(stack, directory, store))
        hosts = make_folder(directory, "hosts")
        peers = {name: stack.enter_context(measure.keymill(
            hosts / name.replace(" ", "-"), "--threads", 1, "--log-level", "error",
            "--runway-target", RUNWAY, "--store", url)) for name, url in urls.items()}
        one_round(peers, 0)  # Warms them up.
        before = {name: blocks(peer) for name, peer in peers.items()}
        rounds = [one_round(peers, number) for number in range(sized(ROUNDS, 3))]
        refills = {name: blocks(peer) - before[name] for name, peer in peers.items()}
    wanted = int(len(rounds) * SECONDS * min(1, proof_scale()))
    checks.that(min(refills.values()) >= wanted, f"blocks that were reserved meanwhile, {wanted} "
                "at least: " + ", ".join(f"{name} {count}" for name, count in refills.items()))
    base = statistics.median(each[BASE].cost for each in rounds)
    rate = statistics.median(each[BASE].rate for each in rounds)
    checks.note(f"{BASE}: CPU per request {base * 1e9:,.0f} ns, {rate:,.0f}/s")
    return "CPU per request and rate beside SQLite: " + "; ".join(
        compare(checks, rounds, name) for name in (TWIN, *SERVERS))


prove("store-off-path", store_off_path)
