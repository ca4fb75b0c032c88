# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Single unit tests, run by what has to know that they ran."""

import json
import subprocess

from keymill_process import build_target


def unit_test_program(folder):
    """The program with the tests of src/FOLDER, built."""
    return build_target(f"{folder}_test") / "src" / folder / f"{folder}_test"


def run_unit_test(program, name, report):
    """(tests that ran, tests that passed, what the last of them has recorded)"""
    report.unlink(missing_ok=True)
    subprocess.run([program, f"--gtest_filter={name}", f"--gtest_output=json:{report}"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False)
    if not report.exists():
        return 0, 0, {}
    tests = [test for suite in json.loads(report.read_text(encoding="utf-8"))["testsuites"]
             for test in suite["testsuite"] if test["result"] == "COMPLETED"]
    return len(tests), sum("failures" not in test for test in tests), tests[-1] if tests else {}
