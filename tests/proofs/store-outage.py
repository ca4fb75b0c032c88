#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The server of the store is killed, and frozen, for half a minute; no request fails."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_store_outage import store_outage
from store_fleet import SERVERS, make_folder


def on_all(checks, directory):
    return "; ".join(store_outage(checks, make_folder(directory, store), store=store,
                                  instances=4, rate=sized(10_000, 2000), seconds=sized(30, 5))
                     for store in SERVERS)


prove("store-outage", on_all)
