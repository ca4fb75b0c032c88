#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Under full load from exec on, in an empty directory, nobody waits long, and soon nobody."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_cold_start import cold_start


def cold_starts(checks, directory):
    figures = []
    for threads in (1, 2):
        for turn in range(sized(3)):
            folder = directory / f"{threads}-{turn}"
            folder.mkdir()
            figures.append(cold_start(checks, folder, threads=threads, seconds=15))
    return "; ".join(figures)


prove("cold-start", cold_starts)
