#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Starts a real server, runs the conformance suite against it, and stops it.

usage: on_server.py SERVER CONFORMANCE_TEST
"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from store_servers import start_server


def main():
    name, program = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix=f"keymill-{name}-") as directory:
        with start_server(name, pathlib.Path(directory)) as server:
            environment = {**os.environ, "KEYMILL_CONFORMANCE_URL": server.url("{}")}
            code = subprocess.run([program, "--gtest_brief=1"], env=environment,
                                  check=False).returncode
            if code != 0:
                print(server.log()[-5000:], file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
