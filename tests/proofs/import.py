#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Whatever a keyspace takes over from, it gives out none of the keys that were given out there."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_import import imports

prove("import", lambda checks, directory: imports(
    checks, directory, count=sized(1_000_000, 10_000), ids=sized(100_000, 1000),
    codes=sized(1_000_000, 100_000), counters=sized(1_000_000, 10_000)))
