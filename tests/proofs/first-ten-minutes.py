#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a new user types first is answered as tests/golden/first-ten-minutes.txt says.

With --update the answers of this run are kept there instead.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove
from scenario_first_ten_minutes import first_ten_minutes

if sys.argv[1:] not in ([], ["--update"]):
    sys.exit("usage: ./dev prove first-ten-minutes [--update]")
prove("first-ten-minutes", lambda checks, directory: first_ten_minutes(
    checks, directory, update=bool(sys.argv[1:])))
