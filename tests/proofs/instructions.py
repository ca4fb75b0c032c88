#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A request takes as many instructions as bench/instructions.json says, within 5 %.

With --update the counts are kept there and in docs/benchmarks.md instead.
"""

import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS.parent / "bench")]

# pylint: disable=wrong-import-position
import callgrind
import report
import run
from proof import prove

TOLERANCE = 0.05
SHOWN = 12
HINT = ("more is a loss, less a gain that should be kept: explain it in the commit and update "
        "the file with `./dev prove instructions --update`")


def show(checks, profile):
    """Where the instructions go. Functions that hold all others say nothing."""
    for title, costs in (("own", profile.own), ("with what it calls", profile.inclusive)):
        checks.note(f"  {title}:")
        parts = [item for item in costs.items() if item[1] < 0.97 * profile.total]
        for function, cost in parts[:SHOWN]:
            checks.note(f"  {cost:10,.1f} {cost / profile.total:6.1%}  {function}")


def keep(counts):
    run.INSTRUCTIONS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    page = run.PAGE.read_text(encoding="utf-8")
    run.PAGE.write_text(report.put_between(
        page, "instructions", report.instructions_markdown(counts)), encoding="utf-8")


def instructions(checks, directory, update):
    kept = {}
    if run.INSTRUCTIONS.exists():
        kept = json.loads(run.INSTRUCTIONS.read_text(encoding="utf-8"))
    counts = {}
    for name, case in callgrind.CASES.items():
        (directory / name).mkdir()
        profile = callgrind.count(directory / name, case)
        counts[name] = {
            "title": case.title, "instructions": round(profile.total),
            "where": [[function, round(cost)]
                      for function, cost in list(profile.own.items())[:SHOWN]]}
        before = kept.get(name, {}).get("instructions")
        change = profile.total / before - 1 if before else 0
        what = f"{case.title}: {profile.total:,.0f} instructions"
        if before:
            what += f", {change:+.1%} of the {before:,} that are kept"
        if update:
            checks.that(True, f"{what}; now kept")
        else:
            checks.that(before and abs(change) <= TOLERANCE,
                        what if before and abs(change) <= TOLERANCE else f"{what}; {HINT}")
        show(checks, profile)
    if update:
        keep(counts)
    return "instructions: " + "; ".join(
        f"{count['instructions']:,} for {count['title']}" for count in counts.values())


if sys.argv[1:] not in ([], ["--update"]):
    sys.exit("usage: ./dev prove instructions [--update]")
prove("instructions", lambda checks, directory: instructions(
    checks, directory, update=bool(sys.argv[1:])))
