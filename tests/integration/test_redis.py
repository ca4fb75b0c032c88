#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Servers whose store is Redis: several at once, a server that is killed, passwords, TLS."""

import contextlib
import json
import pathlib
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from certificates import make_certificates
from keymill_process import Load, Server, await_that, duplicates, run_keymill, scaled
from server_redis import CUT_WRITE, RedisServer
from store_servers import start_server

INSTANCES = 3
REFUSED = 78
SMALL_BLOCKS = ("--block-size", "50", "--block-growth", "off", "--runway-target", "1s",
                "--request-timeout", "1s")


class Stranger:
    """Says the same to all who connect to a port."""

    def __init__(self, port, words):
        self._words = words
        self._listener = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._answer)

    def _answer(self):
        with contextlib.suppress(OSError):  # The end.
            while True:
                connection, _ = self._listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(4096)
                    connection.sendall(self._words)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()


class Redis(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="keymill-redis-")
        self.addCleanup(folder.cleanup)
        self.directory = pathlib.Path(folder.name)

    def server(self, **options):
        folder = self.directory / "redis"
        folder.mkdir()
        started = start_server("redis", folder, **options)
        self.addCleanup(started.kill)
        self.assertIsInstance(started, RedisServer)
        return started

    def instance(self, url, *flags, name="one"):
        """A keymill with a directory, and so a witness, of its own."""
        folder = self.directory / name
        folder.mkdir(exist_ok=True)
        return Server(folder, "--store", url, *flags)

    def mint(self, url, *flags):
        return run_keymill("mint", "-n", "3", "--store", url, *flags, cwd=self.directory)

    def test_several_instances_never_mint_a_key_twice(self):
        url = self.server().url("mill")
        requests = scaled(30_000)
        keys = self.directory / "keys"
        with contextlib.ExitStack() as stack:
            servers = [self.instance(url, name=f"i{i}").launch() for i in range(INSTANCES)]
            for server in servers:
                stack.callback(server.kill)
            for server in servers:
                server.await_ready()
            with Load([server.port for server in servers], keys, requests=requests) as load:
                figures = load.finish()
            for server in servers:
                self.assertEqual(server.stop(), 0, server.log())
        self.assertEqual(figures["ok"], requests, figures)
        found = duplicates(keys)
        self.assertEqual((found["keys"], found["duplicate_keys"]), (requests, 0))

    def test_a_redis_that_is_killed_and_started_again_costs_no_key(self):
        redis = self.server()
        keys = self.directory / "keys"
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(self.instance(redis.url("mill"), *SMALL_BLOCKS,
                                                         name=f"i{i}")) for i in range(2)]
            with Load([server.port for server in servers], keys, connections=8, rate=500,
                      duration=6) as load:
                for _ in range(2):
                    time.sleep(1)
                    redis.kill()
                    time.sleep(0.5)
                    redis.start()
                figures = load.finish()
            for server in servers:
                server.await_key()
                self.assertTrue(server.running(), server.log())
        self.assertGreater(figures["ok"], 500, figures)
        self.assertEqual(duplicates(keys)["duplicate_keys"], 0)

    def test_a_write_that_a_kill_cut_is_removed_and_costs_no_key(self):
        redis = self.server()
        with self.instance(redis.url("mill"), *SMALL_BLOCKS) as server:
            keys = server.mint(count=10)
            redis.kill()
            [tail] = (redis.data / "appendonlydir").glob("*.incr.aof")
            with open(tail, "ab") as file:
                file.write(b"*3\r\n$3\r\nSET\r\n$1")
            redis.start()
            self.assertIn(CUT_WRITE, redis.log())
            keys += [server.await_key() for _ in range(300)]
            self.assertEqual(server.stop(), 0, server.log())
        self.assertEqual(len(keys), len(set(keys)))

    def test_a_redis_that_went_back_in_time_is_quarantined(self):
        redis = self.server()
        url = redis.url("mill")
        with self.instance(url, *SMALL_BLOCKS) as server:
            first = set(server.mint(count=10))
            redis.stop()
            redis.copy_data(self.directory / "copy")
            redis.start()
            server.await_key()
            first |= {server.await_key() for _ in range(300)}
            redis.stop()
            redis.restore_data(self.directory / "copy")
            redis.start()
            end = time.monotonic() + 30
            answer = server.ask("GET", "/get-key")
            while "quarantined" not in answer.text and time.monotonic() < end:
                if answer.status == 200:
                    self.assertNotIn(answer.text, first)
                    first.add(answer.text)
                answer = server.ask("GET", "/get-key")
            self.assertEqual(answer.status, 503)
            self.assertIn("quarantined", answer.text)

    def test_a_redis_without_a_connection_to_spare_is_an_outage(self):
        redis = self.server()
        with self.instance(redis.url("mill"), *SMALL_BLOCKS) as server:
            keys = server.mint(count=10)
            with socket.create_connection(("127.0.0.1", redis.port)) as greedy:
                # Whoever is connected already is not cut off by the limit.
                for command in (b"CONFIG SET maxclients 1", b"CLIENT KILL TYPE normal SKIPME yes"):
                    greedy.sendall(command + b"\r\n")
                    self.assertNotIn(b"-ERR", greedy.recv(64))

                def refused():
                    answer = server.ask("POST", "/v1/keyspaces/default/keys?count=25")
                    if answer.status == 200:
                        keys.extend(answer.json["keys"])
                    return "max number of clients" in server.log() and answer.status == 503

                await_that(refused, "nothing is left, and the log says why")
                self.assertTrue(server.running(), server.log())
                self.assertIn("close idle clients, or raise maxclients in redis.conf",
                              server.log())
                greedy.sendall(b"CONFIG SET maxclients 100\r\n")
                await_that(lambda: server.ask("POST", "/v1/keyspaces/default/keys").status == 200,
                           "it goes on")
            keys += server.mint(count=10)
            self.assertEqual(len(keys), len(set(keys)))
            self.assertEqual(server.stop(), 0, server.log())

    def test_somebody_else_at_its_port_is_an_outage(self):
        """Such as a Redis that wants TLS now. Where nobody has seen another, it is a mistake."""
        redis = self.server()
        with self.instance(redis.url("mill"), *SMALL_BLOCKS) as server:
            keys = server.mint(count=10)
            redis.stop()
            with Stranger(redis.port, b"\x15\x03\x01\x00\x02\x02\x46"):
                def refused():
                    answer = server.ask("POST", "/v1/keyspaces/default/keys?count=25")
                    if answer.status == 200:
                        keys.extend(answer.json["keys"])
                    return "this is not Redis" in server.log() and answer.status == 503

                await_that(refused, "nothing is left, and the log says why")
                self.assertTrue(server.running(), server.log())
                done = self.mint(redis.url("mill"))
                self.assertEqual(done.returncode, REFUSED, done.stderr)
                self.assertIn("rediss://", done.stderr)
            redis.start()
            await_that(lambda: server.ask("POST", "/v1/keyspaces/default/keys").status == 200,
                       "it goes on")
            keys += server.mint(count=10)
            self.assertEqual(len(keys), len(set(keys)))
            self.assertEqual(server.stop(), 0, server.log())

    def test_passwords_are_needed_and_never_shown(self):
        redis = self.server(password="a/secret:of@ours")
        good = redis.url("mill")
        self.assertEqual(self.mint(good).returncode, 0)
        for login in (":wr0ng-0ne@", ""):
            url = f"redis://{login}127.0.0.1:{redis.port}/0"
            refused = self.mint(url)
            self.assertEqual(refused.returncode, REFUSED, refused.stderr)
            self.assertNotIn("wr0ng-0ne", refused.stdout + refused.stderr)
        with self.instance(good) as server:
            self.assertEqual(len(server.mint(count=5)), 5)
            server.stop()
            self.assertNotIn("secret", server.log())

    def test_a_user_without_rights_is_refused_with_the_command_that_gives_them(self):
        redis = self.server()
        self.assertEqual(self.mint(redis.url("mill")).returncode, 0)
        url = redis.url("mill").replace("redis://", "redis://poor:pw@")
        fix = (f"redis-cli -h 127.0.0.1 -p {redis.port} ACL SETUSER poor '~{{mill}}:*' +@hash "
               "+@set +@sortedset +@scripting +hello +auth +select +info +ttl +unlink "
               "'+config|get'")
        for rights in ("+hello", "+@all -@scripting", "+@all -@write", "+@all -zadd"):
            redis.ask("ACL", "SETUSER", "poor", "reset", "on", ">pw", "~*", *rights.split())
            done = run_keymill("serve", "--listen", "127.0.0.1:0", "--store", url,
                               cwd=self.directory)
            self.assertEqual((done.returncode, done.stdout), (REFUSED, ""), done.stderr)
            self.assertIn(fix, done.stderr, rights)
        redis.ask("ACL", "SETUSER", "poor", "reset", "on", ">pw")
        redis.ask(*shlex.split(fix)[5:])
        self.assertEqual(self.mint(url).returncode, 0)

    def test_a_malformed_url_does_not_show_what_may_be_its_password(self):
        for url in ("redis://hunter2@127.0.0.1", "redis://u:hunter2", "redis:hunter2",
                    "redis://u:12?hunter2@127.0.0.1", "redis://u:12/hunter2@127.0.0.1",
                    "redis//u:hunter2@127.0.0.1", "reddis://u:hunter2@127.0.0.1"):
            for words in (("store", "copy", url, "sqlite:new.db"),
                          ("store", "copy", "sqlite:old.db", url), ("mint", "--store", url),
                          ("doctor", "--store", url)):
                done = run_keymill(*words, cwd=self.directory)
                self.assertIn(done.returncode, (2, REFUSED), f"{words}: {done.stderr}")
                self.assertNotIn("hunter2", done.stdout + done.stderr, words)
                self.assertIn("red", done.stderr, words)
            done = run_keymill("mint", cwd=self.directory, env={"KEYMILL_STORE": url})
            self.assertEqual(done.returncode, REFUSED)
            self.assertNotIn("hunter2", done.stdout + done.stderr, url)

    def test_tls_is_used_and_the_certificate_checked(self):
        certificates = self.directory / "tls"
        certificates.mkdir()
        make_certificates(certificates)
        redis = self.server(tls=certificates, password="pass")
        minted = self.mint(redis.url("mill"))
        self.assertEqual(minted.returncode, 0, minted.stderr)
        self.assertEqual(len(minted.stdout.split()), 3)
        with self.instance(redis.url("mill")) as server:
            self.assertEqual(len(server.mint(count=2000)), 2000)
            self.assertEqual(server.stop(), 0)
        unknown = self.mint(f"rediss://:pass@127.0.0.1:{redis.port}/0?prefix=mill")
        self.assertEqual(unknown.returncode, REFUSED)
        self.assertIn("tls_ca", unknown.stderr)
        other = self.mint(redis.url("mill").replace("127.0.0.1", "localhost"))
        self.assertEqual(other.returncode, REFUSED, "a certificate of another host")
        unchecked = self.mint(f"rediss://:pass@localhost:{redis.port}/0?prefix=mill&tls_verify=no")
        self.assertEqual(unchecked.returncode, 0, unchecked.stderr)

    def test_what_a_url_cannot_say_is_refused_with_what_it_can(self):
        for url, says in (("redis://127.0.0.1/0?prefx=a", "prefix"),
                          ("redis://a,b/0", "one host"),
                          ("redis://127.0.0.1/zero", "database")):
            refused = self.mint(url)
            self.assertIn(refused.returncode, (2, REFUSED), refused.stderr)
            self.assertIn(says, refused.stderr)

    def test_a_server_that_can_lose_blocks_is_refused_with_the_command_that_mends_it(self):
        redis = self.server()
        url = redis.url("mill")
        client = f"redis-cli -h 127.0.0.1 -p {redis.port}"
        def assert_refused(fix, code=REFUSED):
            refused = self.mint(url)
            self.assertEqual((refused.returncode, refused.stdout), (code, ""), refused.stderr)
            self.assertIn(f"fix: {fix}", refused.stderr)
        redis.ask("CONFIG", "SET", "appendfsync", "everysec")
        assert_refused(f"{client} CONFIG SET appendfsync always && {client} CONFIG REWRITE")
        redis.ask("CONFIG", "SET", "appendfsync", "always")
        redis.ask("CONFIG", "SET", "appendonly", "no")
        assert_refused(f"{client} CONFIG SET appendonly yes && {client} CONFIG REWRITE")
        # Redis says aof_enabled:1 from here on, and is alone with what it acknowledges until the
        # first rewrite has ended: in ten seconds. That passes, so that it is no reason to give up.
        redis.ask("MSET", *(word for i in range(10) for word in (f"key{i}", "value")))
        redis.ask("CONFIG", "SET", "rdb-key-save-delay", 1_000_000)
        redis.ask("CONFIG", "SET", "appendonly", "yes")
        assert_refused(f"wait until {client} INFO persistence has aof_rewrite_in_progress:0",
                       code=1)
        redis.ask("CONFIG", "SET", "rdb-key-save-delay", 0)
        redis.ask("CONFIG", "SET", "appendonly", "no")  # Ends the slow one.
        redis.ask("CONFIG", "SET", "appendonly", "yes")
        await_that(lambda: "aof_rewrite_in_progress:0" in redis.ask("INFO", "persistence"),
                   "the append-only file is there")
        self.assertEqual(self.mint(url).returncode, 0)
        folder = self.directory / "replica"
        folder.mkdir()
        replica = start_server("redis", folder, settings=[
            "--replicaof", "127.0.0.1", redis.port, "--repl-diskless-sync-delay", "0"])
        self.addCleanup(replica.kill)
        await_that(lambda: "connected_slaves:1" in redis.ask("INFO", "replication"),
                   "the replica follows")
        assert_refused(f"redis-cli -h 127.0.0.1 -p {replica.port} REPLICAOF NO ONE; ")
        replica.ask("REPLICAOF", "NO", "ONE")
        await_that(lambda: "connected_slaves:0" in redis.ask("INFO", "replication"),
                   "nobody follows")
        self.assertEqual(self.mint(url).returncode, 0)

    def test_doctor_looks_at_the_server(self):
        redis = self.server(password="hunter2", settings=["--appendfsync", "everysec"])
        url = redis.url("mill")
        def found():
            done = run_keymill("doctor", "-o", "json", "--listen", "127.0.0.1:0", "--store", url,
                               cwd=self.directory)
            self.assertNotIn("hunter2", done.stdout + done.stderr)
            return {each["check"]: each["severity"] for each in json.loads(done.stdout)["checks"]
                    if each["check"].split()[0] == "store"}
        nothing_yet = {"store": "note", "store appendfsync": "problem"}
        self.assertEqual(found(), nothing_yet, "nothing is there yet, and nothing was made")
        self.assertEqual(found(), nothing_yet)
        self.assertEqual(self.mint(url, "--accept-unsafe-store", "a test").returncode, 0)
        self.assertEqual(found(), {"store": "ok", "store appendfsync": "problem"})
        redis.ask("FLUSHALL")
        self.assertEqual(found()["store"], "problem", "the witness remembers one")
        redis.kill()
        self.assertEqual(found(), {"store": "problem"})


if __name__ == "__main__":
    unittest.main()
