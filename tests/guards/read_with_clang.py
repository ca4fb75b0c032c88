#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Has clang read every source of src that is no test, as BUILD/compile_commands.json says, without
making anything of it: for its warnings, which are errors.

usage: read_with_clang.py BUILD JOBS
"""

import concurrent.futures
import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(entry):
    """What clang says of one source; "" when it has nothing to say."""
    words = shlex.split(entry["command"])
    if pathlib.Path(words[0]).name == "ccache":
        words = words[1:]
    at = words.index("-o")
    done = subprocess.run(words[:at] + words[at + 2:] + ["-fsyntax-only"], cwd=entry["directory"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout if done.returncode != 0 else ""


def main(build, jobs):
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text("utf-8"))
    entries = [entry for entry in commands
               if pathlib.Path(entry["file"]).is_relative_to(ROOT / "src")
               and not entry["file"].endswith("_test.cc")]
    with concurrent.futures.ThreadPoolExecutor(int(jobs)) as pool:
        said = [text for text in pool.map(read, entries) if text]
    for text in said:
        print(text, file=sys.stderr)
    print(f"clang: {len(entries)} sources read, {len(said)} with findings", file=sys.stderr)
    return 1 if said or not entries else 0


sys.exit(main(*sys.argv[1:]))
