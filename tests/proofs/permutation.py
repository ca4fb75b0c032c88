#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Two numbers never give the same key: the shuffle is a permutation."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import build_program
from proof import prove, sized

KEYS = 100_000_000


def permutation(checks, _directory):
    program = build_program("permutation_proof")
    keys = sized(KEYS)
    figures = []
    with subprocess.Popen([str(program), "--keys", str(keys)], stdout=subprocess.PIPE,
                          text=True) as process:
        for line in process.stdout:
            part, _, said = line.strip().removeprefix("permutation: ").partition(" ")
            checks.that(said.endswith(": PASS"), f"{part} {said.strip()}")
            if part in ("keys", "domains"):
                figures.append(re.sub(r" in [0-9.]+ s: \w+$", "", said.strip()))
    checks.that(process.returncode == 0, f"permutation_proof exits with {process.returncode}")
    return "; ".join(figures)


prove("permutation", permutation)
