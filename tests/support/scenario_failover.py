# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""PostgreSQL with a synchronous standby: the primary dies, the standby takes over, again and
again, and no instance is told."""

import contextlib
import random
import shutil
import time

from fleet import SMALL_BLOCKS, Fleet, blocks_reserved
from keymill_process import await_that
from store_servers import await_seconds, start_server

INSTANCES = 3
BLOCK = 2000
SERVING_SECONDS = 10
# Whoever is primary acknowledges nothing that its standby does not have: neither while there is
# none, after a promotion.
SETTINGS = {"synchronous_standby_names": "standby"}


class Pair:
    """A primary and its standby, which change places."""

    def __init__(self, stack, directory):
        for name in ("one", "two"):
            (directory / name).mkdir()
        self.primary = stack.enter_context(start_server("postgres", directory / "one",
                                                        settings=SETTINGS))
        self.standby = stack.enter_context(start_server("postgres", directory / "two",
                                                        settings=SETTINGS, primary=self.primary))
        self._await_sync()

    def url(self):
        hosts = ",".join(f"127.0.0.1:{port}"
                         for port in sorted((self.primary.port, self.standby.port)))
        return f"postgres://postgres@{hosts}/postgres?schema=mill&target_session_attrs=read-write"

    def fail_over(self):
        self.primary.kill()
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rebuild(self):
        """What was the primary begins anew as the standby of the other one."""
        shutil.rmtree(self.standby.data)
        self.standby.primary = self.primary
        self.standby.make()
        self.standby.start()
        self._await_sync()

    def _await_sync(self):
        await_that(lambda: self.primary.sql("SELECT sync_state FROM pg_stat_replication "
                                            "WHERE state = 'streaming'") == ["sync"],
                   "the standby follows")

    def timeline(self):
        """Grows with every promotion."""
        return int(self.primary.sql("CHECKPOINT; SELECT timeline_id FROM "
                                    "pg_control_checkpoint()")[0])


def failover(checks, directory, *, promotions, serving_seconds=SERVING_SECONDS):
    directory.chmod(0o755)  # The servers run as a user of their own.
    between, waited = [], []
    with contextlib.ExitStack() as stack:
        pair = Pair(stack, directory)
        fleet = Fleet(stack, directory, pair.url(), INSTANCES, "--block-size", BLOCK,
                      *SMALL_BLOCKS).start()
        pids = [server.pid for server in fleet.servers]
        fleet.stream()
        fleet.load(connections=30, rate=500)
        for _ in range(promotions + 1):
            before = fleet.streamed()
            blocks = {server: blocks_reserved(server) for server in fleet.servers}
            seconds = await_seconds(lambda: all(blocks_reserved(server) > count for server, count
                                                in blocks.items()), 6 * SERVING_SECONDS)
            waited.append(float("inf") if seconds is None else seconds)
            time.sleep(random.uniform(0.3, 1))
            between.append(fleet.streamed() - before)
            if len(between) <= promotions:
                pair.fail_over()
                pair.rebuild()
        timeline = pair.timeline()
        fleet.end_load()
        checks.that(timeline == promotions + 1,
                    f"{promotions} promotions: the database is in its timeline {timeline}")
        checks.that([server.pid for server in fleet.servers if server.running()] == pids,
                    f"{len(pids)} instances have run all the time")
        troubled = [line for server in fleet.servers for line in server.log().splitlines()
                    if "quarantine" in line]
        checks.that(not troubled, f"nobody found the database behind: {troubled[:1] or 'nothing'}")
        codes = [server.stop() for server in fleet.servers]
        checks.that(codes == [0] * len(codes), f"they stop with {codes}")
        found = fleet.verify(checks, sum(between))
    checks.that(min(between) > 0, f"between two promotions at least {min(between):,} keys were "
                f"streamed, in the middle {sorted(between)[len(between) // 2]:,}")
    checks.that(max(waited) <= serving_seconds, "with a standby in place every instance reserves "
                f"again within {max(waited):.2f} s")
    return (f"{found['keys']:,} keys of {INSTANCES} instances over {promotions} promotions, "
            f"{found['duplicate_keys']} duplicates, at least {min(between):,} keys between two, "
            f"back within {max(waited):.2f} s of the new standby")
