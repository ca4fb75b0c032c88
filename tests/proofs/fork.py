#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A forked child of a program that embeds the library repeats no key."""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import build_program, duplicates
from proof import prove, sized

CHILDREN = 8


def fork(checks, directory):
    program = build_program("fork_mint")
    keys = sized(100_000, 1000)
    out = directory / "out"
    out.mkdir()
    done = subprocess.run([str(program), "--data-dir", str(directory / "data"), "--out", str(out),
                           "--children", str(CHILDREN), "--keys", str(keys)], check=False,
                          timeout=1800)
    checks.that(done.returncode == 0, f"fork_mint exits with {done.returncode}")
    figures = []
    for keyspace, kind in (("default", "shuffled"), ("counted", "sequence")):
        files = sorted(out.glob(f"{keyspace}.*"))
        found = duplicates(*files)
        checks.that(len(files) == CHILDREN + 1 and found["keys"] >= (CHILDREN + 1) * keys and
                    found["duplicate_keys"] == 0,
                    f"{kind}: {found['keys']:,} keys of {len(files)} processes, "
                    f"{found['duplicate_keys']} duplicates")
        figures.append(f"{kind} {found['keys']:,} keys, {found['duplicate_keys']} duplicates")
    return f"{CHILDREN} children and their parent: " + "; ".join(figures)


prove("fork", fork)
