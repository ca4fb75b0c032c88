# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A store moves to another under load, and on: from SQLite to PostgreSQL, to etcd and so forth.

The copy is killed (-9) at random moments and repeated. Instances are pointed to the new store one
by one, while others still ask the old one.
"""

import concurrent.futures
import contextlib
import json
import random
import signal
import sqlite3
import subprocess
import time

from fleet import SMALL_BLOCKS, Fleet, blocks_reserved
from keymill_process import (Server, await_that, clean_environment, keymill_bin, read_database,
                             run_keymill)
from scenario_snowflake import Ids, serves_within
from scenario_store_copy_keys import RememberedKeys
from store_servers import start_server

REFUSED = 78
BLOCK = 100
REHEARSALS = 2
HOPS_MAX = 5
DONE = "nothing was left to do"
ROWS = "SELECT count(*) FROM {}keymill_ledger"


class Place:
    """Where a store is. `rows` counts those of its ledger, where somebody else can tell."""

    def __init__(self, name, url, rows=None):
        self.name = name
        self.url = url
        self.rows = rows


def place_in(server, kind, name):
    """An empty place in a server."""
    rows = {"postgres": lambda: int(server.sql(ROWS.format(f"{name}."))[0]),
            "mariadb": lambda: int(server.query(ROWS.format(""), name)[0][0])}
    return Place(kind, server.url(name), rows.get(kind))


@contextlib.contextmanager
def frozen(servers):
    for server in servers:
        server.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for server in servers:
            server.signal(signal.SIGCONT)


class Move:
    """Two instances, all that anybody was given, and the place of their store."""

    def __init__(self, checks, stack, directory, remembers):
        self.checks = checks
        self.directory = directory
        self.host = directory / "host0"
        database = self.host / "data/keymill.db"
        self.place = Place("sqlite", "sqlite:keymill.db",
                           lambda: read_database(database, ROWS.format(""))[0][0])
        self.first_url = self.place.url
        self.fleet = Fleet(stack, directory, self.first_url, 2, "--block-size", BLOCK,
                           "--pool-low", 0, *SMALL_BLOCKS)
        for server in self.fleet.servers:
            server.directory = self.host  # Those that share a file share its witness.
        self.rehearsals = []
        self.kills = 0
        self.ids = Ids()
        self.keys = RememberedKeys(checks, self) if remembers else None

    def keymill(self, *words, host=None):
        return run_keymill(*words, cwd=host or self.host)

    def mint(self, keyspace, count=3, host=None):
        """Without any of the instances."""
        done = self.keymill("mint", keyspace, "-n", count, "--store", self.place.url, host=host)
        if done.returncode != 0:
            raise RuntimeError(f"mint {keyspace} from {self.place.name}: {done.stderr}")
        keys = done.stdout.split()
        self.fleet.record(keys)
        return keys

    def begin(self, rows):
        """Makes a sequence and a retired keyspace beside `default`, and a long ledger: two
        instances that reserve by turns share no rows."""
        self.fleet.start()
        for name in ("orders", "gone"):
            done = self.keymill("keyspace", "create", name, "--kind", "sequence", "--alphabet",
                                "decimal", "--prefix", f"{name}_")
            if done.returncode != 0:
                raise RuntimeError(done.stderr)
            self.mint(name)
        if self.keymill("keyspace", "retire", "gone").returncode != 0:
            raise RuntimeError("gone is not retired")
        if self.keys:
            self.keys.begin()
        self.mint_ids()
        self.fleet.stream(count=20 * BLOCK)
        await_that(lambda: self.place.rows() >= rows, f"the ledger has {rows:,} rows", 600)

    def mint_ids(self):
        """Ids of time. Who is still on a sealed store has them for as long as its time lasts."""
        for server in self.fleet.servers:
            if self.place.url not in server.flags:
                serves_within(server, self.ids, 0.1, 1000)
                continue
            self.checks.that(serves_within(server, self.ids, 10, 1000) is not None,
                             f"an instance makes ids of {self.place.name}")

    def give_back(self):
        """An instance takes one number of orders and returns the rest. Returns that number."""
        with Server(self.host, "--store", self.place.url, "--block-size", BLOCK) as server:
            keys = server.mint("orders")
            self.fleet.record(keys)
            if server.stop() != 0:
                raise RuntimeError(f"an instance does not stop:\n{server.log()}")
        return int(keys[0].removeprefix("orders_"))

    def prepare_rehearsals(self, count):
        """Copies of the file as it is now. Somebody must agree to each, because it is another file
        than the one that it was made of."""
        works = [self.directory / f"rehearsal{number}" for number in range(count)]
        source = sqlite3.connect(self.host / "data/keymill.db", timeout=30)
        with contextlib.closing(source), concurrent.futures.ThreadPoolExecutor(count) as pool:
            for work in works:
                (work / "data").mkdir(parents=True)
                with contextlib.closing(sqlite3.connect(work / "data/keymill.db")) as copy:
                    source.backup(copy)
            for done in pool.map(lambda work: self.keymill("mint", host=work), works):
                if done.returncode != 0:
                    raise RuntimeError(f"a rehearsal cannot be used: {done.stderr}")
        self.rehearsals = works

    def rehearse(self, server):
        """How long it takes to copy so much to a server of this kind, at least: the instances are
        frozen meanwhile, and the fastest of several copies counts."""
        seconds = []
        with frozen(self.fleet.servers):
            for number in range(REHEARSALS):
                began = time.monotonic()
                done = self.keymill("store", "copy", self.first_url,
                                    server.url(f"rehearsal{number}"), host=self.rehearsals.pop())
                seconds.append(time.monotonic() - began)
                if done.returncode != 0:
                    raise RuntimeError(f"the rehearsal failed: {done.stderr}")
        return min(seconds)

    def attempt(self, place, seconds):
        """What the copy says at its end; None when it was killed before."""
        with subprocess.Popen([str(keymill_bin()), "store", "copy", self.place.url, place.url],
                              cwd=self.host, env=clean_environment(), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as copy:
            try:
                said, _ = copy.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                copy.kill()
                copy.communicate()
                return None
        if copy.returncode != 0:
            raise RuntimeError(f"store copy ended with {copy.returncode}: {said}")
        return said

    def fresh_host(self, place):
        """One that has seen nothing of any store yet."""
        host = self.directory / f"fresh-{place.name}"
        host.mkdir(exist_ok=True)
        return host

    def sealed(self):
        found = json.loads(self.keymill("keyspace", "show", "default", "-o", "json", "--store",
                                        self.place.url).stdout)
        return found["state"] == "sealed"

    def copy_to(self, place, kills, seconds):
        """So many attempts are killed in the middle, others near the end until one gets there,
        which takes some `seconds`. Returns how many died."""
        killed, leaked, said = 0, "", None
        while said is None:
            late = killed - kills
            share = random.uniform(0, 0.6) if late < 0 else random.uniform(0.6, 1.5) * 1.3 ** late
            said = self.attempt(place, seconds * share)
            killed += said is None
            if said is None and self.sealed():  # Before, it is an empty place like any other.
                leaked = leaked or self.key_of(place)
        self.kills += killed
        checks = self.checks
        checks.note(f"{self.place.name} to {place.name}: {killed} copies of {seconds:.2f} s were "
                    "killed")
        # One that was killed when all was done leaves nothing to do, and a store that mints.
        checks.that(not leaked or DONE in said, "nobody got a key of the new store before it was "
                    f"complete: {leaked or 'none'}")
        rows = self.place.rows() if self.place.rows else ""
        checks.that(DONE in said or f"{rows} rows of the ledger" in said,
                    f"it says: {said.splitlines()[0]}")
        again = self.attempt(place, 600)
        checks.that(DONE in again, f"once more: {again.splitlines()[0]}")
        return killed

    def key_of(self, place):
        """What somebody gets who knows nothing of the copy."""
        done = self.keymill("mint", "--store", place.url, host=self.fresh_host(place))
        keys = done.stdout.split()
        self.fleet.record(keys)
        return keys[0] if keys else ""

    def change_to(self, place, returned):
        """Instances go over one by one; whoever is left mints what it still holds."""
        old, self.place = self.place, place
        last = self.fleet.servers[1]
        for server in self.fleet.servers:
            if self.keys:
                self.keys.take(server)  # What it still has, or nothing.
            code = server.stop()
            self.checks.that(code == 0, f"an instance on {old.name} stops with {code}")
            server.flags[server.flags.index(old.url)] = place.url
            server.start()
            await_that(lambda server=server: blocks_reserved(server) > 3,
                       f"it reserves from {place.name}")
            if not last.running():
                raise RuntimeError(f"nobody is left on {old.name}:\n{last.log()}")
            self.mint_ids()
        self.refuses(old)
        if self.keys:
            self.keys.check(place)
        key = self.mint("orders", 1)[0]
        self.checks.that(key == f"orders_{returned + 1}", f"what was given back on {old.name}, "
                         f"after orders_{returned}, is handed out on {place.name}: {key}")
        self.mint("default", host=self.fresh_host(place))
        states = {each["name"]: each["state"] for each in
                  self.fleet.servers[0].ask("GET", "/v1/keyspaces").json["keyspaces"]}
        due = {"default": "open", "ids": "open", "orders": "open", "gone": "retired"}
        if self.keys:
            due |= {"codes": "open", "pages": "open"}
        self.checks.that(states == due, f"its keyspaces: {states}")

    def refuses(self, old):
        """Nobody gets a number of the old store."""
        for keyspace in ("default", "orders", "ids", *(("codes",) if self.keys else ())):
            done = self.keymill("mint", keyspace, "--store", old.url)
            self.checks.that(done.returncode == REFUSED and done.stdout == "",
                             f"mint {keyspace} from {old.name} exits with {done.returncode}: "
                             f"{done.stderr.strip()}")


def move_into(move, server, kind, kills):
    """A copy that got to its end sooner than it was killed often enough moves on in the server."""
    seconds = move.rehearse(server)
    killed = hops = 0
    while killed < kills and hops < HOPS_MAX:
        returned = move.give_back()
        before = move.fleet.streamed()
        place = place_in(server, kind, f"mill{hops}")
        killed += move.copy_to(place, kills - killed, seconds)
        move.change_to(place, returned)
        streamed = move.fleet.streamed() - before
        move.checks.that(streamed > 0, f"{streamed:,} keys were streamed meanwhile")
        hops += 1
    move.checks.that(killed >= kills, f"{killed} copies to {kind} were killed, {hops} got there")


def store_copy(checks, directory, *, servers, rows, kills, remembers=False):
    """Through `servers`, one after the other. `rows`: of the ledger at the beginning; `kills`: of
    copies to each. `remembers`: with a pool, aliases and keys of content, which etcd has not."""
    directory.chmod(0o755)  # Some servers run as users of their own.
    with contextlib.ExitStack() as stack:
        move = Move(checks, stack, directory, remembers)
        move.begin(rows)
        move.prepare_rehearsals(REHEARSALS * len(servers))
        for kind in servers:
            (directory / kind).mkdir()
            server = stack.enter_context(start_server(kind, directory / kind))
            move_into(move, server, kind, kills)
        move.fleet.end_load()
        codes = [server.stop() for server in move.fleet.servers]
        checks.that(codes == [0, 0], f"the instances stop with {codes}")
        found = move.fleet.verify(checks)
        move.ids.check(checks, "ids of all stores")
    return (f"{found['keys']:,} keys over the history of {' → '.join(('sqlite', *servers))}, "
            f"{found['duplicate_keys']} duplicates, {len(move.ids):,} ids, {move.kills} copies "
            f"killed{move.keys.figures() if move.keys else ''}")
