#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A wake-up of the event loop costs one read and one write."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_wire import system_calls

prove("system-calls", lambda checks, directory: system_calls(
    checks, directory, turns=sized(5000, 500)))
