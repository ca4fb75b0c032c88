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
from unit_tests import run_unit_test, unit_test_program


def simulated(checks, directory):
    ran, good, told = run_unit_test(unit_test_program("mint"),
                                    "SnowflakeSimulationTest.NoClockMakesAnIdTwice",
                                    directory / "report.json")
    cases, ids = int(told.get("cases", 0)), int(told.get("ids", 0))
    checks.that(ran == 1 and good == 1 and cases >= 10_000, f"{cases:,} simulated cases, {ids:,} "
                f"ids ({ran} ran, {good} passed)")
    return f"{cases:,} simulated cases, {ids:,} ids, {'0 duplicates' if good else 'FAILED'}"


def all_of_it(checks, directory):
    figures = []

    def run(name, scenario, **options):
        figures.append(scenario(checks, make_folder(directory, name), **options))

    for store, workers, keys in (("sqlite", 1, 100_000_000), ("postgres", 4, 10_000_000)):
        run(f"many-{store}", snowflake.mint_many, store=store, threads=8, instances=4,
            workers=workers, keys=sized(keys, 100_000))
    run("simulated", simulated)
    for store, rounds in (("sqlite", 3), ("postgres", 1)):
        run(f"steps-{store}", snowflake.clock_steps, store=store, rounds=sized(rounds))
    run("worker", snowflake.one_worker, rounds=sized(2))
    run("ahead", snowflake.clock_ahead)
    for store in ("sqlite", "postgres"):
        run(f"frozen-{store}", snowflake.frozen, store=store, rounds=sized(5))
    for store in ("sqlite", "postgres"):
        run(f"ordinal-{store}", snowflake.one_ordinal, store=store, rounds=sized(5))
        run(f"crashes-{store}", snowflake.crashes, store=store, rounds=sized(10))
    return "; ".join(figures)


prove("snowflake", all_of_it)
