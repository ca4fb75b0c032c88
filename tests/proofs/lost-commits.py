#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A link that is cut between COMMIT and its answer costs a block, and never a key twice."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_lost_commits import lost_commits
from store_fleet import SQL_SERVERS, make_folder


def both(checks, directory):
    return "; ".join(lost_commits(checks, make_folder(directory, store), store=store,
                                  cuts=sized(200, 10)) for store in SQL_SERVERS)


prove("lost-commits", both)
