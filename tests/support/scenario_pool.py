# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Pools: drained by instances that are killed at random, and what marking each key costs."""

import contextlib
import json
import random
import subprocess
import threading
import time

from keymill_process import Server, build_program
from store_fleet import make_folder, start_store, store_url

INSTANCES = 4
DRAINERS = 2  # For each instance.
PER_REQUEST = 500
# Of the keys, before all kills are done; the rest is for what they burn. With `audit: key` that is
# a second of what was asked for, each time.
KILLING_SHARE = {"batch": 0.3, "key": 0.1}
# What two million rows need of a server that is otherwise kept small.
MEMORY = {"mariadb": {"settings": ("innodb-buffer-pool-size=512M", "innodb-log-file-size=256M")}}


def pool_mint(verb, url, data, *flags):
    return subprocess.run([build_program("pool_mint"), verb, "--store", url, "--data-dir", data,
                           *map(str, flags)], stdout=subprocess.PIPE, check=True, text=True).stdout


def digits_for(keys):
    """So few that a second fill cannot but draw keys that were filled before."""
    return next(length for length in range(2, 12) if 36 ** length >= 4 * keys)


def rows_of(url, data):
    """The keys of the pool by state, as the store has them."""
    rows = {}
    for line in pool_mint("list", url, data).splitlines():
        state, key = line.split(" ", 1)
        rows.setdefault(state, set()).add(key)
    return rows


class Drain:
    """Asks instances for keys until there are none left and so many instances were killed, each of
    which is started again. Each `all_every`th time it is all of them at once, and `look`, which
    gets the keys that came so far, sees the store before anybody is back."""

    def __init__(self, servers, audit, keys, kills, *, all_every, look):
        self.servers = servers
        self.audit = audit
        self.kills = kills
        self.share = keys * KILLING_SHARE[audit] / kills  # From one kill to the next.
        self.all_every = all_every
        self.look = look
        self.random = random.Random(keys)
        self.lock = threading.Lock()
        self.got = []
        self.cut = 0
        self.killed = 0
        self.resumed = 0.0
        self.failures = []

    def wanted(self):
        """How many keys to ask for: few while somebody is to be killed, so that each kill meets
        requests under way; none while it is late, or the pool would be empty before."""
        if self.killed == self.kills:
            return PER_REQUEST
        if len(self.got) > self.share * (self.killed + 1.5):
            return 0
        return max(1, min(PER_REQUEST, int(self.share / 40))) if self.audit == "batch" else 1

    def ask(self, server):
        idle_since = time.monotonic()
        while not self.failures:
            count = self.wanted()
            if count == 0:
                idle_since = time.monotonic()
                time.sleep(0.001)
                continue
            try:
                answer = server.ask("POST", f"/v1/keyspaces/codes/keys?count={count}")
            except (OSError, EOFError, ValueError):
                answer = None
            except Exception:  # pylint: disable=broad-except
                answer = None  # http.client has many names for an answer that was cut off.
            if answer is not None and answer.status == 200:
                idle_since = time.monotonic()
                with self.lock:
                    self.got += answer.json["keys"]
                continue
            if answer is not None and answer.status == 507 and self.killed == self.kills:
                return
            with self.lock:
                self.cut += 1
            if time.monotonic() - max(idle_since, self.resumed) > 120:
                with self.lock:
                    self.failures.append(answer.text if answer else server.log()[-500:])
            time.sleep(0.02)

    def kill(self):
        """Spread over the first keys."""
        while self.killed < self.kills and not self.failures:
            with self.lock:
                due = len(self.got) >= self.share * (self.killed + 0.5)
            if not due:
                time.sleep(0.001)
                continue
            time.sleep(self.random.uniform(0, 0.01))
            if (self.killed + 1) % self.all_every == 0:
                self.kill_all()
            else:
                self.random.choice(self.servers).kill()
            for server in self.servers:
                if not server.running():
                    server.start()
            with self.lock:
                self.killed += 1

    def kill_all(self):
        """Under load, so that answers are on their way while their marks are written."""
        for server in self.servers:
            server.process.kill()
        for server in self.servers:
            server.kill()
        with self.lock:
            got = set(self.got)
        self.look(got)
        self.resumed = time.monotonic()

    def run(self):
        threads = [threading.Thread(target=self.ask, args=(server,))
                   for server in self.servers for _ in range(DRAINERS)]
        threads.append(threading.Thread(target=self.kill))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def drain(checks, directory, *, store, audit, keys, kills, all_every=4):
    """Fills a pool, drains it by four instances, and compares what came with what is stored."""
    what = f"{store}, audit: {audit}"
    with contextlib.ExitStack() as stack:
        if store == "sqlite":
            url, env = f"sqlite:{directory}/keymill.db", {"KEYMILL_DATA_DIR": f"{directory}/data"}
        else:
            url, env = store_url(start_store(stack, directory, store, **MEMORY.get(store, {}))), {}
        data = directory / "data"
        length = digits_for(keys)
        recipe = ("--audit", audit, "--length", length)
        pool_mint("fill", url, data, "--keys", keys, *recipe)
        filled = rows_of(url, data)["available"]
        checks.that(len(filled) == keys, f"{what}: {len(filled):,} keys were filled")
        servers = []
        for number in range(INSTANCES):
            server = Server(make_folder(directory, f"host{number}"),
                            env={**env, "KEYMILL_STORE": url, "KEYMILL_POOL_LOW": "0"})
            stack.callback(server.kill)
            servers.append(server.start())
        looks = []

        def look(got):
            used = rows_of(url, data).get("used", set())
            looks.append(len(got))
            checks.that(got <= used, f"{what}: all instances killed after {len(got):,} keys, "
                        f"{len(got - used)} of which are not marked used")

        draining = Drain(servers, audit, keys, kills, all_every=all_every, look=look)
        draining.run()
        looks.append(len(draining.got))
        checks.that(len(looks) > kills // all_every and 0 < looks[0] and
                    all(earlier < later for earlier, later in zip(looks, looks[1:])),
                    f"{what}: keys came before, between and after those kills: {looks}")
        checks.that(not draining.failures, f"{what}: instances served {draining.failures[:1]}")
        for server in servers:
            server.kill()
        got = set(draining.got)
        enough = len(draining.got) > keys * KILLING_SHARE[audit]
        checks.that(len(got) == len(draining.got) and enough and draining.killed == kills,
                    f"{what}: {len(draining.got):,} keys acknowledged, "
                    f"{len(draining.got) - len(got)} twice, {draining.killed} × kill -9, "
                    f"{len(looks) - 1} × of all, {draining.cut} requests in vain")
        rows = rows_of(url, data)
        used, everything = rows["used"], set().union(*rows.values())
        checks.that(not rows.get("available"), f"{what}: the pool is empty")
        checks.that(used <= filled and everything == filled,
                    f"{what}: {len(used - filled)} used keys were never filled")
        checks.that(got <= used, f"{what}: {len(got - used)} acknowledged keys are not marked used "
                    f"after kill -9 of all, of {len(used):,} that are")
        checks.that(sum(map(len, rows.values())) == len(everything),
                    f"{what}: every key is in one state")
        again = json.loads(pool_mint("fill", url, data, "--keys", max(1000, keys // 10), *recipe))
        now = rows_of(url, data)
        # It also meets some that it has just made itself, a twentieth as many.
        due = again["added"] * len(used) / 36 ** length
        checks.that(again["met"] > due / 4, f"{what}: a second fill of {again['added']:,} drew "
                    f"{again['met']:,} keys that were there, {due:,.0f} expected")
        checks.that(now["used"] == used and not now["available"] & used,
                    f"{what}: and has made none of the {len(used):,} used keys anew")
    return (f"{what}: {len(filled):,} filled, {len(used):,} used, {len(got):,} acknowledged, "
            f"0 twice, {draining.killed} kills")


def group_commit(checks, directory, *, keys, threads=64, least=10):
    """What each key costs when everybody who waits shares a transaction, and when nobody does."""
    with contextlib.ExitStack() as stack:
        url = store_url(start_store(stack, directory, "postgres"))
        rates = {}
        for group, count in ((1, keys), (10_000, keys * least)):
            done = json.loads(pool_mint("race", url, directory / "data", "--keys", count,
                                        "--threads", threads, "--group", group))
            rates[group] = done["keys"] / done["seconds"]
            checks.note(f"groups of up to {group}: {rates[group]:,.0f} keys/s")
    ratio = rates[10_000] / rates[1]
    checks.that(ratio >= least, f"{threads} callers, one key each: {rates[10_000]:,.0f} keys/s in "
                f"groups, {rates[1]:,.0f} one by one: {ratio:.1f} ×, wanted {least}")
    return f"{ratio:.1f} × with group commit ({rates[10_000]:,.0f} against {rates[1]:,.0f} keys/s)"
