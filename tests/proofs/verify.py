#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill verify` finds one duplicate in 10^8 keys with less memory than the file."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import proof_scale, prove, sized
from scenario_verify import planted_duplicate

# A small file may well be smaller than the table that is made for a large one.
prove("verify", lambda checks, directory: planted_duplicate(
    checks, directory, keys=sized(100_000_000), memory_matters=proof_scale() >= 1))
