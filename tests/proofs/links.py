#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Short links lead where they should on every store that keeps them, an alias has one winner, no
kill loses one that was acknowledged, and a redirect from memory costs about as much as a key."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS.parent / "bench")]

# pylint: disable=wrong-import-position
from measure import Cpu
from proof import prove, sized
from scenario_links import killed, links, redirect_cost
from store_fleet import make_folder

STORES = ("sqlite", "postgres", "mariadb", "redis")


def all_of_it(checks, directory):
    figures = [redirect_cost(checks, make_folder(directory, "cost"), rounds=sized(7, 3), seconds=3,
                             bar=1.1, cpu_of=Cpu)]
    for store in STORES:
        figures.append(links(checks, make_folder(directory, f"on-{store}"), store=store,
                             count=sized(500, 10), claims=40, rounds=sized(50, 2)))
    for store in STORES:
        figures.append(killed(checks, make_folder(directory, f"killed-on-{store}"), store=store,
                              kills=sized(100, 3)))
    return "; ".join(figures)


prove("links", all_of_it)
