# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The end of a keyspace: every key is given out, none twice, and then an error."""

import contextlib
import http.client

from keymill_process import Server, ask_on
from scenario_instances import start_together

CAPACITY = 1000
SMALL = "keyspaces: {default: {kind: sequence, alphabet: decimal, length: 3, start: 0}}\n"


def take_until_exhausted(ports, most):
    """Asks the ports in turn, each until its first 507. Returns keys, odd answers, and how
    often a busy store made an instance say "try again", which is what happens then."""
    keys, odd, busy = [], [], 0
    connections = {port: http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                   for port in ports}
    while connections and len(keys) < most:
        for port, connection in list(connections.items()):
            answer = ask_on(connection, "GET", "/get-key")
            if answer.status == 200:
                keys.append(answer.text)
                continue
            if answer.status == 503 and "Retry-After" in answer.headers and busy < 20:
                busy += 1
                continue
            if answer.status != 507 or not answer.json["type"].endswith("keyspace-exhausted"):
                odd.append(repr(answer))
            connections.pop(port).close()
    return keys, odd, busy


def one_instance(checks, directory):
    with Server(directory, config=SMALL) as server:
        keys, odd, busy = take_until_exhausted([server.port], 2 * CAPACITY)
        checks.that(sorted(keys) == [f"{n:03}" for n in range(CAPACITY)] and not odd,
                    f"one instance gives {len(keys)} keys, {len(set(keys))} distinct, of "
                    f"{CAPACITY}, then 507 {odd or ''}")
        checks.that(busy == 0, f"{busy} answers 503 on the way")
        checks.that(server.ask("GET", "/get-key").status == 507, "and stays at 507")
        checks.that(server.ask("GET", "/livez").status == 200, "the server itself lives")
        server.stop()
    return f"one instance: {len(set(keys))} of {CAPACITY}"


def three_together(checks, directory):
    (directory / "keymill.yml").write_text(SMALL, encoding="utf-8")
    with contextlib.ExitStack() as stack:
        servers = start_together(stack, directory)
        keys, odd, busy = take_until_exhausted([server.port for server in servers], 2 * CAPACITY)
    checks.that(len(set(keys)) == len(keys) and not odd,
                f"three instances give {len(keys)} keys, {len(set(keys))} distinct {odd or ''}")
    checks.note(f"{busy} answers 503 on the way, where the others kept the store busy")
    checks.that(990 <= len(keys) <= CAPACITY, f"{len(keys)} of {CAPACITY}, at least 990")
    return f"three instances: {len(keys)}, all distinct"


def last_key(checks, directory):
    figures = []
    for scenario in (one_instance, three_together):
        folder = directory / scenario.__name__
        folder.mkdir()
        figures.append(scenario(checks, folder))
    return "; ".join(figures)
