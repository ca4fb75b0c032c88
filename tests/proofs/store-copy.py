#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill store copy` through all stores, under load and often killed, repeats no key."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_store_copy import store_copy
from store_fleet import make_folder


def both(checks, directory):
    numbers = store_copy(checks, make_folder(directory, "numbers"),
                         servers=("postgres", "etcd", "mariadb", "redis"),
                         rows=sized(20_000, 600), kills=sized(20, 2))
    keys = store_copy(checks, make_folder(directory, "keys"),
                      servers=("postgres", "mariadb", "redis"), rows=sized(2_000, 600),
                      kills=sized(10, 2), remembers=True)
    return f"{numbers}; {keys}"


prove("store-copy", both)
