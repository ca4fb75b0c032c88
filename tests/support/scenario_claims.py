# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Many who claim one alias at once: one gets it. And no alias is ever a key."""

import concurrent.futures
import contextlib
import http.client
import itertools
import random
import re
import string
import subprocess
import threading
import time

from keymill_process import RawConnection, ask_on, build_program, run_keymill
from store_fleet import make_folder, start_instances, start_store, store_url

# Says that the outcome is open, so the claimant asks again.
OPEN = 503

# Keyspaces whose keys have the form of aliases, so that nothing but the store keeps them apart.
SHORT = string.digits + string.ascii_lowercase
SHORT_LENGTH = 3
SHORT_KEYS = len(SHORT) ** SHORT_LENGTH
SHORT_KEYSPACES = {"codes": "kind: pool", "pages": "kind: derived"}


class Claimants:
    """Connections to one instance, each of a claimant of its own."""

    def __init__(self, stack, port, names):
        self.connections = {name: stack.enter_context(RawConnection(port)) for name in names}
        self.answers = {}

    def claim(self, alias, together):
        """Sends all claims as soon as the others do, then reads the answers."""
        self.answers = {}
        left = dict(self.connections)
        together.wait()
        while left:
            for name, connection in left.items():
                body = f'{{"owner":"{name}"}}'
                connection.send(f"PUT /v1/keyspaces/default/keys/{alias} HTTP/1.1\r\nHost: a\r\n"
                                "Content-Type: application/json\r\n"
                                f"Content-Length: {len(body)}\r\n\r\n{body}")
            for name, connection in left.items():
                self.answers[name] = connection.read_answer()
            left = {name: connection for name, connection in left.items()
                    if self.answers[name] is not None and self.answers[name].status == OPEN}


def urls_of(stack, directory, store, instances):
    if store == "sqlite":
        return [f"sqlite:{directory}/keymill.db"] * instances
    return [store_url(start_store(stack, directory, store))] * instances


def racing_claims(checks, directory, *, store, claims, rounds, instances=4):
    """`claims` of one alias at once, over several instances; so often, with another alias."""
    with contextlib.ExitStack() as stack:
        urls = urls_of(stack, directory, store, instances)
        servers = start_instances(stack, directory, urls)
        groups = [Claimants(stack, server.port,
                            [f"claimant-{i}" for i in range(number, claims, instances)])
                  for number, server in enumerate(servers)]
        one_winner, losers_told, agreed = 0, 0, 0
        for number in range(rounds):
            alias = f"race-{number}"
            together = threading.Barrier(instances)
            threads = [threading.Thread(target=group.claim, args=(alias, together))
                       for group in groups]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            answers = {name: answer for group in groups for name, answer in group.answers.items()}
            winners = [name for name, answer in answers.items()
                       if answer is not None and answer.status in (200, 201)]
            lost = [answer for answer in answers.values() if answer is not None
                    and answer.status == 409 and answer.json["type"] == "alias-taken"]
            one_winner += len(winners) == 1
            losers_told += len(lost) == claims - 1
            owners = {server.ask("GET", f"/v1/keyspaces/default/keys/{alias}").json
                      ["record"]["owner"] for server in servers}
            agreed += owners == set(winners)
    checks.that(one_winner == rounds, f"{store}: {claims} claims of one alias over {instances} "
                f"instances have exactly one winner, {one_winner} times of {rounds}")
    checks.that(losers_told == rounds, f"{store}: all others were told that it is taken, "
                f"{losers_told} times")
    checks.that(agreed == rounds, f"{store}: every instance says that it is the winner's, "
                f"{agreed} times")
    return f"{store}: {one_winner} × one winner of {claims}"


class Rivals:
    """Those who want keys of one form at once: claimants, minters, derivers and a fill. Each works
    until it has what it wants, or time is up."""

    def __init__(self, servers, fill, seconds):
        self.servers = servers
        self.fill_pool = fill
        self.end = time.monotonic() + seconds
        self.claimed = {name: [] for name in SHORT_KEYSPACES}  # Each with 201.
        self.refused = dict.fromkeys(SHORT_KEYSPACES, 0)  # By 409: somebody had it before.
        self.given = {name: [] for name in SHORT_KEYSPACES}

    def requests(self, server, wishes, target, method="POST"):
        """(wish, answer) for each wish, on one connection; `target` makes its path and body."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port,
                                                           timeout=30)) as connection:
            for wish in wishes:
                if time.monotonic() > self.end:
                    return
                yield wish, ask_on(connection, method, *target(wish))

    def claim(self, server, name, count, seed):
        rng = random.Random(seed)
        wishes = ("".join(rng.choices(SHORT, k=SHORT_LENGTH)) for _ in range(count))
        for alias, answer in self.requests(
                server, wishes, lambda alias: (f"/v1/keyspaces/{name}/keys/{alias}", {}), "PUT"):
            if answer.status == 201:
                self.claimed[name].append(alias)
            elif answer.status == 409:
                self.refused[name] += 1

    def mint(self, server, count):
        own = []
        for _, answer in self.requests(server, itertools.count(), lambda _: (
                "/v1/keyspaces/codes/keys?count=50", None)):
            if answer.status == 200:
                own += answer.json["keys"]
            else:
                time.sleep(0.02)  # The pool is empty until it is filled again.
            if len(own) >= count:
                break
        self.given["codes"] += own

    def derive(self, server, contents):
        for _, answer in self.requests(server, contents, lambda content: (
                "/v1/keyspaces/pages/derive", {"content": content})):
            if answer.status == 200:
                self.given["pages"].append(answer.json["key"])

    def fill(self, count):
        """So many keys in portions, so that aliases are claimed between them."""
        for _ in range(8):
            if time.monotonic() < self.end:
                self.fill_pool(count // 8)

    def run(self, claims, keys, contents):
        """All of it at once."""
        each = len(self.servers)
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            works = [pool.submit(self.fill, keys + keys // 2)]
            for number, server in enumerate(self.servers):
                works.append(pool.submit(self.mint, server, keys // each))
                for half in range(2):
                    works.append(pool.submit(self.derive, server, [
                        f"content {number}/{half}/{n}" for n in range(contents // each // 2)]))
                    works += [pool.submit(self.claim, server, name, claims // each // 2,
                                          f"{name} {number} {half}") for name in SHORT_KEYSPACES]
            for work in works:
                work.result()


def aliases_among_keys(checks, directory, *, store, claims, keys, contents, seconds=18):
    """Aliases of exactly the form of the keys, where only the store can tell them apart: claimed at
    two instances while these mint and derive, and a pool is filled. As many as come of it in the
    time that there is: a store takes claims and contents one by one."""
    with contextlib.ExitStack() as stack:
        urls = urls_of(stack, directory, store, 2)
        recipes = ", ".join(f"{name}: {{{kind}, alphabet: base36, length: {SHORT_LENGTH}}}"
                            for name, kind in SHORT_KEYSPACES.items())
        servers = start_instances(stack, directory, urls, env={
            "KEYMILL_KEYSPACES": f"{{{recipes}}}", "KEYMILL_POOL_LOW": "0",
            "KEYMILL_BLOCK_SIZE": "50", "KEYMILL_BLOCK_GROWTH": "off",
            "KEYMILL_RUNWAY_TARGET": "1s"})
        folder = make_folder(directory, "filling")
        rivals = Rivals(servers, lambda count: run_keymill(
            "pool", "fill", "codes", "-n", count, "--store", urls[0], cwd=folder), seconds)
        began = time.monotonic()
        rivals.run(claims, keys, contents)
        took = time.monotonic() - began
        kept = {name: sum(servers[1].ask("GET", f"/v1/keyspaces/{name}/keys/{alias}").json["state"]
                          == "alias" for alias in rivals.claimed[name][:100])
                for name in SHORT_KEYSPACES}
    figures = []
    for name, kind in SHORT_KEYSPACES.items():
        claimed, given = set(rivals.claimed[name]), set(rivals.given[name])
        kind = kind.split()[1]
        checks.that(len(given) == len(rivals.given[name]) and
                    len(claimed) == len(rivals.claimed[name]) and not claimed & given,
                    f"{store}, {kind}: {len(claimed):,} aliases and {len(given):,} keys of one "
                    f"form, {len(claimed & given)} are both; "
                    f"{len(rivals.given[name]) - len(given)} keys and "
                    f"{len(rivals.claimed[name]) - len(claimed)} aliases came twice")
        # Had nobody kept them apart, that many would be both.
        chance = len(claimed) * len(given) / SHORT_KEYS
        checks.that(chance >= 5, f"{store}, {kind}: by chance {chance:.0f} would be; "
                    f"{rivals.refused[name]} claims were told that it is taken")
        checks.that(kept[name] == len(rivals.claimed[name][:100]),
                    f"{store}, {kind}: {kept[name]} aliases of "
                    f"{len(rivals.claimed[name][:100])} are still aliases")
        figures.append(f"{len(claimed):,} aliases among {len(given):,} keys of a {kind}")
    checks.note(f"in {took:.1f} s")
    return f"{store}: {', '.join(figures)}, none both"


def alias_boundary(checks, _directory, *, tries):
    """Keys and their neighbours, judged as aliases."""
    done = subprocess.run([build_program("alias_boundary"), "--tries", str(tries)],
                          stdout=subprocess.PIPE, text=True, check=False)
    lines = done.stdout.splitlines()
    total = keys = 0
    for line in lines:
        found = re.fullmatch(r"alias_boundary: (\S+): (\d+) tries, (\d+) keys, (\d+) accepted, "
                             r"(\d+) wrong", line)
        checks.that(found and found[5] == "0", line.removeprefix("alias_boundary: "))
        if found:
            total += int(found[2])
            keys += int(found[3])
    checks.that(done.returncode == 0 and total >= tries,
                f"{total:,} tries near the boundary, {keys:,} of them keys, none accepted")
    return f"{total:,} aliases near keys, 0 equal to one"
