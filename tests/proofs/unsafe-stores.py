#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A server that could lose acknowledged blocks is refused with the command that mends it."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import proof_scale, prove
from scenario_unsafe_stores import unsafe_stores

# What takes minutes is left out of a trial.
prove("unsafe-stores", lambda checks, directory: unsafe_stores(checks, directory,
                                                               later=proof_scale() >= 1))
