#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill store copy` through all stores, under load and often killed, repeats no key."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_store_copy import store_copy

prove("store-copy", lambda checks, directory: store_copy(
    checks, directory, servers=("postgres", "etcd", "mariadb", "redis"),
    rows=sized(20_000, 600), kills=sized(20, 2)))
