#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill bench` finds the one key in 10^7 that a server gave before, and exits 1."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_bench import planted_duplicate

prove("bench-finds-duplicate", lambda checks, directory: planted_duplicate(
    checks, directory, every=sized(10_000_000, 100_000)))
