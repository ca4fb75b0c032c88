#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A locked database stops nobody while the reservoir lasts, and hangs nobody afterwards; nor
does a locked or unwritable witness, or a full disk."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_full_disk import full_disk
from scenario_locked_store import locked_for_a_while, locked_for_good
from scenario_witness import frozen_peer, unwritable_witness


def locked_store(checks, directory):
    figures = []
    for scenario, sizes in ((locked_for_a_while, {"rate": sized(10_000, 1000), "seconds": 10}),
                            (locked_for_good, {}), (frozen_peer, {}),
                            (unwritable_witness, {"seconds": 5}),
                            (full_disk, {"rounds": sized(12, 4)})):
        folder = directory / scenario.__name__
        folder.mkdir()
        figures.append(scenario(checks, folder, **sizes))
    return "; ".join(figures)


prove("locked-store", locked_store)
