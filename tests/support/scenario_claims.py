# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Many who claim one alias at once: one gets it. And no alias is ever a key."""

import contextlib
import re
import subprocess
import threading

from keymill_process import RawConnection, build_program
from store_fleet import start_instances, start_store, store_url

# Says that the outcome is open, so the claimant asks again.
OPEN = 503


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
