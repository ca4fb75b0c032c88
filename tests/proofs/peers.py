#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The endpoints of other services answer in their bytes, errors included."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove
from scenario_peers import peers_bytes, segments
from store_fleet import make_folder


def everything(checks, directory):
    segments(checks, make_folder(directory, "segments"))
    return peers_bytes(checks, make_folder(directory, "bytes"))


prove("peers", everything)
