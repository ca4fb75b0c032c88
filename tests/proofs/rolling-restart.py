#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Restarts with SIGTERM, in turn, of two instances behind nginx lose no request."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_rolling_restart import idle_pool, rolling_restart


def rolling_restarts(checks, directory):
    figures = []
    for retry in (False, True):
        folder = directory / ("retried" if retry else "plain")
        folder.mkdir()
        figures.append(rolling_restart(checks, folder, restarts=sized(10), retry=retry))
    folder = directory / "pool"
    folder.mkdir()
    figures.append(idle_pool(checks, folder, stops=sized(20)))
    return "; ".join(figures)


prove("rolling-restart", rolling_restarts)
