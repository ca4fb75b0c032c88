#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Every speed that is promised, as a ratio to something that was measured in the same round."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS.parent / "bench")]

# pylint: disable=wrong-import-position
import report
import run
from proof import proof_scale, prove
from speed_rows import Sizes


def speed(checks, _):
    results = run.measured(Sizes.scaled(proof_scale()), checks.note)
    for row in results["rows"]:
        if report.held(row) is None:
            checks.note(report.line(row) + (f"; {row['note']}" if row["note"] else ""))
        else:
            checks.that(report.held(row), report.line(row))
    for what, text in results["run"].items():
        checks.note(f"{what}: {text}")
    return "; ".join(f"{row['name']} {report.figure_text(row, report.median(row))} "
                     f"({report.spread_text(row)})" for row in results["rows"])


prove("speed", speed)
