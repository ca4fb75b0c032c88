#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""kill -9 of instances and of their store's server repeats no key, on each of the four servers.

`--server=NAME` runs it on one of them.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove, sized
from scenario_server_kills import SERVERS, all_servers

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--server", choices=list(SERVERS))
only = parser.parse_args().server

prove("server-kills", lambda checks, directory: all_servers(
    checks, directory, servers=[only] if only else list(SERVERS), kills=sized(200, 8),
    server_kills=sized(20, 2), keys=sized(25_000_000)))
