# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""An old copy of the store's data is put back under instances that have seen more of it.

Each instance is on a host of its own, with its own witness; only those that share a SQLite file
share its directory. First an instance gives the tail of a block back, then the copy is made, and
then that tail is used: in the copy no number is missing, only revisions are.
"""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import tempfile
import time

from fleet import SMALL_BLOCKS, Fleet
from in_flight import awaits_store
from keymill_process import Server, await_that, run_keymill
from scenario_instances import freeze, holds_a_lock, task_states
from scenario_server_kills import store_ports
from store_servers import await_seconds, start_server

STORES = ("sqlite", "postgres", "mariadb", "redis", "etcd")
REFUSED = 78
BLOCK = 200
NOTICE_SECONDS = 15


class ServerStore:
    """A store in a server, which is stopped while its data is copied or replaced."""

    def __init__(self, stack, directory, kind):
        folder = directory / "server"
        folder.mkdir()
        self.server = stack.enter_context(start_server(kind, folder))
        self.copy = directory / "copy"
        self.url = self.server.url("mill")

    def busy(self, pid):
        """Whether a process that was frozen is inside a call."""
        return awaits_store(pid, store_ports(self.server))

    def take_copy(self, _):
        self.server.stop()
        self.server.copy_data(self.copy)
        self.server.start()

    def put_back(self, _, thaw, meanwhile):
        self.server.stop()
        meanwhile()
        self.server.restore_data(self.copy)
        for server in thaw:
            server.signal(signal.SIGCONT)
        self.server.start()


class SqliteStore:
    """A file, which nobody may write to meanwhile: whoever runs is frozen between two calls."""

    def __init__(self, _, directory):
        self.path = directory / "host0/data/keymill.db"
        self.copy = directory / "copy.db"
        self.url = "sqlite:keymill.db"

    def busy(self, pid):
        return holds_a_lock(pid)

    def take_copy(self, instances):
        with self._frozen(instances):
            shutil.copyfile(self.path, self.copy)

    def put_back(self, instances, thaw, _):
        with self._frozen(instances):
            # A journal that a crash has left belongs to what is replaced.
            (self.path.parent / f"{self.path.name}-journal").unlink(missing_ok=True)
            shutil.copyfile(self.copy, self.path)
            for server in thaw:
                server.signal(signal.SIGCONT)

    @contextlib.contextmanager
    def _frozen(self, instances):
        running = [server for server in instances if server.running() and
                   "T" not in task_states(server.pid)]
        for server in running:
            freeze_idle(server, self)
        yield
        for server in running:
            server.signal(signal.SIGCONT)


def freeze_idle(server, store):
    """Stops the process between two calls to the store: it holds nobody up."""
    freeze(server.pid)
    while store.busy(server.pid):
        os.kill(server.pid, signal.SIGCONT)
        freeze(server.pid)


class History:
    """Two instances and all keys that they, and others, have given to anybody."""

    def __init__(self, stack, directory, kind):
        directory.chmod(0o755)  # As below.
        self.directory = directory
        self.kind = kind
        self.store = (SqliteStore(stack, directory) if kind == "sqlite" else
                      ServerStore(stack, directory, kind))
        self.flags = ("--block-size", BLOCK, *SMALL_BLOCKS)
        self.fleet = Fleet(stack, directory, self.store.url, 2, *self.flags)
        self.one, self.other = self.fleet.servers
        if kind == "sqlite":
            self.other.directory = self.one.directory
        self.fleet.start()

    def mint(self, server, blocks):
        """So many blocks at least, as soon as the store grants them."""
        wanted = blocks * BLOCK

        def more():
            nonlocal wanted
            answer = server.ask("POST", f"/v1/keyspaces/default/keys?count={BLOCK}")
            if answer.status == 200:
                self.fleet.record(answer.json["keys"])
                wanted -= len(answer.json["keys"])
            return wanted <= 0

        await_that(more, f"{blocks} blocks are minted")

    def stream(self, server):
        """As fast as it can, in answers that do not keep a stop waiting."""
        self.fleet.stream([server], count=20 * BLOCK)

    def give_back(self):
        """A third instance takes a key and returns the rest of its block."""
        host = self.one.directory if self.kind == "sqlite" else self.directory / "host2"
        host.mkdir(exist_ok=True)
        with Server(host, "--store", self.store.url, *self.flags) as third:
            self.mint(third, 1 / BLOCK)
            if third.stop() != 0:
                raise RuntimeError(f"the third instance does not stop:\n{third.log()}")

    def take_copy(self):
        self.store.take_copy(self.fleet.servers)

    def put_back(self, thaw=(), drain=()):
        """Those of `thaw` run again before anybody can use what was put back; those of `drain` hold
        nothing any more by then, if there is a server that was away."""
        self.store.put_back(self.fleet.servers, thaw,
                            lambda: [self.drain(server) for server in drain])

    def drain(self, server):
        while True:
            answer = server.ask("POST", f"/v1/keyspaces/default/keys?count={BLOCK}")
            if answer.status != 200:
                return
            self.fleet.record(answer.json["keys"])

    def stopped(self, server):
        """Whether it says that the keyspace is quarantined."""
        try:
            answer = server.ask("POST", "/v1/keyspaces/default/keys")
        except OSError:
            return False
        if answer.status == 200:
            self.fleet.record(answer.json["keys"])
        return answer.status == 503 and answer.json["type"].endswith("keyspace-quarantined")

    def recover(self, server):
        """On the host of this instance."""
        return run_keymill("recover", "default", "--store", self.store.url, cwd=server.directory)


def seen_by_both(history):
    """Both know more than the copy, the other one most of all."""
    history.give_back()
    history.take_copy()
    history.mint(history.one, 5)
    history.mint(history.other, 5)
    history.put_back()
    return history.one


def seen_by_one(history):
    """The copy is newer than all that the other instance has seen, and that one is in a hurry:
    what it reserves would hide from the first one, which holds nothing, that anything is lost."""
    freeze_idle(history.other, history.store)
    history.mint(history.one, 3)
    history.give_back()
    history.take_copy()
    history.mint(history.one, 20)
    history.stream(history.other)
    history.put_back(thaw=[history.other], drain=[history.one])
    return history.other


def seen_by_the_dead(history):
    """Whoever could tell is dead, and comes back with its witness, together with one that has
    seen less and is in a hurry."""
    history.other.kill()
    history.mint(history.one, 3)
    history.give_back()
    history.take_copy()
    history.mint(history.one, 20)
    history.one.kill()
    history.put_back()
    for server in history.fleet.servers:
        server.launch()
    history.stream(history.other)
    for server in history.fleet.servers:
        server.await_ready()
    return history.other


CASES = (seen_by_both, seen_by_one, seen_by_the_dead)


def old_copy(checks, directory, *, store, case, seconds=NOTICE_SECONDS):
    """Returns how many keys there were, and how long it took until nobody gave any out."""
    with contextlib.ExitStack() as stack:
        history = History(stack, directory, store)
        fleet = history.fleet
        for server in fleet.servers:
            history.mint(server, 3)
        hasty = case(history)
        # Until it refuses; the other one has nothing to do.
        if not fleet.streams:
            history.stream(hasty)
        waited = await_seconds(lambda: all(history.stopped(server) for server in fleet.servers),
                               seconds)
        checks.that(waited is not None, f"{store}, {case.__name__.replace('_', ' ')}: all stop "
                    f"{f'in vain for {seconds} s' if waited is None else f'after {waited:.2f} s'}, "
                    f"{fleet.streamed():,} keys later")
        done = history.recover(hasty)
        checks.that(done.returncode == 0, "recover, where least was seen, exits with "
                    f"{done.returncode}: {done.stderr.strip().splitlines()[-2:]}")
        for server in fleet.servers:
            server.stop()
            server.start()
            history.mint(server, 50)
        fleet.end_load()
        codes = [server.stop() for server in fleet.servers]
        checks.that(codes == [0, 0], f"both go on, and stop with {codes}")
        found = fleet.verify(checks)
    return found["keys"], seconds if waited is None else waited


def moved_at_once(checks, directory, *, store):
    """Somebody who has seen nothing moves the old copy to another store, before the instance that
    could tell has looked at it."""
    with contextlib.ExitStack() as stack:
        history = History(stack, directory, store)
        history.other.kill()
        history.mint(history.one, 3)
        history.take_copy()
        history.mint(history.one, 20)
        history.put_back()
        host = directory / "stranger"
        host.mkdir()
        copy = ("store", "copy", history.store.url, "sqlite:new.db")
        done = run_keymill(*copy, cwd=host)
        checks.that(done.returncode == REFUSED and "quarantined" in done.stderr,
                    f"{store}, moved at once: store copy exits with {done.returncode}: "
                    f"{done.stderr.strip().splitlines()[-1]}")
        checks.that(history.stopped(history.one), "the instance that knows more has objected")
        # The time of ids went back as well, if some was reserved after the copy was taken.
        run_keymill("recover", "ids", "--store", history.store.url, cwd=host)
        steps = [run_keymill(*words, cwd=host) for words in
                 (("recover", "default", "--store", history.store.url), copy)]
        codes = [done.returncode for done in steps]
        minted = run_keymill("mint", "-n", 20 * BLOCK, "--store", "sqlite:new.db", cwd=host)
        history.fleet.record(minted.stdout.split())
        checks.that(codes == [0, 0] and minted.returncode == 0,
                    f"recover and store copy exit with {codes}, and the new store mints; "
                    f"{[done.stderr.strip().splitlines()[-1:] for done in steps]}")
        found = history.fleet.verify(checks)
    return found["keys"]


def mint_until_it_grows(history, server):
    """Key by key, until it has reserved another block: its next numbers are of an earlier one."""
    def reserved():
        return server.metric("keymill_blocks_reserved_total", keyspace="default")

    before = reserved()

    def grown():
        history.mint(server, 1 / BLOCK)
        return reserved() > before

    await_that(grown, "it reserves ahead")


def frozen_too_long(checks, directory, *, store, drained):
    """Whoever could tell is frozen for longer than anybody waits. It holds nothing, or a block of
    which the copy has the beginning. The others may have repeated its keys by then; it must notice
    all the same, and a recovery repeats no more."""
    with contextlib.ExitStack() as stack:
        history = History(stack, directory, store)
        one, other = history.one, history.other
        for server in (one, other):
            history.mint(server, 3)
        freeze_idle(other, history.store)
        history.mint(one, 3)
        history.take_copy()
        if drained:
            history.mint(one, 20)
        else:
            mint_until_it_grows(history, one)

        def drain_and_freeze():
            if drained:
                history.drain(one)
            freeze_idle(one, history.store)

        history.store.put_back((), [other], drain_and_freeze)
        history.mint(other, 50)  # Beyond all that the frozen one has seen.
        one.signal(signal.SIGCONT)
        waited = await_seconds(lambda: history.stopped(one) and history.stopped(other),
                               NOTICE_SECONDS)
        holding = "holding nothing" if drained else "holding a block"
        checks.that(waited is not None, f"{store}, frozen too long, {holding}: all stop "
                    f"{'in vain' if waited is None else f'{waited:.2f} s'} after it is back")
        done = history.recover(other)
        checks.that(done.returncode == 0, f"recover exits with {done.returncode}")
        before = history.fleet.recorded
        for server in (one, other):
            server.stop()
            server.start()
            history.mint(server, 50)
        keys = (directory / "other-keys-0").read_text(encoding="ascii").split()
        again = len(keys) - before - len(set(keys[before:]) - set(keys[:before]))
        checks.that(again == 0, f"of {len(keys) - before:,} keys after recover, {again} come again")
        repeated = before - len(set(keys[:before]))
        checks.note(f"{repeated:,} of {before:,} had come twice before")
    return len(keys), repeated


def other_kinds(checks, directory, *, store):
    """Time for ids went back as well, and where the store can have a pool, keys that were taken are
    available again."""
    kinds = ("ids",) if store == "etcd" else ("ids", "codes")
    with contextlib.ExitStack() as stack:
        history = History(stack, directory, store)
        servers = history.fleet.servers
        keys = {kind: [] for kind in kinds}

        def ask(server, kind):
            answer = server.ask("POST", f"/v1/keyspaces/{kind}/keys?count={BLOCK}")
            if answer.status == 200:
                keys[kind] += answer.json["keys"]
            return answer

        def mint_for(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for server, kind in itertools.product(servers, kinds):
                    await_that(lambda: ask(server, kind).status == 200, f"{kind} are minted")

        def stopped(server, kind):
            answer = ask(server, kind)
            return answer.status == 503 and answer.json["type"].endswith("keyspace-quarantined")

        if "codes" in kinds:
            servers[0].ask("PUT", "/v1/keyspaces/codes", {"kind": "pool"})
        mint_for(1)
        history.take_copy()
        mint_for(3)  # Until every window of time and every batch of keys is a later one.
        for server in servers:
            history.mint(server, 5)
        history.put_back()
        waited = await_seconds(lambda: all(stopped(server, kind) for server, kind in
                                           itertools.product(servers, kinds)), NOTICE_SECONDS)
        checks.that(waited is not None, f"{store}, {' and '.join(kinds)}: all stop "
                    f"{'in vain' if waited is None else f'after {waited:.2f} s'}")
        done = [run_keymill("recover", kind, "--store", history.store.url,
                            cwd=history.other.directory) for kind in ("default", *kinds)]
        checks.that(not any(each.returncode for each in done), "recover of each exits with "
                    f"{[(each.returncode, each.stderr.splitlines()[-1:]) for each in done]}")
        for server in servers:
            server.stop()
            server.start()
        mint_for(3)
        for kind, got in keys.items():
            checks.that(len(set(got)) == len(got), f"{store}: {len(got):,} {kind}, "
                        f"{len(got) - len(set(got))} came twice")
    return sum(map(len, keys.values()))


def old_copies(checks, directory, *, stores, rounds):
    """Every case on every store, `rounds` times."""
    directory.chmod(0o755)  # Some servers run as users of their own.
    total, slowest, count = 0, 0, 0
    frozen, repeated, others = 0, 0, 0
    for _ in range(rounds):
        for store in stores:
            with tempfile.TemporaryDirectory(dir=directory) as folder:
                others += other_kinds(checks, pathlib.Path(folder), store=store)
            for case in CASES:
                with tempfile.TemporaryDirectory(dir=directory) as folder:
                    keys, waited = old_copy(checks, pathlib.Path(folder), store=store, case=case)
                total, slowest, count = total + keys, max(slowest, waited), count + 1
            if store != "sqlite":  # Its file shares its directory with whoever has seen more.
                with tempfile.TemporaryDirectory(dir=directory) as folder:
                    total += moved_at_once(checks, pathlib.Path(folder), store=store)
                count += 1
                for drained in (True, False):
                    with tempfile.TemporaryDirectory(dir=directory) as folder:
                        keys, twice = frozen_too_long(checks, pathlib.Path(folder), store=store,
                                                      drained=drained)
                    frozen += 1
                    total, repeated = total + keys, repeated + twice
    return (f"{count} old copies put back in {len(stores)} stores: everybody stops within "
            f"{slowest:.2f} s, and goes on after recover, 0 duplicates; {frozen} more while the "
            f"one that knew was frozen for longer than the others wait: {repeated:,} keys came "
            f"twice before it had noticed, 0 after recover; {total:,} keys; {others:,} ids and "
            f"keys of pools over {rounds * len(stores)} more, 0 duplicates")
