#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Programs in another directory, built against the installed library, mint without duplicates."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import build_target
from proof import prove, sized
from scenario_library import mint_with_examples


def library(checks, directory):
    build_target("libkeymill")
    return mint_with_examples(checks, directory, keys=sized(1_000_000, 1000))


prove("library", library)
