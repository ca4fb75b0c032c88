#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Three servers started with nothing but PORT share a database and repeat no key."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import ROOT
from proof import prove, sized
from scenario_instances import three_instances

prove("three-instances", lambda checks, directory: three_instances(
    checks, directory, connections=2000, requests=sized(5_000_000, 10_000), p95_ms=200,
    command=[str(ROOT / "dev"), "serve"]))
