# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Ids made of time: many at once, with clocks that jump, processes that sleep, and crashes."""

import contextlib
import json
import os
import signal
import subprocess
import time

from keymill_process import Server, await_that, build_program
from store_fleet import start_store, store_url

CONFIG = "keyspaces: {ids: {kind: snowflake}}\nrunway_target: 2s\n"
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
# What happens to the wall clock of a running process.
STEPS = ("-0.001", "-0.005", "-0.128", "-1", "-1h", "-1d", "+1h", "+10y")


class Ids:
    """All ids that anybody has got. Each must come once."""

    def __init__(self):
        self.seen = set()
        self.repeated = 0

    def add(self, keys):
        for key in keys:
            if key in self.seen:
                self.repeated += 1
            self.seen.add(key)

    def __len__(self):
        return len(self.seen)


def answer(server, count):
    return server.ask("POST", f"/v1/keyspaces/ids/keys?count={count}")


def serves_within(server, ids, seconds, count=100):
    """Seconds until `count` ids came; None when they did not in time."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        got = answer(server, count)
        if got.status == 200:
            ids.add(got.json["keys"])
            return time.monotonic() - began
        time.sleep(0.01)
    return None


def mint_many(checks, directory, *, store, threads, instances, keys):
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
                 "--keys", str(keys // instances), "--out", path], stdout=subprocess.PIPE))
        codes = [process.wait() for process in running]
        checks.that(not any(codes), f"{store}: {instances} processes made their ids")
        done = subprocess.run([program, "check", *files], stdout=subprocess.PIPE, check=False)
        figures = json.loads(done.stdout)
        for path in files:
            path.unlink()
    checks.that(figures["ids"] == keys // instances * instances and figures["repeated"] == 0,
                f"{store}: {figures['ids']:,} ids, {figures['repeated']} came twice")
    return f"{store}: {figures['ids']:,} ids of {instances} × {threads} threads, 0 duplicates"


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

    def __init__(self, directory, offset="+0", **options):
        self.offset_path = directory / "offset"
        self.set_clock(offset)
        super().__init__(directory, config=CONFIG, env={
            "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(self.offset_path),
            "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1"}, **options)

    def set_clock(self, offset):
        """Relative to the real one: "-1h". The file changes at once, or not at all."""
        draft = self.offset_path.with_suffix(".new")
        draft.write_text(offset + "\n", encoding="ascii")
        draft.rename(self.offset_path)


def clock_steps(checks, directory, *, rounds):
    """Every step while it runs, every step over a crash, and over a clean stop."""
    ids = Ids()
    steps = 0
    for number in range(rounds):
        for way in ("running", "crash", "stop"):
            place = directory / f"{number}-{way}"
            place.mkdir()
            server = ClockServer(place)
            with server:
                await_that(lambda: serves_within(server, ids, 1) is not None, "it makes ids")
                for step in STEPS:
                    if way == "crash":
                        server.kill()
                    elif way == "stop":
                        server.stop()
                    server.set_clock(step)
                    if way != "running":
                        server.start()
                    steps += 1
                    took = serves_within(server, ids, 5)
                    checks.that(took is not None, f"{way}, {step}: it makes ids again"
                                + (f" after {took:.2f} s" if took is not None else ""))
                    serves_within(server, ids, 5, 10_000)
                    server.set_clock("+0")
                    if way == "running":
                        serves_within(server, ids, 5, 10_000)
    checks.that(ids.repeated == 0, f"{len(ids):,} ids over {steps} steps of the clock, "
                f"{ids.repeated} came twice")
    return f"{steps} steps of the clock, {len(ids):,} ids, 0 duplicates"


def frozen(checks, directory, *, rounds):
    """Stopped for longer than its time lasts, while another takes its place."""
    ids = Ids()
    shared = ["--data-dir", str(directory / "data"), "--store", f"sqlite:{directory}/keymill.db"]
    env = {"POD_NAME": "keymill-5"}
    with Server(directory, *shared, config=CONFIG, env=env) as sleeper:
        checks.that(serves_within(sleeper, ids, 5) is not None, "it makes ids")
        for _ in range(rounds):
            os.kill(sleeper.pid, signal.SIGSTOP)
            with Server(directory, *shared, env=env) as other:
                time.sleep(2.5)  # Longer than runway_target.
                checks.that(serves_within(other, ids, 5) is not None, "another makes ids")
                os.kill(sleeper.pid, signal.SIGCONT)
                for _ in range(20):
                    serves_within(sleeper, ids, 5, 5_000)
                    serves_within(other, ids, 5, 5_000)
                other.stop()
    checks.that(ids.repeated == 0, f"{rounds} times asleep: {len(ids):,} ids, {ids.repeated} came "
                "twice")
    return f"asleep {rounds} times: {len(ids):,} ids, 0 duplicates"


def one_ordinal(checks, directory, *, rounds):
    """Two pods that both believe to be the third."""
    ids = Ids()
    shared = ["--data-dir", str(directory / "data"), "--store", f"sqlite:{directory}/keymill.db"]
    env = {"POD_NAME": "keymill-3"}
    for _ in range(rounds):
        first = Server(directory, *shared, config=CONFIG, env=env).launch()
        second = Server(directory, *shared, env=env).launch()
        with first, second:
            for server in (first, second):
                server.await_ready()
                checks.that(serves_within(server, ids, 5) is not None, "it makes ids")
            for _ in range(20):
                serves_within(first, ids, 5, 5_000)
                serves_within(second, ids, 5, 5_000)
    checks.that(ids.repeated == 0, f"two pods with one ordinal, {rounds} times: {len(ids):,} ids, "
                f"{ids.repeated} came twice")
    return f"one ordinal twice, {rounds} times: {len(ids):,} ids, 0 duplicates"


def crashes(checks, directory, *, rounds, seconds_max=1.0):
    """kill -9, and how soon it makes ids again, although its worker id is still taken."""
    ids = Ids()
    slowest = 0.0
    config = "keyspaces: {ids: {kind: snowflake}}\n"  # With a window of a minute.
    with Server(directory, config=config, env={"POD_NAME": "keymill-1"}) as server:
        checks.that(serves_within(server, ids, 5) is not None, "it makes ids")
        for _ in range(rounds):
            server.kill()
            began = time.monotonic()
            server.start()
            took = serves_within(server, ids, 5)
            slowest = max(slowest, time.monotonic() - began if took is not None else 60.0)
    checks.that(slowest <= seconds_max, f"back within {slowest:.2f} s after {rounds} crashes (at "
                f"most {seconds_max:.0f})")
    checks.that(ids.repeated == 0, f"{len(ids):,} ids, {ids.repeated} came twice")
    return f"{rounds} crashes: back within {slowest:.2f} s"
