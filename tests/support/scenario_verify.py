# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A duplicate in a file that is larger than the memory used to find it."""

import os
import subprocess
import time

from keymill_process import clean_environment, keymill_bin, run_keymill


def run_measured(*arguments, cwd):
    """Runs a verb; returns exit code, output and the most memory it had, in bytes."""
    # pylint: disable=consider-using-with
    process = subprocess.Popen([str(keymill_bin()), *map(str, arguments)], cwd=cwd,
                               env=clean_environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, output, usage.ru_maxrss * 1024


def planted_duplicate(checks, directory, *, keys, memory_matters=True):
    path = directory / "keys"
    began = time.monotonic()
    with open(path, "wb") as out:
        done = run_keymill("mint", "-n", keys, "--data-dir", directory / "data", cwd=directory,
                           stdout=out, timeout=3600)
    size = path.stat().st_size
    checks.that(done.returncode == 0 and size == 8 * keys,
                f"{keys:,} keys minted in {time.monotonic() - began:.1f} s, {size:,} bytes")

    began = time.monotonic()
    code, output, memory = run_measured("verify", path, cwd=directory)
    checks.that(code == 0 and f"{keys} distinct, 0 duplicates" in output,
                f"as minted: exit {code}, {output.strip().splitlines()[-1]}, "
                f"{time.monotonic() - began:.1f} s")

    # One line in the last tenth becomes a copy of one in the first.
    first, second = keys // 10, keys - keys // 20 - 1
    with open(path, "r+b") as file:
        file.seek(8 * first)
        key = file.read(7)
        file.seek(8 * second)
        file.write(key)
    began = time.monotonic()
    code, output, memory = run_measured("verify", path, cwd=directory)
    seconds = time.monotonic() - began
    said = (key.decode() in output and f"keys:{first + 1}" in output and
            f"keys:{second + 1}" in output)
    checks.that(code == 1 and said and "1 duplicate\n" in output,
                f"with one planted: exit {code}, “{output.strip().splitlines()[0]}”")
    if memory_matters:
        checks.that(memory < size, f"{memory >> 20} MiB of memory for a file of {size >> 20} MiB")
    return (f"1 duplicate in {keys:,} keys found with {memory >> 20} MiB for {size >> 20} MiB, "
            f"{seconds:.1f} s")
