#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What others have published of these formats holds here: the tests of their examples exist, run
and pass."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import build_target
from proof import prove

# Whose examples, and the tests of each program that hold them.
VECTORS = (
    ("RFC 9562, appendices A and B", "keys",
     ("UuidTest.ReadsTheExamplesOfTheRfc", "UuidTest.TellsTheTimeOfVersions1And6And7",
      "UuidTest.ComposesTheRfcsVersion7",
      "UuidTest.ComposesTheRfcsVersion4WhateverStandsInItsFixedBits")),
    ("the specification of ULID", "keys",
     ("UlidTest.ReadsThePublishedExamples", "UlidTest.TheLargestIsAllOnes",
      "UlidTest.RefusesMoreThan128Bits", "UlidGeneratorTest.AddsOneWithinAMillisecond",
      "UlidGeneratorTest.RefusesToPassTheEdgeOfTheRandomPart")),
    ("Crockford's check symbols", "keys",
     ("CheckSymbolTest.CrockfordAgreesWithPublishedValues",
      "CheckSymbolTest.CrockfordUsesAllThirtySevenSymbols")),
    ("ISO 7064", "keys", ("CheckSymbolTest.HybridAgreesWithPublishedValues",)),
    ("NIST SP 800-38G", "keys", ("Ff1Test.GivesThePublishedSamplesOnEachPath",)),
    ("Leaf's decoder", "keys",
     ("SnowflakeLayoutTest.AgreesWithLeafsExample", "ForeignSnowflakeTest.DecodesLeafsExample")),
    ("Twitter's IdWorker", "keys",
     ("SnowflakeLayoutTest.AgreesWithTwittersMasks",
      "ForeignSnowflakeTest.DividesTwittersWorkerByItsMasks")),
    ("Twitter's IdWorker", "mint", ("WorkerLineTest.AgreesWithTwittersIdWorker",)),
    ("Discord and Instagram", "keys",
     ("ForeignSnowflakeTest.DecodesDiscordsExample",
      "ForeignSnowflakeTest.DecodesInstagramsExample")),
    ("base62 as others write it", "keys",
     ("CodecTest.SequencesAreWhatTheyAlwaysWere", "CodecTest.WritesNumbersAsOthersDo",
      "CodecTest.CountersThatCollideElsewhereGiveDifferentKeys")),
)


def run_test(program, name, report):
    """(tests that ran, tests that passed)"""
    report.unlink(missing_ok=True)
    subprocess.run([program, f"--gtest_filter={name}", f"--gtest_output=json:{report}"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, check=False)
    if not report.exists():
        return 0, 0
    tests = [test for suite in json.loads(report.read_text(encoding="utf-8"))["testsuites"]
             for test in suite["testsuite"] if test["result"] == "COMPLETED"]
    return len(tests), sum("failures" not in test for test in tests)


def vectors(checks, directory):
    programs = {folder: build_target(f"{folder}_test") / "src" / folder / f"{folder}_test"
                for folder in {folder for _, folder, _ in VECTORS}}
    passed = 0
    for whose, folder, names in VECTORS:
        for name in names:
            ran, good = run_test(programs[folder], name, directory / "report.json")
            # A name that nobody has is no test that passed.
            checks.that(ran == 1 and good == 1, f"{whose}: {name} ({ran} ran, {good} passed)")
            passed += good
    return f"{passed} tests of published examples passed"


prove("vectors", vectors)
