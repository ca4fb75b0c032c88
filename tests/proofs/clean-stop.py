#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A clean stop loses nothing, kill -9 at most the reservoir, and a restored backup is
noticed for as long as a witness lives."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_stops import (clean_stops, crashes, crashes_under_load, restored_then_stopped,
                            restored_then_used, restored_with_witness,
                            restored_without_witness)


def clean_stop(checks, directory):
    figures = []
    for scenario, sizes in ((clean_stops, {"cycles": sized(120, 6)}),
                            (crashes, {"cycles": sized(60, 6)}),
                            (crashes_under_load, {"cycles": sized(40, 4)}),
                            (restored_with_witness, {}), (restored_then_stopped, {}),
                            (restored_then_used, {}), (restored_without_witness, {})):
        folder = directory / scenario.__name__
        folder.mkdir()
        figures.append(scenario(checks, folder, **sizes))
    return "; ".join(figures)


prove("clean-stop", clean_stop)
