# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a proof and a test have in common: checks that are counted and said aloud.

A scenario takes a Checks and a directory. `prove` runs one as a proof, in full size;
ScenarioTest runs the same one as a test, in a small size.
"""

import os
import pathlib
import sys
import tempfile
import time
import traceback
import unittest


class Checks:
    """Collects what held and what did not."""

    def __init__(self, say=None):
        self.say = say or (lambda line: None)
        self.failures = []
        self.held = 0
        self.began = time.monotonic()

    def that(self, held, what):
        """`what` says what must hold, with its figures."""
        if held:
            self.held += 1
        else:
            self.failures.append(what)
        self.say(f"  {'ok  ' if held else 'FAIL'}  {what}")
        return held

    def note(self, line):
        self.say(f"        {line}")


def proof_scale():
    """MILL_PROOF_SCALE makes a trial run smaller. A proof is one at 1 only."""
    return float(os.environ.get("MILL_PROOF_SCALE", "1"))


def sized(count, least=1):
    return max(least, int(count * proof_scale()))


def prove(name, scenario):
    """Runs scenario(checks, directory), which returns its figures in a line, and exits."""
    def say(line):
        print(line, flush=True)

    checks = Checks(say)
    figures = ""
    with tempfile.TemporaryDirectory(prefix=f"keymill-{name}-") as directory:
        try:
            figures = scenario(checks, pathlib.Path(directory))
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            checks.that(False, f"the check ran to its end: {error}")
    seconds = time.monotonic() - checks.began
    small = "" if proof_scale() == 1 else f", at {proof_scale():g} of the size"
    outcome = "FAIL" if checks.failures else "PASS"
    print(f"{name}: {outcome} {figures or 'no figures'} ({seconds:.0f} s{small})", flush=True)
    sys.exit(1 if checks.failures else 0)


class ScenarioTest(unittest.TestCase):
    """A test with a directory of its own that can run a scenario."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="keymill-test-")
        self.addCleanup(folder.cleanup)
        self.directory = pathlib.Path(folder.name)

    def run_scenario(self, scenario, **sizes):
        checks = Checks()
        scenario(checks, self.directory, **sizes)
        self.assertEqual(checks.failures, [])
        self.assertGreater(checks.held, 0)
