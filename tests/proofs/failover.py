#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A synchronous standby of PostgreSQL takes over under load and repeats no key."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_failover import failover

prove("failover", lambda checks, directory: failover(checks, directory,
                                                     promotions=sized(20, 2)))
