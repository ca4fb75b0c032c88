#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""1,000 requests with an Idempotency-Key, each sent three times through a proxy that cuts replies:
1,000 distinct answers."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_retries import idempotent_retry
from store_fleet import make_folder


def idempotent_retries(checks, directory):
    return "; ".join(
        idempotent_retry(checks, make_folder(directory, f"on-{store}"), store=store,
                         instances=instances, requests=sized(1000, 20))
        for store, instances in (("postgres", 2), ("mariadb", 2), ("redis", 2), ("sqlite", 1)))


prove("idempotent-retry", idempotent_retries)
