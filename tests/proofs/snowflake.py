#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""No snowflake id comes twice: from many threads and instances, whatever the clock does, after
sleep, with one ordinal twice; and a crash costs less than a second."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import scenario_snowflake as snowflake
from proof import prove, sized
from store_fleet import make_folder


def all_of_it(checks, directory):
    figures = []

    def run(name, scenario, **options):
        figures.append(scenario(checks, make_folder(directory, name), **options))

    for store, keys in (("sqlite", 100_000_000), ("postgres", 10_000_000)):
        run(f"many-{store}", snowflake.mint_many, store=store, threads=8, instances=4,
            keys=sized(keys, 100_000))
    run("steps", snowflake.clock_steps, rounds=sized(3))
    run("worker", snowflake.one_worker, rounds=sized(2))
    run("ahead", snowflake.clock_ahead)
    for store in ("sqlite", "postgres"):
        run(f"frozen-{store}", snowflake.frozen, store=store, rounds=sized(5))
    run("ordinal", snowflake.one_ordinal, rounds=sized(5))
    run("crashes", snowflake.crashes, rounds=sized(10))
    return "; ".join(figures)


prove("snowflake", all_of_it)
