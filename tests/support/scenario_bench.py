# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A server that repeats a key, and the load generator that must notice."""

import json
import subprocess

from keymill_process import build_program, run_keymill


class RepeatingServer:
    """repeating_server as a context manager; `.port` is where it listens."""

    def __init__(self, every):
        self.every = every
        self.process = None
        self.port = None

    def __enter__(self):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [str(build_program("repeating_server")), "--repeat-every", str(self.every)],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def bench(directory, *arguments, timeout=600):
    """Runs `keymill bench -o json`; returns its exit code, its report and its messages."""
    done = run_keymill("bench", "-o", "json", *arguments, cwd=directory, timeout=timeout)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


def planted_duplicate(checks, directory, *, every):
    """One key in `every` is a repeat: found in memory, found on disk, and not made up."""
    load = ("-n", every, "--pipeline", 32, "--no-live")
    # The server counts on between the two runs, so the second one's repeat is another key.
    with RepeatingServer(every) as server:
        for memory, where in (("2G", "in memory"), ("16M", "mostly on disk")):
            code, report, said = bench(directory, server.url, *load, "--memory", memory)
            found = report["duplicates"]
            keys = [example["key"] for example in found["examples"]]
            checks.that(report["keys"] == every and report["errors"]["total"] == 0,
                        f"{where}: {report['keys']:,} keys at {report['keys_per_second']:,.0f}/s")
            checks.that(code == 1 and found["count"] == 1 and len(keys) == 1,
                        f"{where}: exit {code}, {found['count']} duplicate: {keys}")
            checks.that("1 duplicates" in said, f"{where}: “{said.strip().splitlines()[-1]}”")
    with RepeatingServer(0) as server:
        code, report, _ = bench(directory, server.url, *load)
        checks.that(code == 0 and report["duplicates"]["count"] == 0,
                    f"none planted: exit {code}, {report['duplicates']['count']} duplicates among "
                    f"{report['keys']:,} keys")
    return f"1 duplicate in {every:,} keys found, in memory and on disk; none made up"
