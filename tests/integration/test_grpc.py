#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""gRPC with the client of another make, which knows only what reflection tells it."""

import pathlib
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import grpc

import scenario_grpc
from grpc_client import Client, Problem, Reflection
from keymill_process import (DatabaseLock, Server, await_that, clean_environment, free_port,
                             keymill_bin, run_keymill, scaled)
from proof import ScenarioTest

REFUSED = 78
ANYWHERE = "127.0.0.1:0"
MIB = 1024 * 1024
KEYSPACES = """keyspaces:
  default: {kind: shuffled}
  orders: {kind: sequence, alphabet: decimal}
  ids: {kind: snowflake}
  pages: {kind: derived}
  tiny: {kind: sequence, alphabet: decimal, length: 1}
"""


class Calls(unittest.TestCase):
    """One server for all."""

    @classmethod
    def setUpClass(cls):
        folder = ScenarioTest()
        folder.setUp()
        cls.addClassCleanup(folder.doCleanups)
        cls.server = Server(folder.directory, "--listen-grpc", ANYWHERE, config=KEYSPACES)
        cls.server.start()
        cls.addClassCleanup(cls.server.kill)
        cls.port = scenario_grpc.grpc_port(cls.server)
        cls.client = Client(cls.port)
        cls.addClassCleanup(cls.client.channel.close)

    def problem(self, method, **fields):
        with self.assertRaises(Problem) as caught:
            self.client.call(method, **fields)
        self.assertEqual(caught.exception.domain, "keymill")
        self.assertEqual(caught.exception.reason, caught.exception.slug.upper().replace("-", "_"))
        return caught.exception.code, caught.exception.reason

    def test_both_versions_of_reflection_tell_the_same(self):
        with grpc.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            listed = [Reflection(channel, version).services() for version in ("v1", "v1alpha")]
        self.assertEqual(listed[0], listed[1])
        self.assertEqual(listed[0], ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                     "grpc.reflection.v1alpha.ServerReflection",
                                     "keymill.v1.Keymill"])
        for service in listed[0]:
            pool = self.client.reflection.pool_for(service)
            self.assertTrue(pool.FindServiceByName(service).methods)
        with Client(self.port, version="v1alpha") as client:
            self.assertEqual(len(client.call("Mint").keys), 1)

    def test_reflection_answers_several_questions_on_one_stream(self):
        answers = self.client.reflection.ask({"list_services": "*"}, {"file_by_filename": "no"},
                                             {"file_by_filename": "keymill/v1/keymill.proto"})
        self.assertEqual([len(answers[0].list_services_response.service),
                          answers[1].error_response.error_code,
                          len(answers[2].file_descriptor_response.file_descriptor_proto)],
                         [4, 5, 1])

    def test_health_says_serving(self):
        self.assertEqual(self.client.health(), "SERVING")
        with self.assertRaises(grpc.RpcError) as caught:
            self.client.health("nobody")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_mint(self):
        answer = self.client.call("Mint", count=10_000)
        self.assertEqual((answer.keyspace, len(set(answer.keys))), ("default", 10_000))
        self.assertEqual({len(key) for key in answer.keys}, {7})
        first = int(self.client.call("Mint", keyspace="orders").keys[0])
        self.assertEqual(list(self.client.call("Mint", keyspace="orders", count=2).keys),
                         [str(first + 1), str(first + 2)])

    def test_mint_problems(self):
        self.assertEqual(self.problem("Mint", keyspace="none"), ("NOT_FOUND", "KEYSPACE_NOT_FOUND"))
        self.assertEqual(self.problem("Mint", count=0), ("INVALID_ARGUMENT", "BAD_REQUEST"))
        self.assertEqual(self.problem("Mint", count=10_001), ("INVALID_ARGUMENT", "TOO_MANY_KEYS"))
        self.assertEqual(self.problem("Mint", keyspace="pages"),
                         ("INVALID_ARGUMENT", "BAD_REQUEST"))

    def test_an_exhausted_keyspace(self):
        keys = list(self.client.call("Mint", keyspace="tiny", count=100).keys)
        self.assertEqual(keys, [str(number) for number in range(1, 10)])
        self.assertEqual(self.problem("Mint", keyspace="tiny"),
                         ("RESOURCE_EXHAUSTED", "KEYSPACE_EXHAUSTED"))

    def test_a_keyspace_that_was_made_and_retired_over_http(self):
        made = self.server.ask("PUT", "/v1/keyspaces/late", {"kind": "uuid7"})
        self.assertEqual(made.status, 201)
        self.assertEqual(len(self.client.call("Mint", keyspace="late").keys[0]), 36)
        self.assertEqual(self.server.ask("DELETE", "/v1/keyspaces/late").status, 200)
        self.assertEqual(self.problem("Mint", keyspace="late"),
                         ("FAILED_PRECONDITION", "KEYSPACE_RETIRED"))

    def test_a_stream_in_batches(self):
        pieces = [list(keys) for keys in self.client.stream(keyspace="orders", count=5_003,
                                                            batch=500)]
        keys = [int(key) for piece in pieces for key in piece]
        self.assertEqual(len(set(keys)), 5_003)
        self.assertEqual(keys, sorted(keys))
        self.assertLessEqual(max(map(len, pieces)), 500)

    def test_stream_problems(self):
        for fields in ({"count": 0}, {"count": 100_000_001}, {"batch": 0}, {"batch": 10_001}):
            with self.assertRaises(Problem) as caught:
                list(self.client.stream(**fields))
            self.assertEqual(caught.exception.code, "INVALID_ARGUMENT", fields)

    def test_explain(self):
        key = self.client.call("Mint", keyspace="ids").keys[0]
        answer = self.client.call("Explain", keyspace="ids", key=key)
        self.assertEqual((answer.key, answer.number, answer.kind), (key, key, "snowflake"))
        self.assertTrue(answer.HasField("worker") and answer.HasField("block"))
        told = self.server.ask("GET", f"/v1/keyspaces/ids/keys/{key}").json
        self.assertEqual((answer.time, str(answer.worker), answer.block.id),
                         (told["time"], str(told["worker"]), told["block"]["id"]))
        self.assertEqual(self.problem("Explain", key="!"), ("NOT_FOUND", "KEY_NOT_FOUND"))
        self.assertEqual(self.problem("Explain", keyspace="none", key="x"),
                         ("NOT_FOUND", "KEYSPACE_NOT_FOUND"))

    def test_claim(self):
        answer = self.client.call("Claim", alias="spring-sale", owner="shop")
        self.assertEqual((answer.key, answer.owner, answer.existing),
                         ("spring-sale", "shop", False))
        self.assertTrue(self.client.call("Claim", alias="spring-sale", owner="shop").existing)
        self.assertEqual(self.problem("Claim", alias="spring-sale", owner="me"),
                         ("ALREADY_EXISTS", "ALIAS_TAKEN"))
        self.assertEqual(self.problem("Claim", alias="x"), ("INVALID_ARGUMENT", "ALIAS_INVALID"))
        self.assertEqual(self.problem("Claim", alias="admin"),
                         ("INVALID_ARGUMENT", "ALIAS_RESERVED"))
        self.assertEqual(self.problem("Claim", alias="abcdefg"),
                         ("INVALID_ARGUMENT", "ALIAS_LOOKS_GENERATED"))
        told = self.client.call("Explain", key="spring-sale")
        self.assertEqual((told.state, told.record.owner), (3, "shop"))

    def test_derive(self):
        first = self.client.call("Derive", keyspace="pages", content=b"https://example.org/")
        again = self.client.call("Derive", keyspace="pages", content=b"https://example.org/")
        other = self.client.call("Derive", keyspace="pages", content=b"https://example.org/",
                                 salt=b"x")
        self.assertEqual((first.key, first.existing, again.existing), (again.key, False, True))
        self.assertNotEqual(first.key, other.key)
        over_http = self.server.ask("POST", "/v1/keyspaces/pages/derive",
                                    {"content": "https://example.org/"}).json
        self.assertEqual(over_http["key"], first.key)
        self.assertEqual(self.problem("Derive", content=b"x"), ("INVALID_ARGUMENT", "BAD_REQUEST"))
        self.assertEqual(self.problem("Derive", keyspace="pages", content=b"x" * (64 * 1024 + 1)),
                         ("INVALID_ARGUMENT", "BAD_REQUEST"))

    def test_list(self):
        names, token = [], ""
        while True:
            page = self.client.call("ListKeyspaces", page_size=2, page_token=token)
            names += [each.name for each in page.keyspaces]
            token = page.next_page_token
            if not token:
                break
        self.assertEqual([name for name in names if name != "late"],
                         ["default", "ids", "orders", "pages", "tiny"])
        self.assertEqual(self.problem("ListKeyspaces", page_size=0),
                         ("INVALID_ARGUMENT", "BAD_REQUEST"))

    def test_what_grpc_itself_refuses(self):
        def code(path, request, **options):
            # Each on a connection of its own: some of these end the one that they come on. Channels
            # to one address share theirs unless something sets them apart.
            apart = [("grpc.use_local_subchannel_pool", 1)]
            with grpc.insecure_channel(f"127.0.0.1:{self.port}", options=apart) as channel:
                with self.assertRaises(grpc.RpcError) as caught:
                    channel.unary_unary(path)(request, timeout=30, **options)
            return caught.exception.code().name

        mint = "/keymill.v1.Keymill/Mint"
        self.assertEqual(code("/keymill.v1.Keymill/Nothing", b""), "UNIMPLEMENTED")
        # Not a message of ours: this is what gRPC's own handler makes of it.
        self.assertEqual(code(mint, b"\xff\xff\xff"), "UNIMPLEMENTED")
        self.assertEqual(code(mint, b"\0" * (80 * 1024)), "RESOURCE_EXHAUSTED")
        self.assertEqual(code(mint, b"", metadata=[("a", "x" * 9000)]), "RESOURCE_EXHAUSTED")
        self.assertEqual(code(mint, b"", compression=grpc.Compression.Gzip), "UNIMPLEMENTED")
        self.assertEqual(len(self.client.call("Mint").keys), 1)

    def test_metrics(self):
        def counted(status):
            return self.server.metric("keymill_requests_total", frontend="grpc", method="Explain",
                                      status=status)
        before = counted("NOT_FOUND")
        self.problem("Explain", key="!")
        self.assertEqual(counted("NOT_FOUND"), before + 1)


class Servers(ScenarioTest):
    def start(self, *flags, config=None):
        server = Server(self.directory, "--listen-grpc", ANYWHERE, *flags, config=config)
        server.start()
        self.addCleanup(server.kill)
        client = Client(scenario_grpc.grpc_port(server))
        self.addCleanup(client.channel.close)
        return server, client

    def start_slow(self, *flags):
        """A server that needs the store for every key."""
        return self.start("--block-size", 1, "--block-growth", "off", *flags, config=KEYSPACES)

    def empty(self, server):
        """Takes what is there. REQUIRES: the store is locked."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            answer = server.ask("POST", "/v1/keyspaces/orders/keys")
            if answer.status != 200:
                return
        self.fail("there are always more keys")

    def issued(self, server):
        return server.metric("keymill_keys_issued_total", keyspace="orders")

    def test_a_deadline_shorter_than_the_wait_takes_nothing(self):
        server, client = self.start_slow("--request-timeout", "1s")
        with DatabaseLock(self.directory / "data/keymill.db"):
            self.empty(server)
            before = self.issued(server)
            began = time.monotonic()
            with self.assertRaises(Problem) as caught:
                client.call("Mint", keyspace="orders", timeout=0.2)
            self.assertEqual(caught.exception.code, "DEADLINE_EXCEEDED")
            self.assertLess(time.monotonic() - began, 0.9)
            # And the server's own patience ends, too: it knows by then that the store is away.
            with self.assertRaises(Problem) as caught:
                client.call("Mint", keyspace="orders", timeout=30)
            self.assertEqual((caught.exception.code, caught.exception.reason,
                              caught.exception.retry_seconds),
                             ("UNAVAILABLE", "STORE_UNAVAILABLE", 1))
            self.assertEqual(self.issued(server), before)
        await_that(lambda: client.call("Mint", keyspace="orders").keys, "there are keys again")

    def test_a_cancelled_call_takes_nothing(self):
        server, client = self.start_slow("--request-timeout", "5s")
        with DatabaseLock(self.directory / "data/keymill.db"):
            self.empty(server)
            before = self.issued(server)
            call = client.begin("MintStream", keyspace="orders", count=10)
            await_that(lambda: server.metric("keymill_requests_waiting", keyspace="orders") == 1,
                       "it waits")
            call.cancel()
            await_that(lambda: server.metric("keymill_requests_total", method="MintStream",
                                             status="CANCELLED") == 1, "the call has ended")
        await_that(lambda: client.call("Mint", keyspace="orders").keys, "there are keys again")
        self.assertEqual(self.issued(server), before + 1)

    def test_a_drain_ends_streams_and_finishes_calls(self):
        server, client = self.start("--drain-delay", "1s")
        stream = client.stream(count=100_000_000)
        next(stream)
        seen = []

        def read():
            try:
                for _ in stream:
                    pass
            except Problem as problem:
                seen.append((problem.code, problem.reason))

        reader = threading.Thread(target=read)
        reader.start()
        server.terminate()
        await_that(lambda: client.health() == "NOT_SERVING", "health says so")
        self.assertEqual(len(client.call("Mint").keys), 1)  # In the drain delay all goes on.
        reader.join(30)
        self.assertEqual(seen, [("UNAVAILABLE", "DRAINING")])
        self.assertEqual(server.wait(), 0, server.log())
        self.assertNotIn("cut off", server.log())

    def test_idle_clients_do_not_hold_up_a_stop(self):
        server, client = self.start()
        client.call("Mint")
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 3)

    def test_a_reader_that_stopped_is_cut_off_at_the_end_of_a_stop(self):
        server, client = self.start("--shutdown-timeout", "1s")
        call = client.begin("MintStream", count=100_000_000)
        next(call)
        scenario_grpc.stalled(server)
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 8)
        self.assertIn("gRPC calls were cut off", server.log())

    def test_a_reader_that_takes_nothing_is_cut_off(self):
        server, client = self.start()
        call = client.begin("MintStream", count=100_000_000)
        next(call)
        scenario_grpc.stalled(server)
        began = time.monotonic()
        await_that(lambda: server.metric("keymill_requests_total", method="MintStream",
                                         status="CANCELLED") == 1, "the stream has ended", 60)
        self.assertGreater(time.monotonic() - began, 15, "an honest slow reader was cut off")
        with self.assertRaises(grpc.RpcError) as caught:
            for _ in call:
                pass
        self.assertEqual(caught.exception.code(), grpc.StatusCode.CANCELLED)
        self.assertEqual(len(client.call("Mint").keys), 1)

    def test_a_store_that_cannot_be_reached(self):
        folder = self.directory / "data"
        folder.mkdir()
        server = Server(self.directory, "--listen-grpc", ANYWHERE, "--store",
                        f"redis://127.0.0.1:{free_port()}").launch()
        self.addCleanup(server.kill)
        # It has no port file yet: nothing is promised before it is ready, and it does not end.
        time.sleep(1)
        self.assertTrue(server.running(), server.log())
        server.terminate()
        self.assertEqual(server.wait(), 0)

    def test_a_port_that_is_taken_is_named(self):
        server, _ = self.start()
        port = scenario_grpc.grpc_port(server)
        done = run_keymill("serve", "--listen", ANYWHERE, "--listen-grpc", f"127.0.0.1:{port}",
                           "--data-dir", "other", cwd=self.directory)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"port {port} is in use by another process; choose another with "
                      "--listen-grpc", done.stderr)

    def test_others_may_not_reach_it(self):
        done = run_keymill("serve", "--listen", ANYWHERE, "--listen-grpc", "0.0.0.0:0",
                           cwd=self.directory)
        self.assertEqual(done.returncode, REFUSED)
        self.assertIn("listen.grpc (--listen-grpc): 0.0.0.0:0 can be reached by other machines",
                      done.stderr)

    def test_a_program_without_the_module_says_so_before_it_makes_anything(self):
        program = self.directory / "keymill"
        shutil.copy2(keymill_bin(), program)

        def serve():
            return subprocess.run([str(program), "serve", "--listen", ANYWHERE, "--listen-grpc",
                                   ANYWHERE], cwd=self.directory, env=clean_environment(),
                                  capture_output=True, text=True, timeout=60, check=False)

        done = serve()
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("libkeymill_grpc.so is not installed", done.stderr)
        self.assertFalse((self.directory / "data").exists())
        # Nor is just any library taken for it.
        (self.directory / "libkeymill_grpc.so").write_text("no library", encoding="ascii")
        done = serve()
        self.assertEqual(done.returncode, REFUSED, done.stderr)
        self.assertIn("libkeymill_grpc.so: ", done.stderr)

    def test_four_clients_stream_without_a_duplicate(self):
        self.run_scenario(scenario_grpc.streams, keys=scaled(400_000))

    def test_readers_that_stop(self):
        self.run_scenario(scenario_grpc.stopped_readers, readers=3,
                          each_max=4 * MIB / min(1, scaled(100) / 100))

    def test_without_grpc_nothing_of_it_is_there(self):
        self.run_scenario(scenario_grpc.without, rss_max=20 * MIB / min(1, scaled(100) / 100) ** 4)


if __name__ == "__main__":
    unittest.main()
