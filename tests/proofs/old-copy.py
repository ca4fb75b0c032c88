#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""An old copy of a store's data is noticed before a key comes twice, on each of the five stores.

`--store=NAME` runs it on one of them.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_old_copy import STORES, old_copies

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--store", choices=STORES)
only = parser.parse_args().store

prove("old-copy", lambda checks, directory: old_copies(
    checks, directory, stores=[only] if only else STORES, rounds=sized(3)))
