#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""200 racing claims of one alias from 4 instances have exactly one winner, 100 times over, and no
alias is ever a key that its keyspace hands out: by judgement where keys are counted, by the store
where they are random or come from content."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_claims import alias_boundary, aliases_among_keys, racing_claims
from store_fleet import make_folder

STORES = ("sqlite", "postgres", "mariadb", "redis")


def claims(checks, directory):
    figures = [alias_boundary(checks, directory, tries=sized(1_000_000, 10_000))]
    for store in STORES:
        figures.append(racing_claims(checks, make_folder(directory, f"on-{store}"), store=store,
                                     claims=200, rounds=sized(100, 2)))
        figures.append(aliases_among_keys(checks, make_folder(directory, f"among-{store}"),
                                          store=store, claims=sized(400, 250),
                                          keys=sized(4_000, 2_000),
                                          contents=sized(2_000, 1_000)))
    return "; ".join(figures)


prove("claims", claims)
