#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What the documents tell a reader to do works, their links lead somewhere, and Prometheus has
nothing to say against the metrics."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from proof import prove
from scenario_documents import all_documents

prove("documents", all_documents)
