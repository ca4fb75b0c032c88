# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Clients that borrow blocks, use some numbers and give the rest back, or vanish; on instances
that are killed meanwhile. No number is used twice, over all of them."""

import contextlib
import http.client
import pathlib
import random
import threading
import time

from keymill_process import ask, duplicates
from scenario_claims import urls_of
from store_fleet import start_instances

KEYSPACE = "{orders: {kind: sequence, alphabet: decimal}, " \
           "odd: {kind: ticket, stride: 2, offset: 1, alphabet: decimal}}"
BROKEN = (OSError, http.client.HTTPException)


class Fleet:
    """Instances of which one after the other is killed and started again."""

    def __init__(self, servers):
        self.servers = servers
        self.ports = [server.port for server in servers]
        self.kills = 0

    def any_port(self, rng):
        return rng.choice(self.ports)

    def kill_one(self):
        number = self.kills % len(self.servers)
        self.servers[number].kill()
        self.kills += 1
        self.ports[number] = self.servers[number].start().port


class Borrower:
    """A client that hands out numbers itself."""

    def __init__(self, fleet, keyspace, path, seed):
        self.fleet, self.keyspace, self.rng = fleet, keyspace, random.Random(seed)
        self.path = pathlib.Path(path)
        self.blocks = self.used = self.returned = self.vanished = self.refused_twice = 0
        self.handed_on = 0  # Blocks that were the rest of another.
        self.wrong = []

    def ask(self, method, path):
        """None when nobody knows what became of it."""
        try:
            answer = ask(self.fleet.any_port(self.rng), method, path, timeout=10)
        except BROKEN:
            return None
        return None if answer.status == 503 else answer

    def give_back(self, block, used):
        path = f"/v1/keyspaces/{self.keyspace}/blocks/{block['id']}?used={used}"
        unknown = False
        for _ in range(200):
            answer = self.ask("DELETE", path)
            if answer is None:
                unknown = True
                time.sleep(0.05)
                continue
            # After an answer that was lost it may well be back.
            if answer.status != 204 and not (unknown and answer.status == 404):
                self.wrong.append(repr(answer))
            break
        self.returned += block["count"] - used
        # Whoever says it twice, whatever is said now, is not believed.
        again = self.ask("DELETE", path.replace(f"used={used}", "used=0"))
        if again is not None:
            self.refused_twice += again.status == 404
            if again.status != 404:
                self.wrong.append(f"given back twice: {again!r}")

    def borrow(self, numbers):
        count = self.rng.randint(1, 300)
        answer = self.ask("POST", f"/v1/keyspaces/{self.keyspace}/blocks?count={count}")
        if answer is None:
            time.sleep(0.05)
            return
        if answer.status != 200:
            self.wrong.append(repr(answer))
            return
        block = answer.json
        self.blocks += 1
        self.handed_on += block["count"] < count
        used = self.rng.choice((0, block["count"], self.rng.randint(0, block["count"])))
        first, stride = int(block["first"]), block["stride"]
        for i in range(used):
            numbers.write(f"{first + i * stride}\n")
        self.used += used
        if self.rng.random() < 0.7:
            self.give_back(block, used)
        else:
            self.vanished += 1

    def run(self, until):
        with open(self.path, "w", encoding="utf-8") as numbers:
            while time.monotonic() < until:
                self.borrow(numbers)


def mint_beside(fleet, keyspace, path, until, seed):
    """Keys of the same keyspace, minted one request after the other."""
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as keys:
        while time.monotonic() < until:
            with contextlib.suppress(*BROKEN):
                answer = ask(fleet.any_port(rng), "POST",
                             f"/v1/keyspaces/{keyspace}/keys?count={rng.randint(1, 200)}",
                             timeout=10)
                if answer.status == 200:
                    keys.writelines(f"{key}\n" for key in answer.json["keys"])


def lending(checks, directory, *, store, keyspace="orders", seconds, clients=4, instances=2,
            period=1.0):
    """`clients` borrow for so long, while every `period` an instance is killed."""
    with contextlib.ExitStack() as stack:
        urls = urls_of(stack, directory, store, instances)
        servers = start_instances(stack, directory, urls, env={"KEYMILL_KEYSPACES": KEYSPACE,
                                                               "KEYMILL_BLOCK_SIZE": "50"})
        fleet = Fleet(servers)
        until = time.monotonic() + seconds
        borrowers = [Borrower(fleet, keyspace, directory / f"client{i}", i)
                     for i in range(clients)]
        threads = [threading.Thread(target=borrower.run, args=(until,)) for borrower in borrowers]
        threads.append(threading.Thread(target=mint_beside, args=(fleet, keyspace,
                                                                  directory / "minted", until, 99)))
        for thread in threads:
            thread.start()
        while time.monotonic() + period < until:
            time.sleep(period)
            fleet.kill_one()
        for thread in threads:
            thread.join()
    files = [borrower.path for borrower in borrowers] + [directory / "minted"]
    found = duplicates(*files)
    blocks = sum(borrower.blocks for borrower in borrowers)
    used = sum(borrower.used for borrower in borrowers)
    returned = sum(borrower.returned for borrower in borrowers)
    wrong = [each for borrower in borrowers for each in borrower.wrong]
    checks.that(found["duplicate_keys"] == 0 and found["keys"] >= used > 0,
                f"{store}: {used:,} numbers used by {clients} clients, {found['keys'] - used:,} "
                f"minted beside them, over {fleet.kills} kills, {found['duplicate_keys']} twice")
    checks.that(not wrong, f"{store}: every answer was one that was due {wrong[:3]}")
    twice = sum(borrower.refused_twice for borrower in borrowers)
    checks.that(twice > 0, f"{store}: {twice} second returns were refused")
    handed_on = sum(borrower.handed_on for borrower in borrowers)
    checks.that(returned > 0 and handed_on > 0,
                f"{store}: {blocks} blocks, {returned:,} numbers came back, {handed_on} blocks "
                f"were the rest of another; {sum(b.vanished for b in borrowers)} clients vanished "
                "with theirs")
    return f"{store}: {found['keys']:,} numbers, {blocks} blocks, {fleet.kills} kills, " \
           f"{found['duplicate_keys']} duplicates"
