# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Trouble with the witness: a peer that keeps it locked, a file that cannot be written."""

import concurrent.futures
import contextlib
import fcntl
import os
import subprocess
import time

from keymill_process import Server, await_that, read_database, run_keymill
from scenario_locked_store import timed

REQUEST_TIMEOUT = 1.0
SHUTDOWN_TIMEOUT = 3.0
MINT_SECONDS = 35
SMALL_BLOCK = 5


@contextlib.contextmanager
def locked_witness(directory):
    """Another process that was stopped inside an update, for all that anybody can see."""
    descriptor = os.open(directory / "data/witness.lock", os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def drain(server, clients):
    """Empties the reservoir and goes on asking. Returns keys, and (answer, seconds) of all."""
    keys, answers = [], []
    while not answers or answers[-1][0].status == 200 and len(answers) < 20_000:
        answers.append(timed(server, "/get-key"))
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        answers += pool.map(lambda _: timed(server, "/get-key"), range(clients))
    keys += [answer.text for answer, _ in answers if answer.status == 200]
    return keys, answers


def mint_in(directory):
    """`keymill mint` beside the lock: exit code or None, seconds, and what it said."""
    began = time.monotonic()
    try:
        done = run_keymill("mint", cwd=directory, timeout=MINT_SECONDS)
        code, said = done.returncode, done.stderr.strip()
    except subprocess.TimeoutExpired:
        code, said = None, "nothing, it hangs"
    return code, time.monotonic() - began, said


def frozen_peer(checks, directory, *, slack=1.0, clients=20):
    """Nobody waits for the peer for longer than for anything else."""
    # In the file, so that `keymill mint` is bound by it too.
    config = (f"block_size: 50\nblock_growth: off\nrunway_target: 1s\nrequest_timeout: "
              f"{REQUEST_TIMEOUT:g}s\nshutdown_timeout: {SHUTDOWN_TIMEOUT:g}s\n")
    server = Server(directory, config=config)
    with server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        keys = server.mint(count=10)
        with locked_witness(directory):
            mint = pool.submit(mint_in, directory)
            more, answers = drain(server, clients)
            keys += more
            odd = [repr(answer) for answer, _ in answers if answer.status != 200 and
                   not (answer.status == 503 and int(answer.headers.get("Retry-After", 0)) > 0)]
            slowest = max(seconds for _, seconds in answers)
            checks.that(not odd and len(more) < len(answers) and
                        slowest <= REQUEST_TIMEOUT + slack,
                        f"a peer locks the witness: {len(more)} of {len(answers)} requests get a "
                        f"key, the others 503 {odd or ''}, the slowest after {slowest:.2f} s")
            alive, seconds = timed(server, "/livez")
            checks.that(alive.status == 200 and seconds < slack,
                        f"/livez says {alive.status} after {seconds * 1000:.0f} ms")
            began = time.monotonic()
            server.terminate()
            try:
                code = server.wait(SHUTDOWN_TIMEOUT + slack)
            except subprocess.TimeoutExpired:
                code = None
            stopped = time.monotonic() - began
            checks.that(code is not None and code >= 0, "a stop ends with "
                        f"{'nothing, it hangs' if code is None else code}, {stopped:.2f} s")
            code, seconds, said = mint.result()
            checks.that(code == 1 and seconds < MINT_SECONDS and said,
                        f"keymill mint exits with {code} after {seconds:.1f} s, “{said}”")
    with Server(directory) as again:
        keys += again.mint(count=1000)
        again.stop()
    repeated = len(keys) - len(set(keys))
    checks.that(repeated == 0, f"without the lock, all is well: {len(keys):,} keys, {repeated} "
                "duplicates")
    return f"beside a locked witness 503 within {slowest:.2f} s, a stop within {stopped:.2f} s"


def next_number(directory):
    return read_database(directory / "data/keymill.db", "SELECT next_number FROM "
                         "keymill_keyspaces WHERE name = 'default'")[0][0]


def ready(server):
    return server.ask("GET", "/readyz").status


def unwritable_witness(checks, directory, *, seconds):
    """Without a witness there is no key (W1), and no number is thrown away for want of one."""
    with Server(directory, "--block-size", SMALL_BLOCK, "--block-growth", "off",
                "--request-timeout", "200ms") as server:
        keys = server.mint(count=1)
        (directory / "data/witness.new").mkdir()
        before = next_number(directory)
        end = time.monotonic() + seconds
        statuses, last = {}, None
        while time.monotonic() < end:
            last = server.ask("GET", "/get-key")
            statuses[last.status] = statuses.get(last.status, 0) + 1
            keys += [last.text] if last.status == 200 else []
        used = next_number(directory) - before
        checks.that(used <= 2 * SMALL_BLOCK, f"{seconds} s without a witness: the store gave "
                    f"away {used:,} numbers, in blocks of {SMALL_BLOCK}")
        checks.that(set(statuses) <= {200, 503} and last.status == 503 and
                    int(last.headers.get("Retry-After", 0)) > 0 and
                    statuses.get(200, 0) <= 2 * SMALL_BLOCK,
                    f"answers: {statuses}, the last {last}")
        readyz, livez = ready(server), server.ask("GET", "/livez").status
        checks.that((readyz, livez) == (503, 200), f"/readyz says {readyz}, /livez {livez}")
        (directory / "data/witness.new").rmdir()
        began = time.monotonic()
        keys.append(server.await_key())
        await_that(lambda: ready(server) == 200, "it is ready again")
        back = time.monotonic() - began
        checks.that(back < 5, f"service is back {back:.2f} s after it can be written")
        for _ in range(4 * SMALL_BLOCK):
            keys += server.mint()
        repeated = len(keys) - len(set(keys))
        checks.that(repeated == 0, f"{len(keys)} keys, {repeated} duplicates")
        checks.that(server.stop() == 0, "and stops cleanly")
    return f"{seconds} s without a witness: {used:,} numbers given away, back after {back:.2f} s"
