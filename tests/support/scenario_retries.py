# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Requests that are repeated because their answers get lost: the keys stay the same."""

import collections
import concurrent.futures
import contextlib
import random
import threading

from keymill_process import RawConnection
from scenario_claims import urls_of
from store_fleet import start_instances
from tcp_proxy import TO_SERVER, TcpProxy

TRIES = 3
# The last try of a request is left alone, so that each gets an answer.
LAST = b"Try: last"


class ReplyCutter:
    """A watch: ends two of three connections somewhere in the reply, or before it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.mutex = threading.Lock()
        self.cuts = 0

    def __call__(self, link, direction, data):
        if direction == TO_SERVER:
            link.memory["spared"] = link.memory.get("spared", False) or LAST in data
            return data
        if link.memory["spared"]:
            return data
        with self.mutex:
            # An answer has some 200 bytes, so that some are cut behind their end.
            left = link.memory.setdefault("left", self.random.choice((0, 150, 1 << 30)))
            if left < len(data):
                self.cuts += 1
        link.memory["left"] -= len(data)
        if left < len(data):
            link.cut(reset=left == 0)
        return data[:left]


def send(port, name, count, last):
    """One try. The keys, or None when the answer got lost; raises when it is no answer with
    keys."""
    try:
        with RawConnection(port) as connection:
            connection.send(f"POST /v1/keyspaces/default/keys?count={count} HTTP/1.1\r\n"
                            f"Host: a\r\nIdempotency-Key: {name}\r\n"
                            f"{LAST.decode() if last else 'Try: first'}\r\n\r\n")
            answer = connection.read_answer()
    except (ConnectionError, BrokenPipeError):
        return None
    if answer is None:
        return None
    if answer.status == 503:  # The outcome is open, as when the answer gets lost.
        return None
    if answer.status != 200:
        raise RuntimeError(f"{name}: {answer}")
    return answer.body


def idempotent_retry(checks, directory, *, store, instances, requests, clients=8):
    """Each request three times, through proxies that cut replies: the first two may meet."""
    answers = collections.defaultdict(list)
    with contextlib.ExitStack() as stack:
        servers = start_instances(stack, directory, urls_of(stack, directory, store, instances))
        cutters = [ReplyCutter(number) for number in range(instances)]
        ports = [stack.enter_context(TcpProxy(server.port, cutter)).port
                 for server, cutter in zip(servers, cutters)]
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(2 * clients))

        def run(number):
            name, count = f"request-{number}", number % 5 + 1
            port = [ports[(number + each) % instances] for each in range(TRIES)]
            other = None
            if number % 2 == 0:  # At the same time.
                other = pool.submit(send, port[1], name, count, False)
            got = [send(port[0], name, count, False)]
            got.append(other.result() if other else send(port[1], name, count, False))
            got.append(send(port[2], name, count, True))
            while got[-1] is None:  # A busy store may have said "try again".
                got.append(send(port[2], name, count, True))
            return number, [each for each in got if each is not None]

        with concurrent.futures.ThreadPoolExecutor(clients) as runners:
            for number, got in runners.map(run, range(requests)):
                answers[number] = got
        # Keys that were minted beside them.
        others = [key for server in servers for key in server.mint(count=1000)]
        # Each once more, from any instance.
        again = sum(servers[number % instances].ask(
            "POST", f"/v1/keyspaces/default/keys?count={number % 5 + 1}",
            headers={"Idempotency-Key": f"request-{number}"}).body == answers[number][0]
            for number in range(requests))
        cuts = sum(cutter.cuts for cutter in cutters)
    received = sum(map(len, answers.values()))
    one = sum(len(set(got)) == 1 for got in answers.values())
    distinct = len({body for got in answers.values() for body in got})
    keys = [key for got in answers.values() for key in _keys(got[0])] + others
    whole = sum(len(_keys(got[0])) == number % 5 + 1 for number, got in answers.items())
    checks.that(cuts >= requests // 2, f"{store}: {cuts:,} replies were cut, {received:,} of "
                f"{requests * TRIES:,} arrived")
    checks.that(one == requests, f"{store}: {one:,} of {requests:,} requests got one answer, the "
                "same each time")
    checks.that(distinct == requests, f"{store}: {distinct:,} distinct answers")
    checks.that(whole == requests, f"{store}: {whole:,} had as many keys as they asked for")
    checks.that(again == requests, f"{store}: {again:,} are the same on any instance afterwards")
    checks.that(len(set(keys)) == len(keys), f"{store}: {len(keys):,} keys, none twice")
    return f"{store} × {instances}: {requests:,} requests × {TRIES}, {cuts:,} replies cut, " \
        f"{distinct:,} distinct answers"


def _keys(body):
    return body.decode().split("[")[1].split("]")[0].replace('"', "").split(",")
