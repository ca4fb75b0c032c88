#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""kill -9 of one of three servers every half second repeats no key."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_instances import kill_nine

prove("kill-nine", lambda checks, directory: kill_nine(checks, directory,
                                                       seconds=sized(60, 5)))
