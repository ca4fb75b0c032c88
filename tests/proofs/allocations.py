#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A request takes nothing from the heap."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_wire import allocations

prove("allocations", lambda checks, directory: allocations(
    checks, directory, requests=sized(1_000_000, 64_000)))
