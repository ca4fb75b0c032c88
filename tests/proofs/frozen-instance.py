#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""An instance that is frozen inside its transaction holds up the others for seconds, and repeats
no key when it goes on."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_frozen_instance import frozen_instance
from store_fleet import SERVERS, make_folder


def on_all(checks, directory):
    return "; ".join(frozen_instance(checks, make_folder(directory, store), store=store,
                                     rounds=sized(10, 2)) for store in SERVERS)


prove("frozen-instance", on_all)
