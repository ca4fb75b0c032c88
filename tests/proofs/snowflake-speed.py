#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""In process, snowflake ids are made as fast as the format allows: 4,096 a millisecond for each
worker id."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import scenario_snowflake as snowflake
from proof import prove


def both(checks, directory):
    return "; ".join(snowflake.speed(checks, directory, workers=workers, seconds=10)
                     for workers in (1, 4))


prove("snowflake-speed", both)
