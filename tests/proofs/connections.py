#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Ten thousand idle connections cost little memory and no time."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_wire import connections

prove("connections", lambda checks, directory: connections(
    checks, directory, count=sized(10_000, 500), seconds=5, rounds=3))
