#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Flags beat the environment, which beats the file, which beats defaults, for every setting."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_precedence import precedence

prove("precedence", lambda checks, directory: precedence(checks, directory, mixes=sized(200)))
