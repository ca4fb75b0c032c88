# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The end of a keyspace: every key is given out, none twice, and then an error."""

import concurrent.futures
import contextlib
import http.client
import threading
import time

from keymill_process import Server, ask_on
from proof import sized
from scenario_instances import start_together

CAPACITY = 1000
SMALL = "keyspaces: {default: {kind: sequence, alphabet: decimal, length: 3, start: 0}}\n"


def take_until_exhausted(port, most):
    """Asks until the first 507. Returns keys, odd answers, and how often a busy store made the
    instance say "try again", which is what happens then."""
    keys, odd, busy = [], [], 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    with contextlib.closing(connection):
        while len(keys) < most:
            answer = ask_on(connection, "GET", "/get-key")
            if answer.status == 200:
                keys.append(answer.text)
                continue
            if answer.status == 503 and "Retry-After" in answer.headers and busy < 20:
                busy += 1
                continue
            if answer.status != 507 or not answer.json["type"].endswith("keyspace-exhausted"):
                odd.append(repr(answer))
            break
    return keys, odd, busy


def take_together(ports, most):
    """take_until_exhausted for each port in a thread of its own, all from the same moment.
    Returns (keys, odd, busy, seconds from then to the 507) in the order of the ports."""
    start = threading.Barrier(len(ports))

    def take(port):
        start.wait()
        began = time.monotonic()
        return *take_until_exhausted(port, most), time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(len(ports)) as pool:
        return list(pool.map(take, ports))


def one_instance(checks, directory):
    with Server(directory, config=SMALL) as server:
        keys, odd, busy = take_until_exhausted(server.port, 2 * CAPACITY)
        checks.that(sorted(keys) == [f"{n:03}" for n in range(CAPACITY)] and not odd,
                    f"one instance gives {len(keys)} keys, {len(set(keys))} distinct, of "
                    f"{CAPACITY}, then 507 {odd or ''}")
        checks.that(busy == 0, f"{busy} answers 503 on the way")
        checks.that(server.ask("GET", "/get-key").status == 507, "and stays at 507")
        checks.that(server.ask("GET", "/livez").status == 200, "the server itself lives")
        server.stop()
    return f"one instance: {len(set(keys))} of {CAPACITY}"


def three_together(checks, directory, *, rounds=1):
    """All three at once, so that they meet at the last keys."""
    fewest = CAPACITY
    for number in range(rounds):
        folder = directory / f"round-{number}"
        folder.mkdir()
        (folder / "keymill.yml").write_text(SMALL, encoding="utf-8")
        with contextlib.ExitStack() as stack:
            servers = start_together(stack, folder)
            taken = take_together([server.port for server in servers], 2 * CAPACITY)
            again = [server.ask("GET", "/get-key").status for server in servers]
        keys = [key for each, _, _, _ in taken for key in each]
        odd = [answer for _, each, _, _ in taken for answer in each]
        shares = ", ".join(str(len(each)) for each, _, _, _ in taken)
        ends = [seconds for _, _, _, seconds in taken]
        checks.that(len(set(keys)) == len(keys) and not odd,
                    f"three instances give {len(keys)} keys, {len(set(keys))} distinct {odd or ''}")
        checks.that(990 <= len(keys) <= CAPACITY, f"{len(keys)} of {CAPACITY}, at least 990")
        checks.that(all(each for each, _, _, _ in taken) and again == [507] * len(servers),
                    f"all have a share, {shares}; the first says 507 after {min(ends):.2f} s, the "
                    f"last after {max(ends):.2f} s, and all stay at it: {again}")
        busy = sum(each for _, _, each, _ in taken)
        checks.note(f"{busy} answers 503 on the way, where the others kept the store busy")
        fewest = min(fewest, len(keys))
    return f"three instances at once: at least {fewest} of {CAPACITY} in {rounds} rounds, distinct"


def last_key(checks, directory):
    figures = []
    for scenario, sizes in ((one_instance, {}), (three_together, {"rounds": sized(10, 2)})):
        folder = directory / scenario.__name__
        folder.mkdir()
        figures.append(scenario(checks, folder, **sizes))
    return "; ".join(figures)
