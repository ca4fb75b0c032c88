#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Servers whose store is a cluster of etcd: alone, killed, locked, wrongly set up."""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import (Load, Server, await_that, build_program, duplicates, run_keymill,
                             scaled)
from server_etcd import enable_auth
from store_servers import start_server
from store_shell import StoreShell

REFUSED = 78


class Etcd(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.directory = pathlib.Path(self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix="keymill-etcd-")))

    def cluster(self, **options):
        place = self.directory / "etcd"
        place.mkdir()
        return self.stack.enter_context(start_server("etcd", place, **options))

    def host(self, name):
        """A directory of its own, as another host would have."""
        path = self.directory / name
        path.mkdir()
        return path

    def servers(self, url, count=3, **env):
        servers = [Server(self.host(f"host{number}"), "--store", url, env=env)
                   for number in range(count)]
        for server in servers:
            server.launch()
            self.stack.callback(server.kill)
        for server in servers:
            server.await_ready()
        return servers

    def assert_unique(self, keys, figures):
        found = duplicates(keys)
        self.assertEqual(found["keys"], figures["keys"])
        self.assertGreater(found["keys"], 0)
        self.assertEqual(found["duplicate_keys"], 0)

    def test_servers_on_several_hosts_share_a_cluster(self):
        servers = self.servers(self.cluster().url("mill"))
        keys = self.directory / "keys"
        with Load([server.port for server in servers], keys, connections=scaled(100),
                  requests=scaled(100_000)) as load:
            figures = load.finish()
        self.assertEqual(figures["ok"], scaled(100_000))
        self.assert_unique(keys, figures)
        for server in servers:
            self.assertEqual(server.stop(), 0)

    def test_a_leader_that_is_killed_costs_no_key_its_uniqueness(self):
        cluster = self.cluster()
        # Tiny blocks that do not grow keep every server reserving.
        servers = self.servers(cluster.url("mill"), KEYMILL_BLOCK_SIZE="50",
                               KEYMILL_BLOCK_GROWTH="off", KEYMILL_RUNWAY_TARGET="1s")
        keys = self.directory / "keys"
        with Load([server.port for server in servers], keys, connections=scaled(60, 6),
                  duration=10, reconnect=True) as load:
            for _ in range(3):
                time.sleep(1.5)
                killed = cluster.kill_leader()
                cluster.leader()
                killed.start()
            figures = load.finish()
        self.assert_unique(keys, figures)
        for server in servers:
            server.await_key()
            self.assertEqual(server.stop(), 0)

    def test_an_old_copy_of_the_cluster_is_noticed(self):
        cluster = self.cluster()
        def mint():
            return run_keymill("mint", "--store", cluster.url("mill"), cwd=self.directory)
        self.assertEqual(mint().returncode, 0)
        cluster.kill()
        cluster.copy_data(self.directory / "copy")
        cluster.start()
        self.assertEqual(mint().returncode, 0)
        cluster.kill()
        cluster.restore_data(self.directory / "copy")
        cluster.start()
        for _ in range(2):
            refused = mint()
            self.assertEqual(refused.stdout, "")
            self.assertIn("went back", refused.stderr)

    def shell(self, cluster):
        return self.stack.enter_context(StoreShell(cluster.url("mill")))

    def assert_stops(self, shell, keyspace, timeline):
        """Nothing is reserved, or changed in any other way."""
        before = shell.expect("find", "k")
        # A witness that would quarantine it.
        answer = " ".join(shell.ask("reserve", keyspace, 1, timeline, 10 ** 9, 0))
        self.assertRegex(answer, "^kUnavailable .* started anew")
        self.assertEqual(shell.expect("find", "k"), before)

    def test_an_old_copy_is_another_timeline_also_when_its_term_comes_again(self):
        cluster = self.cluster(members=1)
        with self.shell(cluster) as idle:
            keyspace, = idle.expect("establish", "k")
            born = idle.timelines()
            self.assertEqual(*born, "nobody can know better than who makes it")
            idle.expect("reserve", keyspace, 1, born[0], 0, 0)
            cluster.kill()
            cluster.copy_data(self.directory / "copy")
            cluster.start()
            self.assert_stops(idle, keyspace, born[0])
            lost = idle.agree()
            self.assertNotEqual(lost, born[0])
            idle.expect("reserve", keyspace, 1, lost, 0, 0)
            cluster.kill()
            cluster.restore_data(self.directory / "copy")
            cluster.start()
            fresh = self.shell(cluster)
            present, agreed = fresh.timelines()
            self.assertEqual(agreed, born[0], "what the copy holds")
            self.assertEqual(present.split("-")[:2], lost.split("-")[:2],
                             "with another cluster or term this test shows nothing")
            # Others write so much that the revision is above all that was seen.
            for number in range(20):
                fresh.expect("establish", f"other{number}")
            self.assert_stops(fresh, keyspace, lost)
            self.assert_stops(idle, keyspace, lost)
            self.assert_stops(fresh, keyspace, present)
            again = fresh.agree()
            self.assertEqual(again, present)
            self.assertEqual(idle.timelines(), (again, again), "what one agreed on holds for all")
            idle.expect("reserve", keyspace, 1, again, 0, 0)

    def test_a_restored_snapshot_is_another_timeline_for_those_who_were_there_and_for_others(self):
        cluster = self.cluster(members=1)
        member = cluster.members[0]
        there = self.shell(cluster)
        keyspace, = there.expect("establish", "k")
        timeline = there.timelines()[0]
        for _ in range(300):
            there.expect("reserve", keyspace, 1, timeline, 0, 0)
        snapshot = self.directory / "snapshot"
        def etcdctl(*words):
            subprocess.run(["etcdctl", *words], check=True, capture_output=True,
                           env={**os.environ, "ETCDCTL_API": "3"})
        etcdctl("--endpoints", f"127.0.0.1:{member.port}", "snapshot", "save", str(snapshot))
        there.expect("reserve", keyspace, 1, timeline, 0, 0)
        cluster.kill()
        shutil.rmtree(member.data)
        peer = f"http://127.0.0.1:{member.peer_port}"
        etcdctl("snapshot", "restore", str(snapshot), "--name", member.name,
                "--data-dir", str(member.data), "--initial-cluster", f"{member.name}={peer}",
                "--initial-advertise-peer-urls", peer, "--initial-cluster-token", "keymill-test")
        cluster.start()
        self.assert_stops(there, keyspace, timeline)
        fresh = self.shell(cluster)
        for shell in (there, fresh):
            present, agreed = shell.timelines()
            self.assertEqual(agreed, timeline, "what the snapshot holds")
            self.assertNotEqual(present, timeline)
            self.assertEqual(present.split("-")[:2], timeline.split("-")[:2],
                             "with another cluster or term this test shows nothing")
            self.assert_stops(shell, keyspace, timeline)
        again = there.agree()
        self.assertEqual(fresh.timelines(), (again, again))
        fresh.expect("reserve", keyspace, 1, again, 0, 0)

    def test_an_election_is_another_timeline_and_a_follower_that_restarts_is_none(self):
        cluster = self.cluster()
        shell = self.shell(cluster)
        keyspace, = shell.expect("establish", "k")
        timeline = shell.timelines()[0]
        leader = cluster.leader()
        follower = next(member for member in cluster.members if member is not leader)
        follower.kill()
        shell.expect("reserve", keyspace, 1, timeline, 0, 0)
        follower.start()
        shell.expect("reserve", keyspace, 1, timeline, 0, 0)
        self.assertEqual(shell.timelines(), (timeline, timeline))
        leader.kill()
        await_that(lambda: any(member.answers() for member in cluster.members if member != leader),
                   "there is another leader")
        self.assert_stops(shell, keyspace, timeline)
        self.assertNotEqual(shell.agree(), timeline)
        leader.start()
        shell.expect("reserve", keyspace, 1, shell.timelines()[0], 0, 0)

    def test_a_password_is_checked_and_never_shown(self):
        cluster = self.cluster(members=1)
        enable_auth(cluster, "mill", "right", "mine")
        def mint(user, prefix="mine"):
            return run_keymill("mint", "-n", "2", "--store", cluster.url(prefix, user),
                               cwd=self.directory)
        done = mint("mill:right@")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.split()), 2)
        wrong = mint("mill:hunter2@")
        self.assertEqual(wrong.returncode, REFUSED, wrong.stderr)
        self.assertIn("check user and password", wrong.stderr)
        self.assertNotIn("hunter2", wrong.stderr)
        self.assertIn("wants etcd://USER:PASSWORD@", mint("").stderr)
        (self.directory / "data").rename(self.directory / "old")
        self.assertIn("permission denied", mint("mill:right@", "theirs").stderr)

    def test_rights_that_are_taken_away_for_a_moment_stop_nobody_for_good(self):
        cluster = self.cluster(members=1)
        enable_auth(cluster, "mill", "right", "mine")
        member = cluster.members[0]
        server = self.stack.enter_context(Server(
            self.host("one"), "--store", cluster.url("mine", "mill:right@"), "--block-size", "20",
            "--block-growth", "off", "--runway-target", "1s", "--request-timeout", "500ms"))
        keys = server.mint(count=10)
        role = {"user": "mill", "role": "mill"}
        changes = ((("revoke", {"name": "mill", "role": "mill"}), ("grant", role)),
                   (("changepw", {"name": "mill", "password": "new"}),
                    ("changepw", {"name": "mill", "password": "right"})))

        def mint():
            answer = server.ask("POST", "/v1/keyspaces/default/keys?count=100")
            if answer.status == 200:
                keys.extend(answer.json["keys"])
            return answer

        def change(call, body):
            # Every change of rights makes older tokens invalid, sooner or later.
            root = member.ask("/v3/auth/authenticate",
                              {"name": "root", "password": "rootpw"})["token"]
            member.ask(f"/v3/auth/user/{call}", body, token=root)

        for spoil, mend in changes:
            change(*spoil)
            await_that(lambda: mint().status == 503, f"{spoil[0]}: nothing is left")
            self.assertIn('"store-unavailable"', mint().text)
            change(*mend)
            await_that(lambda: mint().status == 200, f"{mend[0]}: it goes on")
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(server.stop(), 0)

    def test_tls_is_spoken_and_the_certificate_is_checked(self):
        cluster = self.cluster(members=1, tls=True)
        cacert = cluster.directory / "cert.pem"
        def mint(parameters):
            return run_keymill("mint", "-n", "2", "--store", cluster.url("mill") + parameters,
                               cwd=self.directory)
        done = mint(f"?cacert={cacert}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.split()), 2)
        unknown = mint("?tls=on")
        self.assertEqual(unknown.returncode, REFUSED, unknown.stderr)
        self.assertIn("self-signed certificate", unknown.stderr)
        self.assertIn("there is no parameter", mint("?cafile=x").stderr)

    def inspect(self, cluster):
        """The findings as (check, unsafe or warning)."""
        done = subprocess.run([build_program("inspect_store"), cluster.url("mill")],
                              capture_output=True, text=True, check=True)
        found = [line.split(":")[0].split() for line in done.stdout.splitlines()]
        return [(check, severity) for severity, check in found]

    def test_a_single_member_and_an_old_version_are_remarked_on(self):
        found = self.inspect(self.cluster(members=1))
        self.assertIn(("members", "warning"), found)
        # Debian 12 has 3.4.23.
        self.assertIn(("version", "warning"), found)
        self.assertNotIn("unsafe", [severity for _, severity in found])

    def test_a_cluster_that_does_not_sync_is_unsafe(self):
        cluster = self.cluster(members=1, flags=["--unsafe-no-fsync"])
        self.assertIn(("fsync", "unsafe"), self.inspect(cluster), "before anything is in it")
        refused = run_keymill("mint", "--store", cluster.url("mill"), cwd=self.directory)
        self.assertEqual((refused.returncode, refused.stdout), (REFUSED, ""))
        self.assertIn("without --unsafe-no-fsync", refused.stderr)

    def test_a_member_that_is_away_is_remarked_on(self):
        cluster = self.cluster()
        cluster.members[2].kill()
        found = self.inspect(cluster)
        self.assertIn(("member", "warning"), found)
        self.assertNotIn(("members", "warning"), found)

    def test_keys_that_are_remembered_one_by_one_are_refused(self):
        url = self.cluster().url("mill")
        host = self.host("host")
        for verb in (("claim", "default", "my-link"),
                     ("audit", "--keyspace", "default"),
                     ("keyspace", "create", "pages", "--kind", "derived"),
                     ("keyspace", "create", "codes", "--kind", "pool")):
            with self.subTest(verb=verb):
                done = run_keymill(*verb, "--store", url, cwd=host)
                self.assertEqual(done.returncode, REFUSED, done.stdout + done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertIn("need SQLite, PostgreSQL, MariaDB or Redis", done.stderr)
        done = run_keymill("mint", "--store", url, cwd=host)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_single_keys_cannot_be_copied_to_it(self):
        host = self.host("host")
        self.assertEqual(run_keymill("mint", cwd=host).returncode, 0)
        with contextlib.closing(sqlite3.connect(host / "data/keymill.db")) as database, database:
            database.execute(
                "INSERT INTO keymill_key SELECT id, 'k1', 'available', 1, '', '', '', NULL, 0, 0, "
                "x'' FROM keymill_keyspaces WHERE name = 'default'")
        url = self.cluster().url("mill")
        done = run_keymill("store", "copy", "sqlite:keymill.db", url, cwd=host)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("keyspace default", done.stderr)
        self.assertIn("1 keys that are remembered one by one", done.stderr)
        self.assertIn("copy to SQLite, PostgreSQL, MariaDB or Redis", done.stderr)
        done = run_keymill("mint", cwd=host)
        self.assertEqual(done.returncode, 0, f"nothing was sealed: {done.stderr}")
        done = run_keymill("store", "copy", "sqlite:keymill.db", "sqlite:other.db", cwd=host)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("of the ledger, 1 key.", done.stderr)

    def test_an_answer_that_no_retry_gets_again_is_in_nobodys_way(self):
        host = self.host("host")
        self.assertEqual(run_keymill("mint", cwd=host).returncode, 0)
        with contextlib.closing(sqlite3.connect(host / "data/keymill.db")) as database, database:
            database.execute(
                "INSERT INTO keymill_key SELECT id, '#retry/0', 'note', 1, '', '', '', NULL, 1, 0, "
                "x'' FROM keymill_keyspaces WHERE name = 'default'")
        cluster = self.cluster()
        done = run_keymill("store", "copy", "sqlite:keymill.db", cluster.url("mill"), cwd=host)
        self.assertEqual(done.returncode, 0, done.stderr)
        # As when somebody adds a key just before the seal: only another store helps then.
        with contextlib.closing(sqlite3.connect(host / "data/keymill.db")) as database, database:
            database.execute("UPDATE keymill_key SET key_text = 'k1', state = 'alias'")
        done = run_keymill("store", "copy", "--instead", "sqlite:keymill.db",
                           cluster.url("other"), cwd=host)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("MariaDB or Redis, with --instead", done.stderr)
        self.assertNotIn("same command", done.stderr)


if __name__ == "__main__":
    unittest.main()
