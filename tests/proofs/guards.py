#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Every rule that runs as a test notices when this tree breaks it: includes, headers alone, dead
files, links, and the example of the configuration."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove
from scenario_mutations import mutations

prove("guards", mutations)
