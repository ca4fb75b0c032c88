#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Unit and integration tests under ASan, UBSan and TSan, and the HTTP fuzz target: nothing."""

import re
import subprocess
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import ROOT, clean_environment
from proof import prove, sized

REPORT = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:)")


def dev(*arguments):
    """Runs ./dev; returns its exit code and everything that it said."""
    done = subprocess.run([str(ROOT / "dev"), *arguments], env=clean_environment(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def sanitizers(checks, _directory):
    figures = []
    for preset in ("asan", "tsan"):
        code, said = dev("sanitize", preset)
        reports = len(REPORT.findall(said))
        summary = re.search(r"\d+% tests passed.*", said)
        checks.that(code == 0 and reports == 0 and summary is not None,
                    f"{preset}: exit {code}, {reports} reports, "
                    f"{summary.group(0) if summary else 'no summary'}")
        if code != 0:
            print(said[-6000:])
        figures.append(f"{preset} {reports} reports")
    seconds = sized(60, 5)
    code, said = dev("fuzz", "http", str(seconds))
    runs = re.search(r"(\d+) runs, no finding", said)
    checks.that(code == 0 and runs is not None, f"the HTTP fuzz target ran {seconds} s: exit "
                f"{code}, {said.strip().splitlines()[-1]}")
    figures.append(f"{int(runs.group(1)) if runs else 0:,} fuzz runs in {seconds} s")
    return ", ".join(figures)


prove("sanitizers", sanitizers)
