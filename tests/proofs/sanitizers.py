#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Unit and integration tests under ASan, UBSan and TSan, and the HTTP fuzz target: nothing.

Only the tests that fork with threads are not part of the sanitizers' builds, because GCC's
runtimes do not survive that; they run in the release build. No other test may be left out."""

import re
import subprocess
import sys
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from ctest_log import count_tests
from keymill_process import ROOT, clean_environment
from proof import prove, sized

REPORT = re.compile(r"(ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:)")
LEFT_OUT = re.compile(r"\*\*\*(?:Skipped|Not Run)")
FORK_TESTS = "MillFork*"


def dev(*arguments, env=None):
    """Runs ./dev; returns its exit code and everything that it said."""
    done = subprocess.run([str(ROOT / "dev"), *arguments], env=clean_environment(env),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def last_tests(preset):
    path = ROOT / "build" / preset / "Testing/Temporary/LastTest.log"
    return count_tests(path.read_text(encoding="utf-8", errors="replace"))


def fork_tests_in(programs):
    """How many of the fork tests these programs have."""
    listed = 0
    for program in programs:
        if program.endswith("_test"):
            done = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={FORK_TESTS}"],
                                  stdout=subprocess.PIPE, text=True, check=True)
            listed += len(re.findall(r"^  \w", done.stdout, re.MULTILINE))
    return listed


def sanitized(checks, preset):
    code, said = dev("sanitize", preset)
    reports = len(REPORT.findall(said))
    summary = re.search(r"\d+% tests passed.*", said)
    checks.that(code == 0 and reports == 0 and summary is not None,
                f"{preset}: exit {code}, {reports} reports, "
                f"{summary.group(0) if summary else 'no summary'}")
    if code != 0:
        print(said[-6000:])
    tests = last_tests(preset)
    programs = re.search(r"tests failed out of (\d+)", said)
    left_out = len(LEFT_OUT.findall(said))
    checks.that(programs is not None and len(tests.programs) == int(programs.group(1)) and
                not tests.silent and left_out == 0,
                f"{preset}: {len(tests.programs)} programs, {left_out} left out, without a count "
                f"of tests: {tests.silent or 'none'}")
    checks.that(tests.ran > 0 and tests.skipped == 0,
                f"{preset}: {tests.ran} tests ran, {tests.skipped} skipped")
    forks = fork_tests_in(tests.programs)
    checks.that(forks == 0, f"{preset}: {forks} tests that fork with threads")
    return f"{preset} {tests.ran} tests, {tests.skipped} skipped, {reports} reports"


def forks_in_release(checks):
    code, said = dev("test", "-L", "unit", env={"GTEST_FILTER": FORK_TESTS})
    tests = last_tests("release")
    if not checks.that(code == 0 and tests.ran > 0 and tests.skipped == 0,
                       f"release: exit {code}, {tests.ran} tests that fork with threads ran, "
                       f"{tests.skipped} skipped"):
        print(said[-6000:])
    return f"{tests.ran} fork tests in the release build only"


def sanitizers(checks, _directory):
    figures = [sanitized(checks, preset) for preset in ("asan", "tsan")]
    figures.append(forks_in_release(checks))
    seconds = sized(60, 5)
    code, said = dev("fuzz", "http", str(seconds))
    runs = re.search(r"(\d+) runs, no finding", said)
    checks.that(code == 0 and runs is not None, f"the HTTP fuzz target ran {seconds} s: exit "
                f"{code}, {said.strip().splitlines()[-1]}")
    figures.append(f"{int(runs.group(1)) if runs else 0:,} fuzz runs in {seconds} s")
    return ", ".join(figures)


prove("sanitizers", sanitizers)
