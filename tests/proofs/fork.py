#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A forked child of a program that embeds the library repeats no key, and outlives its parent."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import await_that, build_program, duplicates, run_keymill
from proof import prove, sized
from scenario_instances import freeze, holds_file_lock, task_states

CHILDREN = 8
AIM_SECONDS = 60
END_SECONDS = 60


def fork_mint(directory, *flags):
    out = directory / "out"
    out.mkdir()
    command = [build_program("fork_mint"), "--data-dir", directory / "data", "--out", out, *flags]
    return [str(word) for word in command], out


def all_mint(checks, directory, *, keys):
    """Parent and children mint at the same time."""
    command, out = fork_mint(directory, "--children", CHILDREN, "--keys", keys)
    done = subprocess.run(command, check=False, timeout=1800)
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


def kill_inside_update(parent, lock_file):
    """Stops the parent and lets it go until it holds the lock of the witness; then kill -9."""
    end = time.monotonic() + AIM_SECONDS
    while True:
        freeze(parent.pid)
        inside = lock_file.exists() and holds_file_lock(parent.pid, lock_file)
        if inside or time.monotonic() > end or parent.poll() is not None:
            break
        os.kill(parent.pid, signal.SIGCONT)
        time.sleep(0.0007)
    parent.kill()
    parent.wait()
    return inside


def alive(pid):
    with contextlib.suppress(FileNotFoundError):
        return any(state not in "ZX" for state in task_states(pid))
    return False


def whole_lines(path):
    """What a killed process left, without the line that it was writing."""
    text = path.read_bytes()
    path.write_bytes(text[:text.rfind(b"\n") + 1])


def parent_dies(checks, directory, *, keys, children=3):
    """The parent dies inside an update of the witness: the children and others go on."""
    command, out = fork_mint(directory, "--children", children, "--keys", keys, "--length", 4)
    with subprocess.Popen(command) as parent:
        listed = pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        await_that(lambda: len(listed.read_text().split()) == children, "all children are there")
        pids = [int(pid) for pid in listed.read_text().split()]
        try:
            await_that((out / "counted.0").exists, "the parent has its first keys")
            inside = kill_inside_update(parent, directory / "data/witness.lock")
            orphans = sum(map(alive, pids))
            checks.that(inside and orphans == children, "the parent dies inside an update of the "
                        f"witness: {inside}, with {orphans} of {children} children at work")
            began = time.monotonic()
            with contextlib.suppress(RuntimeError):
                await_that(lambda: not any(map(alive, pids)), "the children end", END_SECONDS)
            hanging = sum(map(alive, pids))
            checks.that(hanging == 0, f"{hanging} of {children} children hang; "
                        f"{time.monotonic() - began:.1f} s after the parent")
            minted = mint_beside(checks, directory)
        finally:
            for pid in filter(alive, pids):
                os.kill(pid, signal.SIGKILL)
    for keyspace in ("default", "counted"):
        files = [out / f"{keyspace}.{process}" for process in range(children + 1)]
        files = [file for file in files if file.exists()]
        for file in files:
            whole_lines(file)
        lines = [len(file.read_bytes().splitlines()) for file in files]
        (out / f"{keyspace}.later").write_text("".join(minted[keyspace]), encoding="utf-8")
        found = duplicates(*files, out / f"{keyspace}.later")
        checks.that(lines[1:] == [keys] * children and found["duplicate_keys"] == 0,
                    f"{keyspace}: {found['keys']:,} keys, of the children "
                    f"{', '.join(map(str, lines[1:]))}, {found['duplicate_keys']} duplicates")
    return f"{children} children of a parent that died inside an update: {hanging} hang"


def mint_beside(checks, directory):
    """What `keymill mint` gives afterwards, by keyspace."""
    minted = {}
    for keyspace in ("default", "counted"):
        try:
            done = run_keymill("mint", keyspace, "-n", 100, "--data-dir", directory / "data",
                               cwd=directory, timeout=40)
            code, minted[keyspace] = done.returncode, done.stdout.splitlines(keepends=True)
        except subprocess.TimeoutExpired:
            code, minted[keyspace] = "no code: it hangs", []
        checks.that(code == 0 and len(minted[keyspace]) == 100,
                    f"keymill mint {keyspace} exits with {code}, {len(minted[keyspace])} keys")
    return minted


def fork(checks, directory):
    figures = []
    for scenario, sizes in ((all_mint, {"keys": sized(100_000, 1000)}),
                            (parent_dies, {"keys": sized(300_000, 100_000)})):
        folder = directory / scenario.__name__
        folder.mkdir()
        figures.append(scenario(checks, folder, **sizes))
    return "; ".join(figures)


prove("fork", fork)
