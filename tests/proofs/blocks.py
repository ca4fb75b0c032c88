#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Four clients that borrow blocks and give the rest back, on instances that are killed, use no
number twice; nor does anybody who mints beside them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_blocks import lending
from store_fleet import built_stores, make_folder

STORES = ("sqlite", "postgres", "mariadb", "redis", "etcd")


def blocks(checks, directory):
    figures = []
    for store in STORES:
        if store not in built_stores():
            continue
        keyspace = "odd" if store == "sqlite" else "orders"
        figures.append(lending(checks, make_folder(directory, f"on-{store}"), store=store,
                               keyspace=keyspace, seconds=sized(30, 4)))
    return "; ".join(figures)


prove("blocks", blocks)
