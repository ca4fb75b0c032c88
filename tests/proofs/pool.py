#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A pool of two million keys, drained by four instances with random kill -9: no key comes twice,
what was acknowledged is marked used, and a second fill makes no used key anew.

`--store=NAME` runs it on one store.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_pool import drain
from store_fleet import make_folder

STORES = ("sqlite", "postgres", "mariadb", "redis")
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--store", choices=STORES)
only = parser.parse_args().store


def all_stores(checks, directory):
    figures = []
    for store in [only] if only else STORES:
        figures.append(drain(checks, make_folder(directory, f"{store}-batch"), store=store,
                             audit="batch", keys=sized(2_000_000, 20_000), kills=sized(40, 8),
                             all_every=sized(20, 4)))
        figures.append(drain(checks, make_folder(directory, f"{store}-key"), store=store,
                             audit="key", keys=sized(200_000, 30_000), kills=sized(40, 8)))
    return "; ".join(figures)


prove("pool", all_stores)
