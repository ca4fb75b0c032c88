#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""redis-cli, redis-benchmark, redis-py, redigo, ioredis and node-redis mint without a duplicate and
without a complaint."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_resp_clients import clients

prove("resp-clients", lambda checks, directory: clients(
    checks, directory, count=sized(100_000, 1000), with_npm=True))
