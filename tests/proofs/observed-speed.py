#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""To be watched costs a server nothing that its bars would notice.

Two servers take turns under the same load, between nginx and a bare epoll loop: one that nobody
looks at, and one whose /metrics is read every second and which logs all but single keys.
"""

import contextlib
import dataclasses
import pathlib
import statistics
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS.parent / "bench")]

# pylint: disable=wrong-import-position
import measure
from proof import proof_scale, prove, sized
from speed_rows import ROWS, in_turns

ALLOWANCE = 0.03
ROUNDS = 9
SECONDS = 3
TURNS = 5


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


def one_round(peers, pipeline, number):
    totals = {name: Total() for name in peers}
    for turn in range(TURNS):
        for name, peer in in_turns(peers.items(), number + turn):
            totals[name].add(*measure.load(peer, pipeline=pipeline,
                                           seconds=SECONDS * min(1, proof_scale()) / TURNS))
    return totals


class Ratios:
    """Those of the speed check that a request is judged by, of one server in one round."""

    def __init__(self):
        self.found = {"one-key-1-thread": [], "pipelined-rate": [], "pipelined-loop": []}

    def add(self, name, single, deep):
        self.found["one-key-1-thread"].append(single[name].cost / single["nginx"].cost)
        self.found["pipelined-rate"].append(deep[name].rate / deep["nginx"].rate)
        self.found["pipelined-loop"].append(deep["epoll"].cost / deep[name].cost)


def judge(checks, row, alone, watched):
    change = statistics.median(w / a for w, a in zip(watched, alone))
    worse = change - 1 if row.relation == "<=" else 1 - change
    middle = statistics.median(watched)
    line = (f"{row.name}: {middle:.3f} of {row.peer} watched, {statistics.median(alone):.3f} "
            f"alone (bar {row.relation} {row.bar:g})")
    bar = row.bar * (1 + ALLOWANCE if row.relation == "<=" else 1 - ALLOWANCE)
    checks.that(middle <= bar if row.relation == "<=" else middle >= bar,
                f"{line}: the bar holds within 3 %")
    checks.that(worse <= ALLOWANCE, f"{row.name}: {worse:+.1%} worse for being watched")
    return f"{row.name} {middle:.2f}, {worse:+.1%}"


def observed_speed(checks, _):
    alone, watched, pages = Ratios(), Ratios(), []
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=measure.ROOT / "build") as folder, \
            contextlib.ExitStack() as stack:
        directory = pathlib.Path(folder)
        peers = {
            "alone": stack.enter_context(
                measure.keymill(directory / "alone", "--threads", 1, "--log-level", "error")),
            "watched": stack.enter_context(
                measure.keymill(directory / "watched", "--threads", 1, "--log-level", "debug")),
            "nginx": stack.enter_context(measure.nginx()),
            "epoll": stack.enter_context(measure.epoll_baseline())}
        for pipeline in (1, 32):
            one_round(peers, pipeline, 0)  # Warms them up.
        with measure.scraped(peers["watched"].port, pages):
            for number in range(sized(ROUNDS)):
                single, deep = one_round(peers, 1, number), one_round(peers, 32, number)
                alone.add("alone", single, deep)
                watched.add("watched", single, deep)
    checks.that(pages and all(pages), f"/metrics was read {len(pages)} times, whole each time")
    rows = {row.name: row for row in ROWS}
    return "; ".join([judge(checks, rows[name], alone.found[name], watched.found[name])
                      for name in alone.found] + [f"{len(pages)} scrapes"])


prove("observed-speed", observed_speed)
