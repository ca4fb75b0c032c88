#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What others have published of these formats holds here: the tests of their examples exist, run
and pass."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove
from unit_tests import run_unit_test, unit_test_program

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
    ("Twitter's IdWorker", "mint", ("WorkerLineTest.RollsOverAsTwittersIdWorkerDoes",)),
    ("Discord and Instagram", "keys",
     ("ForeignSnowflakeTest.DecodesDiscordsExample",
      "ForeignSnowflakeTest.DecodesInstagramsExample")),
    ("base62 as others write it", "keys",
     ("CodecTest.SequencesAreWhatTheyAlwaysWere", "CodecTest.WritesNumbersAsOthersDo",
      "CodecTest.CountersThatCollideElsewhereGiveDifferentKeys")),
)


# Published cases that do not hold here, on purpose: whose, the test of what happens instead, and
# how it differs.
DEVIATIONS = (
    ("Twitter's IdWorker", "mint", "WorkerLineTest.GoesOnInItsUnitWhereTwittersIdWorkerRefuses",
     "a clock at 1, 0, 1 gives the sequences 0, 1; 2; 3 here, and 0, 1; an error; 2 there"),
)


def vectors(checks, directory):
    programs = {folder: unit_test_program(folder) for folder in {each[1] for each in VECTORS}}

    def passes(folder, name, what):
        ran, good, _ = run_unit_test(programs[folder], name, directory / "report.json")
        # A name that nobody has is no test that passed.
        return checks.that(ran == 1 and good == 1, f"{what}: {name} ({ran} ran, {good} passed)")

    passed = sum(passes(folder, name, whose)
                 for whose, folder, names in VECTORS for name in names)
    for whose, folder, name, how in DEVIATIONS:
        passes(folder, name, f"not as {whose}")
        checks.note(how)
    others = ", ".join(f"one of {whose}" for whose, *_ in DEVIATIONS)
    return f"{passed} tests of published examples passed; not followed, on purpose: {others}"


prove("vectors", vectors)
