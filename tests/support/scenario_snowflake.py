# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Ids made of time: many at once, with clocks that jump, processes that sleep, and crashes."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sysconfig
import time

from keymill_process import Server, await_that, build_program
from store_fleet import make_folder, start_store, store_url

CONFIG = "keyspaces: {ids: {kind: snowflake}}\nrunway_target: 2s\n"
FAKETIME = f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/faketime/libfaketime.so.1"
EPOCH_MS = 1735689600000  # 2025-01-01
WINDOW_SECONDS = 2  # Of time that an instance reserves; as runway_target in CONFIG.
# What happens to the wall clock of a running process.
STEPS = ("-0.001", "-0.005", "-0.128", "-1", "-1h", "-1d", "+1h", "+10y")


def worker_of(key):
    return int(key) >> 12 & 1023


def seconds_of(key):
    """The time that an id carries, as time.time() has it."""
    return ((int(key) >> 22) + EPOCH_MS) / 1000


class Ids:
    """All ids that anybody has got. Each must come once; and because two that make ids of the same
    time and worker need not meet in the sequence, nobody may have a millisecond of another one."""

    def __init__(self):
        self.seen = set()
        self.owners = {}  # Of a worker's milliseconds.
        self.repeated = 0
        self.shared = set()
        self.last = None

    def add(self, keys, owner):
        for key in keys:
            if key in self.seen:
                self.repeated += 1
            self.seen.add(key)
        for moment in {int(key) >> 12 for key in keys}:
            if self.owners.setdefault(moment, owner) != owner:
                self.shared.add(moment)
        self.last = keys[-1]

    def __len__(self):
        return len(self.seen)

    def check(self, checks, what):
        checks.that(self.repeated == 0 and not self.shared,
                    f"{what}: {len(self):,} ids, {self.repeated} came twice; {len(self.shared)} "
                    f"of {len(self.owners):,} milliseconds of a worker were used by two")


def answer(server, count):
    return server.ask("POST", f"/v1/keyspaces/ids/keys?count={count}")


def serves_within(server, ids, seconds, count=100):
    """Seconds until `count` ids came; None when they did not in time."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        got = answer(server, count)
        if got.status == 200:
            ids.add(got.json["keys"], server.pid)
            return time.monotonic() - began
        time.sleep(0.01)
    return None


def serve_for(server, ids, seconds):
    """Some ids of as many milliseconds of that time as there are answers."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        serves_within(server, ids, 1, 10)


def mint_many(checks, directory, *, store, threads, instances, workers, keys):
    """Several processes with several threads each, on one store."""
    program = build_program("snowflake_mint")
    with contextlib.ExitStack() as stack:
        if store == "sqlite":
            urls = [f"sqlite:{directory}/keymill.db"] * instances
        else:
            urls = [store_url(start_store(stack, directory, store))] * instances
        files = [directory / f"ids.{number}" for number in range(instances)]
        running = []
        for number, (url, path) in enumerate(zip(urls, files)):
            # pylint: disable=consider-using-with
            running.append(subprocess.Popen(
                [program, "mint", "--store", url, "--data-dir", directory / f"data{number}"
                 if store != "sqlite" else directory / "data", "--threads", str(threads),
                 "--workers", str(workers), "--keys", str(keys // instances), "--out", path],
                stdout=subprocess.PIPE))
        codes = [process.wait() for process in running]
        checks.that(not any(codes), f"{store}: {instances} processes made their ids")
        done = subprocess.run([program, "check", *files], stdout=subprocess.PIPE, check=False)
        figures = json.loads(done.stdout)
        for path in files:
            path.unlink()
    checks.that(figures["ids"] == keys // instances * instances and figures["repeated"] == 0,
                f"{store}: {figures['ids']:,} ids, {figures['repeated']} came twice")
    checks.that(figures["workers"] >= instances * workers,
                f"of {figures['workers']} workers, {workers} at least in each process")
    return (f"{store}: {figures['ids']:,} ids of {instances} × {threads} threads, each with "
            f"{workers} worker ids, 0 duplicates")


def speed(checks, directory, *, workers, seconds, least=0.95):
    """What one process makes, beside what the format has."""
    program = build_program("snowflake_mint")
    keys = int(4096 * 1000 * workers * seconds)
    done = subprocess.run([program, "mint", "--store", f"sqlite:{directory}/w{workers}.db",
                           "--data-dir", directory / f"w{workers}", "--threads", "2",
                           "--workers", str(workers), "--keys", str(keys)],
                          stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout)
    share = figures["keys"] / figures["limit"]
    checks.that(share >= least, f"{workers} workers: {figures['keys'] / figures['seconds']:,.0f} "
                f"ids/s, {share:.1%} of what the format has (at least {least:.0%})")
    return f"{workers} workers {share:.1%} of the format's limit"


class ClockServer(Server):
    """A server whose wall clock a test can set."""

    def __init__(self, directory, *flags, offset="+0"):
        self.offset_path = directory / "offset"
        self.set_clock(offset)
        super().__init__(directory, *flags, config=CONFIG, env={
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(self.offset_path),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1"})

    def set_clock(self, offset):
        """Relative to the real one: "-1h". The file changes at once, or not at all."""
        draft = self.offset_path.with_suffix(".new")
        draft.write_text(offset + "\n", encoding="ascii")
        draft.rename(self.offset_path)


def clock_steps(checks, directory, *, store="sqlite", rounds):
    """Every step while it runs, every step over a crash, and over a clean stop. A server that is
    the store has a clock of its own, which stays right: who is ahead of it needs leave."""
    ids = Ids()
    steps = 0
    for number in range(rounds):
        for way in ("running", "crash", "stop"):
            with contextlib.ExitStack() as stack:
                place = make_folder(directory, f"{number}-{way}")
                flags = ()
                if store != "sqlite":
                    url = store_url(start_store(stack, make_folder(place, "store"), store))
                    flags = ("--store", url, "--accept-clock-ahead")
                server = stack.enter_context(ClockServer(place, *flags))
                await_that(lambda: serves_within(server, ids, 1) is not None, "it makes ids")
                for step in STEPS:
                    clock_step(checks, server, ids, way, step)
                    steps += 1
    ids.check(checks, f"{store}: {steps} steps of the clock")
    return f"{store}: {steps} steps of the clock, {len(ids):,} ids, 0 duplicates"


def clock_step(checks, server, ids, way, step):
    if way == "crash":
        server.kill()
    elif way == "stop":
        server.stop()
    server.set_clock(step)
    if way != "running":
        server.start()
    took = serves_within(server, ids, 5)
    checks.that(took is not None, f"{way}, {step}: it makes ids again"
                + (f" after {took:.2f} s" if took is not None else ""))
    serves_within(server, ids, 5, 10_000)
    if step == "+1h":
        check_offset(checks, ids, 3600, way)
    server.set_clock("+0")
    if way == "running":
        serves_within(server, ids, 5, 10_000)


def check_offset(checks, ids, seconds, what):
    """Whether its clock is another one at all: the newest id has that time."""
    off = seconds_of(ids.last) - time.time()
    checks.that(abs(off - seconds) < 60, f"{what}: the newest id is of {off:+,.0f} s, "
                f"{seconds:+,} expected")


def one_worker(checks, directory, *, rounds=1, steps=STEPS):
    """Every step over a restart that comes back as the same worker: only the time that was reserved
    keeps its ids from coming again, where another worker id would do so by itself."""
    ids = Ids()
    refused = 0
    for number in range(rounds):
        for way in ("crash", "stop"):
            for step in steps:
                place = directory / f"{number}-{way}{step}"
                place.mkdir()
                with ClockServer(place, "--worker-id", "7") as server:
                    refused += step_as_worker(checks, server, ids, way, step)
    workers = {moment & 1023 for moment in ids.owners}
    checks.that(workers == {7}, f"all ids are of worker 7: {workers}")
    count = rounds * 2 * len(steps)
    ids.check(checks, f"{count} restarts as the same worker")
    return f"{count} restarts as one worker, {len(ids):,} ids, 0 duplicates, {refused} refusals"


def step_as_worker(checks, server, ids, way, step):
    """Returns whether it made no ids with that clock, which is right where it went far back."""
    await_that(lambda: serves_within(server, ids, 1) is not None, "it makes ids")
    serve_for(server, ids, 1.5)  # So that the longest step that is waited for leads into it.
    if way == "crash":
        server.kill()
    else:
        server.stop()
    server.set_clock(step)
    server.start()
    far = step in ("-1h", "-1d")
    # The time that a crash has left reserved has to pass first.
    took = serves_within(server, ids, WINDOW_SECONDS if far else 4 * WINDOW_SECONDS)
    if far:
        told = answer(server, 1)
        checks.that(took is None and told.status in (503, 507),
                    f"worker 7, {way}, {step}: it makes no ids, and says: {told.text[:200]}")
        server.set_clock("+0")
        took = serves_within(server, ids, 4 * WINDOW_SECONDS)
    elif step == "+1h" and took is not None:
        check_offset(checks, ids, 3600, f"worker 7, {way}")
    checks.that(took is not None, f"worker 7, {way}, {step}: it makes ids again"
                + (f" after {took:.2f} s" if took is not None else f": {answer(server, 1).text}"))
    serve_for(server, ids, 1.5)
    return far


def shared_store(directory):
    return ["--data-dir", str(directory / "data"), "--store", f"sqlite:{directory}/keymill.db"]


def freeze(pid, database=None):
    """Stops a process; one on SQLite outside of its transactions, because the lock of a file stays
    with whoever sleeps, and nobody else gets anywhere then."""
    while True:
        os.kill(pid, signal.SIGSTOP)
        if database is None or can_lock(database):
            return
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)


def can_lock(database):
    with contextlib.closing(sqlite3.connect(database, timeout=0, isolation_level=None)) as session:
        try:
            session.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                return False
            raise
        session.execute("ROLLBACK")
    return True


def frozen(checks, directory, *, store="sqlite", rounds):
    """Stopped for longer than its time lasts, while another takes its place and its worker id."""
    ids = Ids()
    with contextlib.ExitStack() as stack:
        database = None
        if store == "sqlite":
            flags = shared_store(directory)
            database = directory / "keymill.db"
        else:
            flags = ["--store", store_url(start_store(stack, directory, store))]
        for number in range(rounds):
            sleep_once(checks, directory, flags, ids, worker=5 + number, database=database)
    ids.check(checks, f"{store}: {rounds} times asleep")
    return f"{store}: asleep {rounds} times: {len(ids):,} ids, 0 duplicates"


def sleep_once(checks, directory, flags, ids, *, worker, database):
    """`worker` has to be fresh: the time of one that was used is perhaps not over yet."""
    env = {"POD_NAME": f"keymill-{worker}"}
    with Server(directory, *flags, config=CONFIG, env=env) as sleeper:
        checks.that(serves_within(sleeper, ids, 5) is not None, "it makes ids")
        was = worker_of(ids.last)
        freeze(sleeper.pid, database)
        time.sleep(WINDOW_SECONDS + 1)
        with Server(directory, *flags, env=env) as other:
            took = serves_within(other, ids, 5)
            checks.that(took is not None and worker_of(ids.last) == was == worker,
                        f"another makes ids as worker {worker_of(ids.last)}, the sleeper was {was}")
            os.kill(sleeper.pid, signal.SIGCONT)
            for _ in range(20):
                for server in (sleeper, other):
                    checks.that(serves_within(server, ids, 5, 5_000) is not None,
                                f"awake again, {server.pid} makes ids")
            codes = [other.stop(), sleeper.stop()]
            checks.that(codes == [0, 0], f"both stop: {codes}")


def one_ordinal(checks, directory, *, store="sqlite", rounds):
    """Two pods that both believe to be the third, on one host or, with a server as the store, on
    two."""
    ids = Ids()
    with contextlib.ExitStack() as stack:
        if store == "sqlite":
            hosts = [(directory, shared_store(directory))] * 2
        else:
            url = store_url(start_store(stack, directory, store))
            hosts = [(make_folder(directory, name), ("--store", url)) for name in ("one", "other")]
        for number in range(rounds):
            one_ordinal_once(checks, ids, hosts, number)
    ids.check(checks, f"{store}: two pods with one ordinal, {rounds} times")
    return f"{store}: one ordinal twice, {rounds} times: {len(ids):,} ids, 0 duplicates"


def one_ordinal_once(checks, ids, hosts, number):
    env = {"POD_NAME": "keymill-3"}
    first, second = [Server(place, *flags, config=CONFIG, env=env).launch()
                     for place, flags in hosts]
    with first, second:
        workers = []
        for server in (first, second):
            server.await_ready()
            checks.that(serves_within(server, ids, 5) is not None, "it makes ids")
            workers.append(worker_of(ids.last))
        # Both is possible, one after the other: each has its own time of that worker.
        checks.that(3 in workers, f"round {number}: they are workers {workers}")
        for _ in range(20):
            serves_within(first, ids, 5, 5_000)
            serves_within(second, ids, 5, 5_000)
        # Gives the ordinal back for the next two.
        codes = [first.stop(), second.stop()]
        checks.that(codes == [0, 0], f"both stop: {codes}")


def clock_ahead(checks, directory, *, seconds=5):
    """A clock an hour ahead of that of the store: no ids, unless somebody says that it is right."""
    ids = Ids()
    with contextlib.ExitStack() as stack:
        store = ("--store", store_url(start_store(stack, directory, "postgres")))
        place = make_folder(directory, "host")
        with ClockServer(place, *store, offset="+1h") as server:
            took = serves_within(server, ids, seconds, 1)
            told = answer(server, 1)
            checks.that(took is None and told.status == 503 and
                        "accept_clock_ahead" in told.json["detail"],
                        f"an hour ahead: {len(ids)} ids in {seconds} s, and it says: {told.text}")
            server.set_clock("+0")
            took = serves_within(server, ids, 10)
            checks.that(took is not None, f"with the clock right it makes ids: {took}")
            server.stop()
        with ClockServer(place, *store, "--accept-clock-ahead", offset="+1h") as server:
            took = serves_within(server, ids, 10)
            checks.that(took is not None, f"with accept_clock_ahead it makes ids: {took}")
            check_offset(checks, ids, 3600, "accept_clock_ahead")
            server.stop()
    ids.check(checks, "a clock ahead")
    return f"an hour ahead of PostgreSQL: no id in {seconds} s without accept_clock_ahead"


def crashes(checks, directory, *, store="sqlite", rounds, seconds_max=1.0):
    """kill -9, and how soon it makes ids again, with another worker id: its own is still taken."""
    ids = Ids()
    slowest = 0.0
    config = "keyspaces: {ids: {kind: snowflake}}\n"  # With a window of a minute.
    with contextlib.ExitStack() as stack:
        flags = shared_store(directory) if store == "sqlite" else [
            "--store", store_url(start_store(stack, directory, store))]
        server = stack.enter_context(Server(make_folder(directory, "server"), *flags,
                                            config=config, env={"POD_NAME": "keymill-1"}))
        checks.that(serves_within(server, ids, 5) is not None, "it makes ids")
        workers = [worker_of(ids.last)]
        for _ in range(rounds):
            server.kill()
            began = time.monotonic()
            server.start()
            took = serves_within(server, ids, 5)
            slowest = max(slowest, time.monotonic() - began if took is not None else 60.0)
            workers.append(worker_of(ids.last))
    checks.that(slowest <= seconds_max, f"{store}: back within {slowest:.2f} s after {rounds} "
                f"crashes (at most {seconds_max:.0f})")
    checks.that(len(set(workers)) == rounds + 1, f"{store}: each time with another worker id: "
                f"{workers}")
    ids.check(checks, f"{store}: {rounds} crashes")
    return f"{store}: {rounds} crashes: back within {slowest:.2f} s, each time as another worker"
