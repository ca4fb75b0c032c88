#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A thousand million keys over one connection, in the memory of one piece."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_wire import stream

prove("stream", lambda checks, directory: stream(
    checks, directory, keys=sized(1_000_000_000, 10_000_000)))
