#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Clients of the RESP port that never read, drip or wait are cut off, and cost little until then;
commands mean the same wherever they are split, and a fuzzer finds nothing."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_resp_hardening import hardening

prove("resp-hardening", lambda checks, directory: hardening(
    checks, directory, clients=sized(20, 2), seconds=sized(60, 5)))
