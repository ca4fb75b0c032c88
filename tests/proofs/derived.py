#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The same content has the same key for ever, and no other content has it, in a keyspace that is
nearly full and from instances that derive at once, on every store that can remember keys."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_derived import STORES, derived

prove("derived", lambda checks, directory: derived(checks, directory, stores=STORES,
                                                   contents=sized(1200, 40)))
