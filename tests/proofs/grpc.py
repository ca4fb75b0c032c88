#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Ten million keys to four gRPC clients, none twice; readers that stop; servers without gRPC."""

import pathlib
import sys

# Not the folder of this file: it has the name of the library.
sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1] / "support")

# pylint: disable=wrong-import-position
import scenario_grpc
from proof import prove, sized

MIB = 1024 * 1024


def everything(checks, directory):
    parts = []
    for name, run in (("streams", lambda place: scenario_grpc.streams(
                          checks, place, keys=sized(10_000_000, 100_000))),
                      ("stopped", lambda place: scenario_grpc.stopped_readers(
                          checks, place, readers=20, each_max=0.95 * MIB)),
                      ("without", lambda place: scenario_grpc.without(
                          checks, place, rss_max=20 * MIB))):
        place = directory / name
        place.mkdir()
        parts.append(run(place))
    return "; ".join(parts)


prove("grpc", everything)
