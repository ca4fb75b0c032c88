#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""PostgreSQL as the store: several instances, and what can happen to the server and to them."""

import contextlib
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from certificates import make_certificate
from commit_cutter import LOSE_ANSWER, LOSE_COMMIT, PASS, STALL, CommitCutter
from keymill_process import Server, await_that, run_keymill, scaled, test_scale
from postgres_case import PostgresTest
from server_postgres import USER, binaries
from store_servers import await_seconds, give_to, server_user
from store_shell import StoreShell
from tcp_proxy import TO_SERVER, TcpProxy

REFUSED = 78
SMALL_BLOCKS = ("--block-size", "20", "--block-growth", "off", "--runway-target", "1s")


class SeveralInstances(PostgresTest):
    def mint_some(self, server, keys):
        """Adds to keys, of which there are as many as this returns. 503 is an answer too."""
        answer = server.ask("POST", "/v1/keyspaces/default/keys?count=500")
        if answer.status == 200:
            keys += answer.json["keys"]
        elif answer.status != 503:
            raise RuntimeError(f"{answer}\n{server.log()}")
        return len(keys)

    def mint_until(self, server, keys, done):
        while not done.wait(0.02):  # Millions of keys would only be slow to compare.
            self.mint_some(server, keys)

    def test_no_key_comes_twice_though_the_database_is_killed_and_restarted(self):
        database = self.database()
        servers = [self.instance(database, f"i{i}") for i in range(3)]
        for server in servers:  # At once: they make the schema together.
            self.stack.callback(server.kill)
            server.launch()
        for server in servers:
            server.await_ready()
        done = threading.Event()
        keys = [[] for _ in servers]
        threads = [threading.Thread(target=self.mint_until, args=(server, got, done))
                   for server, got in zip(servers, keys)]
        for thread in threads:
            thread.start()
        try:
            for end in (database.kill, database.stop, database.kill):
                time.sleep(0.5)
                end()
                time.sleep(0.2)
                database.start()
            before = [len(got) for got in keys]
            await_that(lambda: all(len(got) > count + scaled(20000) for got, count in
                                   zip(keys, before)), "all of them go on")
        finally:
            done.set()
            for thread in threads:
                thread.join()
        together = [key for got in keys for key in got]
        self.assertEqual(len(together), len(set(together)))
        self.assertEqual([server.stop() for server in servers], [0, 0, 0])

    def test_an_instance_that_is_frozen_with_the_lock_holds_up_nobody(self):
        database = self.database()
        frozen = self.start(database, "frozen", *SMALL_BLOCKS)
        other = self.start(database, "other", *SMALL_BLOCKS)
        keys = other.mint(count=10)
        self.freeze_with_lock(database, frozen)
        # More than it holds: an answer may have fewer keys than were asked for.
        waited = await_seconds(lambda: self.mint_some(other, keys) > 500, 20 / test_scale())
        self.assertIsNotNone(waited, other.log())
        self.assertLess(waited, 5 / test_scale())
        frozen.signal(signal.SIGCONT)
        # What it believed to be under way when it was frozen is gone, and it knows.
        await_that(lambda: self.mint_some(frozen, keys) > 1500, "it goes on")
        self.assertEqual(len(keys), len(set(keys)))

    def freeze_with_lock(self, database, server):
        """Stops the process while its transaction holds the keyspace's row."""
        session_of = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'frozen' AND "
        waiting = f"{session_of} wait_event_type = 'Lock' AND query LIKE '%keymill_ledger%'"
        with subprocess.Popen(database.psql_command(), stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.PIPE, **server_user(USER)) as session:
            def run(statement):
                session.stdin.write(f"{statement}\n\\echo done\n")
                session.stdin.flush()
                self.assertEqual(session.stdout.readline(), "done\n")

            while True:
                # Readers pass; whoever wants to write the ledger waits, with the row locked.
                run("BEGIN; LOCK TABLE mill.keymill_ledger IN EXCLUSIVE MODE;")
                minting = threading.Thread(target=server.ask, args=(
                    "POST", "/v1/keyspaces/default/keys?count=200"))
                minting.start()
                await_that(lambda: database.sql(waiting) == ["1"], "it waits for the ledger")
                server.signal(signal.SIGSTOP)
                caught = database.sql(waiting) == ["1"]
                run("ROLLBACK;")
                if caught and database.sql(f"{session_of} state = 'idle in transaction'") == ["1"]:
                    break
                server.signal(signal.SIGCONT)
                minting.join()
            session.stdin.close()
        self.addCleanup(minting.join)
        self.addCleanup(server.kill)

    def test_a_commit_of_which_nobody_knows_is_burned(self):
        database = self.database()
        server = self.start(database, "one", *SMALL_BLOCKS)
        keys = server.mint(count=10)

        def replicate_to(name):
            database.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
            database.sql("SELECT pg_reload_conf()")

        # No standby of this name ever answers: the deadline passes in COMMIT.
        replicate_to("nobody")
        minting = threading.Thread(target=server.ask, args=(
            "POST", "/v1/keyspaces/default/keys?count=200"))
        minting.start()
        await_that(lambda: server.unknown_outcomes() >= 1, "the deadline has passed")
        replicate_to("")
        minting.join()
        await_that(lambda: self.mint_some(server, keys) > 500, "it goes on")
        self.assertEqual(len(keys), len(set(keys)))


class Commits(PostgresTest):
    """What the server says to COMMIT."""

    def setUp(self):
        super().setUp()
        self.server_of = self.database()

    def shell(self, url):
        return self.stack.enter_context(StoreShell(url))

    def test_any_warning_makes_the_outcome_unknown(self):
        shell = self.shell(self.server_of.url("mill"))
        keyspace, = shell.expect("establish", "k")
        shell.expect("reserve", keyspace, 10, "-", 0, 0)
        # At COMMIT, as an extension could, and in spite of who wants to hear of errors only.
        self.server_of.sql("ALTER ROLE postgres SET client_min_messages = error")
        self.server_of.sql(
            "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE WARNING "
            "'odd' USING ERRCODE = '01004'; RETURN NULL; END$$; CREATE CONSTRAINT TRIGGER odd "
            "AFTER UPDATE ON mill.keymill_keyspaces DEFERRABLE INITIALLY DEFERRED FOR EACH ROW "
            "EXECUTE FUNCTION warn()")
        for told in (shell, self.shell(self.server_of.url("mill"))):
            answer = told.ask("reserve", keyspace, 10, "-", 0, 0)
            self.assertEqual(answer[0], "kUnknownOutcome", answer)
            self.assertEqual(answer[-3:], ["server", "warned:", "odd"])
        self.server_of.sql("DROP TRIGGER odd ON mill.keymill_keyspaces")
        self.assertEqual(shell.expect("reserve", keyspace, 10, "-", 0, 0)[0], "30")

    def test_a_wait_for_a_standby_that_somebody_cancels_is_unknown(self):
        shell = self.shell(self.server_of.url("mill"))
        keyspace, = shell.expect("establish", "k")
        shell.expect("reserve", keyspace, 10, "-", 0, 0)
        shell.expect("patience", 600)  # The deadline has no part in it.

        def replicate_to(name):
            self.server_of.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
            self.server_of.sql("SELECT pg_reload_conf()")
            await_that(lambda: self.server_of.sql("SHOW synchronous_standby_names") == [name],
                       "it is read")

        replicate_to("nobody")
        answers = []
        asking = threading.Thread(target=lambda: answers.append(
            shell.ask("reserve", keyspace, 10, "-", 0, 0)))
        asking.start()
        # The server says COMMIT then, and that it may be alone with it.
        await_that(lambda: self.server_of.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                                              "WHERE wait_event = 'SyncRep'") == ["t"],
                   "it waits, and is cancelled")
        asking.join(60)
        replicate_to("")  # Ends the wait, if it is still there.
        asking.join()
        [answer] = answers
        self.assertEqual(answer[0], "kUnknownOutcome", answer)
        self.assertIn("the server warned: canceling wait for synchronous replication due to user "
                      "request", " ".join(answer))
        self.assertIn("might not have been replicated", " ".join(answer))
        # Here it was committed all the same: its numbers are lost, and not granted again.
        self.assertEqual(shell.expect("reserve", keyspace, 10, "-", 0, 0)[0], "20")

    def test_a_transaction_that_somebody_in_between_has_ended_is_no_success(self):
        self.server_of.sql("ALTER ROLE postgres SET search_path = mill")
        begin = b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
        spoil = []

        def watch(_link, direction, data):
            if direction == TO_SERVER and spoil:
                return data.replace(begin, b" " * len(begin))
            return data

        proxy = self.stack.enter_context(TcpProxy(self.server_of.port, watch))
        shell = self.shell(f"postgres://postgres@127.0.0.1:{proxy.port}/postgres?schema=mill")
        keyspace, = shell.expect("establish", "k")
        spoil.append(True)
        answer = shell.ask("reserve", keyspace, 10, "-", 0, 0)
        self.assertEqual(answer[0], "kUnknownOutcome", answer)
        self.assertEqual(answer[-4:], ["the", "transaction", "is", "gone"])
        spoil.clear()
        # Each statement was committed by itself: those numbers are lost, and not granted again.
        self.assertEqual(shell.expect("reserve", keyspace, 10, "-", 0, 0)[0], "10")


class Network(PostgresTest):
    def setUp(self):
        super().setUp()
        self.server_of = self.database()

    def test_commits_that_are_lost_are_burned(self):
        cuts = scaled(20, 5)
        fates = [LOSE_ANSWER, PASS, LOSE_COMMIT, LOSE_ANSWER, PASS, LOSE_COMMIT, STALL]
        with CommitCutter("postgres", self.server_of.port, itertools.cycle(fates)) as cutter:
            url = f"postgres://postgres@127.0.0.1:{cutter.port}/postgres?schema=mill"
            server = self.stack.enter_context(Server(self.folder("one"), "--store", url,
                                                     *SMALL_BLOCKS))
            keys = server.mint(count=10)
            cutter.active = True

            def more():
                answer = server.ask("POST", "/v1/keyspaces/default/keys?count=100")
                keys.extend(answer.json["keys"] if answer.status == 200 else [])
                return len(keys)

            await_that(lambda: more() and sum(cutter.lost.values()) >= cuts, "so many are cut")
            cutter.active = False
            enough = len(keys) + 500
            await_that(lambda: more() > enough, "it goes on")
            self.assertEqual(server.unknown_outcomes(), sum(cutter.lost.values()))
            self.assertTrue(all(cutter.lost.values()), cutter.lost)
            self.assertEqual(len(keys), len(set(keys)))
            # Every key lies in a block that is on record, and no two blocks share a number.
            overlaps = self.server_of.sql(
                "SELECT count(*) FROM mill.keymill_ledger a JOIN mill.keymill_ledger b ON "
                "a.keyspace_id = b.keyspace_id AND a.first_number < b.first_number AND "
                "a.first_number + a.number_count > b.first_number")
            self.assertEqual(overlaps, ["0"])
            self.assertEqual(server.stop(), 0)

    def test_a_server_that_hangs_means_503_in_time_and_service_afterwards(self):
        server = self.start(self.server_of, "one", *SMALL_BLOCKS, "--request-timeout", "500ms")
        keys = server.mint(count=10)
        self.server_of.freeze()
        try:
            slowest = 0
            for _ in range(5):
                began = time.monotonic()
                answer = server.ask("POST", "/v1/keyspaces/default/keys?count=200")
                slowest = max(slowest, time.monotonic() - began)
                keys += answer.json["keys"] if answer.status == 200 else []
            self.assertEqual(answer.status, 503)
            self.assertLess(slowest, 1.5 / test_scale())
        finally:
            self.server_of.thaw()
        keys.append(server.await_key())
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(server.stop(), 0)


class Failover(PostgresTest):
    def test_a_synchronous_standby_takes_over_with_every_key(self):
        first = self.database("first")
        second = self.database("second", primary=first)
        url = (f"postgres://postgres@127.0.0.1:{second.port},127.0.0.1:{first.port}/postgres"
               "?schema=mill")
        first.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        first.sql("SELECT pg_reload_conf()")
        server = self.stack.enter_context(Server(self.folder("one"), "--store", url,
                                                 *SMALL_BLOCKS))
        keys = []

        def more():
            answer = server.ask("POST", "/v1/keyspaces/default/keys?count=100")
            keys.extend(answer.json["keys"] if answer.status == 200 else [])
            return len(keys)

        await_that(lambda: more() > 500, "it mints on the primary, though it is named last")
        first.kill()
        second.promote()
        waited = await_seconds(lambda: more() > 1500, 30)
        self.assertIsNotNone(waited, server.log())
        self.assertEqual(len(keys), len(set(keys)))
        self.assertNotIn("quarantine", server.log())

    def test_standbys_are_found_and_are_no_store(self):
        first = self.database("first")
        second = self.database("second", primary=first)
        await_that(lambda: first.sql("SELECT state FROM pg_stat_replication "
                                     "WHERE replay_lsn IS NOT NULL") == ["streaming"],
                   "the standby follows")
        found = self.inspect(first.url("mill"))
        self.assertEqual([line.split(": ")[0] for line in found], ["unsafe standbys"], found)
        self.assertIn("standbys: 1 standby, ", found[0])
        fix = found[0].partition(" | ")[2]
        self.assertEqual(fix, 'psql -c "ALTER SYSTEM SET synchronous_standby_names = \'standby\'" '
                         '-c "SELECT pg_reload_conf()"  # every commit of this server then waits '
                         'for it')
        first.shell(fix)
        await_that(lambda: not self.inspect(first.url("mill")), "that is enough")
        await_that(lambda: first.sql("SELECT sync_state FROM pg_stat_replication") == ["sync"],
                   "commits wait for it")
        found = self.inspect(second.url("mill"))
        self.assertIn("unsafe primary", [line.split(": ")[0] for line in found], found)
        done = run_keymill("mint", "--store", second.url("mill"), cwd=self.directory)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the server is a standby", done.stderr)

    def test_doctor_finds_that_commits_wait_for_a_standby_that_is_not_there(self):
        first = self.database("first", settings={"synchronous_standby_names": "standby"})

        def doctor(url):
            done = run_keymill("doctor", "-o", "json", "--listen", "127.0.0.1:0", "--store", url,
                               cwd=self.directory)
            return [each for each in json.loads(done.stdout)["checks"]
                    if each["check"] == "store standbys"]

        [found] = doctor(first.url("mill"))
        self.assertEqual(found["severity"], "warning")
        self.assertIn("waits for 1 of the standbys in synchronous_standby_names (standby), and 0 "
                      "are there", found["says"])
        self.assertIn("psql -c \"ALTER SYSTEM SET synchronous_standby_names = ''\"", found["fix"])
        first.sql("SET synchronous_commit = off; CREATE ROLE bob LOGIN; GRANT CREATE ON DATABASE "
                  "postgres TO bob")
        [found] = doctor(first.url("mill", user="bob"))
        self.assertEqual(found["fix"], 'GRANT pg_monitor TO "bob";')
        self.database("second", primary=first)
        await_that(lambda: first.sql("SELECT sync_state FROM pg_stat_replication WHERE state = "
                                     "'streaming'") == ["sync"], "commits wait for it")
        self.assertEqual(doctor(first.url("mill")), [])

    def test_a_standby_that_no_commit_waits_for_is_named(self):
        first = self.database("first")

        def replicate_to(names):
            first.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            first.sql("SELECT pg_reload_conf()")

        replicate_to("standby")
        self.database("second", primary=first)
        self.database("third", primary=first, settings={
            "primary_conninfo": f"host={first.data} port={first.port} user={USER} "
                                "application_name=reader"})
        await_that(lambda: first.sql("SELECT application_name, sync_state FROM pg_stat_replication "
                                     "WHERE replay_lsn IS NOT NULL ORDER BY 1")
                   == ["reader|async", "standby|sync"], "both follow")
        [found] = self.inspect(first.url("mill"))
        self.assertTrue(found.startswith("warning standbys: no commit waits for these standbys: "
                                         "reader; "), found)
        self.assertIn("nofailover", found)
        replicate_to("")
        await_that(lambda: "unsafe standbys" in self.inspect(first.url("mill"))[0], "it is read")
        [found] = self.inspect(first.url("mill"))
        first.shell(found.partition(" | ")[2])
        # Either may take over, and a commit waits for one of them.
        await_that(lambda: first.sql("SELECT sync_state FROM pg_stat_replication WHERE replay_lsn "
                                     "IS NOT NULL") == ["quorum", "quorum"], "that was a command")
        [found] = self.inspect(first.url("mill"))
        self.assertTrue(found.startswith(
            "warning standbys: every commit waits for 1 of 2 standbys in synchronous_standby_names "
            "(ANY 1 (reader, standby)); "), found)
        self.assertIn("pg_last_wal_receive_lsn()", found)
        first.shell("psql" + found.rpartition(": psql")[2])
        await_that(lambda: not self.inspect(first.url("mill")), "every commit waits for both")

    def test_as_many_standbys_are_wanted_as_the_setting_says(self):
        server = self.database("first")
        for names, wanted in (("a, b", 1), ("FIRST 2 (a, b)", 2), ("ANY 3 (a, b, c4)", 3),
                              ("2 (a, b)", 2), ("*", 1)):
            server.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
            server.sql("SELECT pg_reload_conf()")
            await_that(lambda: server.sql("SHOW synchronous_standby_names") == [names], names)
            [found] = self.inspect(server.url("mill"))
            self.assertIn(f"waits for {wanted} of", found)

    def test_a_backup_and_an_archive_of_the_log_are_no_standbys(self):
        server = self.database()
        folder = self.folder("copies")
        folder.chmod(0o777)
        place = f"host={server.data} port={server.port} user={USER}"
        for words in (("pg_basebackup", "--pgdata", folder / "backup", "--wal-method", "stream",
                       "--max-rate", "32", "--checkpoint", "fast"),
                      ("pg_receivewal", "--directory", folder)):
            with subprocess.Popen([binaries() / words[0], *words[1:], "--status-interval", "1",
                                   "--dbname", place], stderr=subprocess.DEVNULL,
                                  start_new_session=True, **server_user(USER)) as copying:
                end = self.stack.enter_context(contextlib.ExitStack())
                end.callback(os.killpg, copying.pid, signal.SIGKILL)  # With its child.
                await_that(lambda: "streaming" in server.sql(
                    "SELECT state FROM pg_stat_replication WHERE write_lsn IS NOT NULL"),
                           f"{words[0]} follows")
                self.assertEqual(self.inspect(server.url("mill")), [], words[0])
                self.assertIsNone(copying.poll(), "it was there all the time")
                end.close()
            await_that(lambda: server.sql("SELECT 1 FROM pg_stat_replication") == [], "it is gone")

    def test_commits_that_do_not_wait_for_standbys_are_unsafe_where_there_are_any(self):
        first = self.database("first", settings={"synchronous_commit": "local"})
        url = first.url("mill")
        self.assertEqual([line.split(": ")[0] for line in self.inspect(url)],
                         ["warning synchronous_commit"], "nobody to wait for")
        self.database("second", primary=first)
        await_that(lambda: first.sql("SELECT state FROM pg_stat_replication "
                                     "WHERE replay_lsn IS NOT NULL") == ["streaming"],
                   "the standby follows")
        found = self.inspect(url)
        self.assertEqual([line.split(": ")[0] for line in found],
                         ["unsafe synchronous_commit", "unsafe standbys"], found)
        first.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        first.sql("SELECT pg_reload_conf()")
        await_that(lambda: first.sql("SHOW synchronous_standby_names") == ["standby"], "it is read")
        for value in ("local", "remote_write"):
            first.sql(f"ALTER ROLE postgres SET synchronous_commit = {value}")
            found = [line for line in self.inspect(url) if "for the role" in line]
            self.assertEqual([line.split(": ")[0] for line in found],
                             ["unsafe synchronous_commit"], found)
        # Who cannot see standbys still sees that somebody waits for one.
        first.sql("CREATE ROLE bob LOGIN; CREATE SCHEMA mill; GRANT ALL ON SCHEMA mill TO bob")
        found = self.inspect(first.url("mill", user="bob"))
        self.assertIn("unsafe synchronous_commit", [line.split(": ")[0] for line in found], found)


class Refusals(PostgresTest):
    def refused(self, *words, store=None, env=None):
        flags = () if store is None else ("--store", store)
        done = run_keymill("mint", *flags, cwd=self.directory, env=env)
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("hunter2", done.stderr)

    def test_a_password_is_checked_and_never_shown(self):
        database = self.database(auth="scram-sha-256")
        database.sql("CREATE ROLE ann LOGIN PASSWORD 'right'")
        database.sql("CREATE DATABASE keys OWNER ann")
        place = f"127.0.0.1:{database.port}/keys"
        self.refused("password authentication failed", store=f"postgres://ann:hunter2@{place}")
        self.refused("no password supplied", store=f"postgres://ann@{place}")
        secret = self.directory / "url"
        secret.write_text(f"postgres://ann:right@{place}\n", encoding="utf-8")
        secret.chmod(0o600)
        env = {"KEYMILL_STORE_FILE": str(secret)}
        done = run_keymill("mint", "-n", "3", cwd=self.directory, env=env)
        self.assertEqual((done.returncode, len(done.stdout.split())), (0, 3), done.stderr)
        done = run_keymill("config", "show", "--origin", cwd=self.directory, env=env)
        self.assertIn(f"postgres://ann@{place}", done.stdout)
        self.assertIn("environment KEYMILL_STORE_FILE", done.stdout)
        self.assertNotIn("right", done.stdout)

    def test_tls_is_used_and_the_certificate_checked(self):
        tls = self.folder("tls")
        for name in ("cert", "other"):
            make_certificate(tls / f"{name}.pem", tls / f"{name}.key")
        tls.chmod(0o755)
        (tls / "cert.key").chmod(0o600)
        give_to(USER, tls / "cert.key")
        database = self.database(settings={"ssl": "on", "ssl_cert_file": tls / "cert.pem",
                                           "ssl_key_file": tls / "cert.key"})
        checked = f"{database.url('mill')}&sslmode=verify-full&sslrootcert={tls}"
        with Server(self.folder("keys"), "--store", f"{checked}/cert.pem") as server:
            self.assertEqual(len(server.mint(count=2000)), 2000)
            self.assertEqual(database.sql("SELECT DISTINCT ssl FROM pg_stat_ssl JOIN "
                                          "pg_stat_activity USING (pid) WHERE client_port > 0"),
                             ["t"])
            self.assertEqual(server.stop(), 0)
        # An outage: somebody may yet give the server another certificate.
        for said, store in (
                ("certificate verify failed", f"{checked}/other.pem"),
                ('"localhost"', f"{checked}/cert.pem".replace("@127.0.0.1", "@localhost"))):
            done = run_keymill("mint", "--store", store, cwd=self.directory)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_database_or_a_store_that_is_not_there(self):
        database = self.database()
        self.refused('database "nosuch" does not exist', "CREATE DATABASE",
                     store=database.url("mill", database="nosuch"))
        done = run_keymill("mint", "--store", database.url("mill"), "--store-create", "never",
                           cwd=self.folder("never"))
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertEqual(database.sql("SELECT 1 FROM pg_namespace WHERE nspname = 'mill'"), [])

    def test_a_user_who_may_only_use_the_tables_is_enough(self):
        database = self.database()
        url = database.url("mill")
        self.assertEqual(run_keymill("mint", "--store", url, cwd=self.directory).returncode, 0)
        database.sql("CREATE ROLE bob LOGIN; GRANT USAGE ON SCHEMA mill TO bob; GRANT SELECT, "
                     "INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mill TO bob")
        done = run_keymill("mint", "--store", database.url("mill", user="bob"),
                           cwd=self.folder("bob"))
        self.assertEqual(done.returncode, 0, done.stderr)


class Findings(PostgresTest):
    def finds(self, beginning, fix, url):
        found = self.inspect(url)
        self.assertTrue(any(line.startswith(beginning) and fix in line for line in found),
                        f"no {beginning} … {fix} in {found}")

    def test_nothing_is_wrong_with_a_server_as_it_comes(self):
        database = self.database()
        url = database.url("mill")
        self.assertEqual(self.inspect(url), [])
        self.assertEqual(run_keymill("mint", "--store", url, cwd=self.directory).returncode, 0)
        self.assertEqual(self.inspect(url), [])
        # What can be done to tables and roles.
        database.sql("ALTER TABLE mill.keymill_ledger SET UNLOGGED")
        self.finds("unsafe unlogged: keymill_ledger", "SET LOGGED", url)
        database.sql("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; "
                     "END'; CREATE TRIGGER odd BEFORE UPDATE ON mill.keymill_keyspaces FOR EACH "
                     "ROW EXECUTE FUNCTION f()")
        self.finds("unsafe triggers: keymill_keyspaces", 'DROP TRIGGER "odd"', url)
        database.sql("ALTER TABLE mill.keymill_keyspaces ENABLE ROW LEVEL SECURITY")
        self.finds("unsafe row_security: keymill_keyspaces", "DISABLE ROW LEVEL SECURITY", url)
        database.sql("ALTER ROLE postgres SET synchronous_commit = off")
        self.finds("unsafe synchronous_commit: synchronous_commit is off for the role postgres",
                   'ALTER ROLE "postgres" RESET', url)
        database.sql("CREATE ROLE bob LOGIN; GRANT USAGE ON SCHEMA mill TO bob; GRANT ALL ON ALL "
                     "TABLES IN SCHEMA mill TO bob")
        self.finds("warning standbys: ", 'GRANT pg_monitor TO "bob"',
                   database.url("mill", user="bob"))

    def test_settings_that_lose_blocks_are_found(self):
        database = self.database(settings={
            "fsync": "off", "full_page_writes": "off", "data_sync_retry": "on",
            "synchronous_commit": "off", "default_transaction_read_only": "on"})
        url = database.url("mill")
        for name, want in (("fsync", "on"), ("full_page_writes", "on"), ("data_sync_retry", "off"),
                           ("synchronous_commit", "on")):
            self.finds(f"unsafe {name}: {name} is ", f"ALTER SYSTEM SET {name} = {want}", url)
        self.finds("warning read_only: ", "default_transaction_read_only = off", url)


if __name__ == "__main__":
    unittest.main()
