#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Over RESP a key costs less of the server's CPU than an INCR costs redis-server.

The same redis-benchmark loads both, in turns, so that whatever slows the machine down slows both.
Each figure is a ratio within one round.
"""

import pathlib
import statistics
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "support"), str(TESTS.parent / "bench")]

# pylint: disable=wrong-import-position
from keymill_process import Server
from measure import CONNECTIONS, Cpu, Peer, redis
from proof import prove, sized

ROUNDS = 7
CONFIG = """
keyspaces:
  default: {kind: shuffled, alphabet: base62, length: 7}
  orders: {kind: sequence, alphabet: decimal}
"""
COMMANDS = (("INCR", "orders"), ("KEYMILL.MINT", "orders"), ("KEYMILL.MINT", "default"))
# Commands in flight on a connection, requests in a round, and the bar.
LOADS = ((64, 2_000_000, 0.6), (1, 200_000, 1.0))


def cpu_ns(peer, command, *, pipeline, requests):
    """Nanoseconds of the server's CPU time for one command."""
    with Cpu(peer.pid) as cpu:
        done = subprocess.run(
            ["redis-benchmark", "-p", str(peer.port), "-n", str(requests), "-P", str(pipeline),
             "-c", str(CONNECTIONS), "--csv", *command],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0 or "rror" in done.stdout + done.stderr:
        raise RuntimeError(f"redis-benchmark: {done.stdout}{done.stderr}")
    return cpu.seconds / requests * 1e9


def speed(checks, directory):
    figures = []
    with Server(directory, "--threads", "1", config=CONFIG, resp="127.0.0.1:0") as server, \
            redis() as rival:
        ours = Peer(server.pid, server.resp_port)
        for pipeline, requests, bar in LOADS:
            requests = sized(requests, 10_000)
            ratios = {command: [] for command in COMMANDS}
            for _ in range(ROUNDS):
                theirs = cpu_ns(rival, ("INCR", "orders"), pipeline=pipeline, requests=requests)
                for command in COMMANDS:
                    cost = cpu_ns(ours, command, pipeline=pipeline, requests=requests)
                    ratios[command].append(cost / theirs)
            for command, found in ratios.items():
                median = statistics.median(found)
                name = f"{' '.join(command)}, {pipeline} deep"
                checks.that(median <= bar, f"{name}: {median:.2f} of redis-server's CPU per INCR "
                            f"({min(found):.2f} to {max(found):.2f}), at most {bar}")
                figures.append(f"{name} {median:.2f}")
        server.stop()
    return "; ".join(figures)


prove("resp-speed", speed)
