#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""HTTP as bytes: pipelining, half-closed connections, and requests that are none."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import RawConnection, Server
from proof import ScenarioTest

GET_KEY = "GET /get-key HTTP/1.1\r\nHost: x\r\n\r\n"
MINT = "POST /v1/keyspaces/default/keys HTTP/1.1\r\nHost: x\r\n"
BODY = "Content-Type: application/json\r\n"
JSON = '{"count":1}'

# name: (bytes, expected statuses). What follows the bad request is never parsed.
BAD_REQUESTS = {
    "length and encoding together":
        (f"{MINT}{BODY}Content-Length: 11\r\nTransfer-Encoding: chunked\r\n\r\n{JSON}", {400}),
    "two lengths": (f"{MINT}{BODY}Content-Length: 11\r\nContent-Length: 11\r\n\r\n{JSON}", {400}),
    "two different lengths":
        (f"{MINT}{BODY}Content-Length: 11\r\nContent-Length: 5\r\n\r\n{JSON}", {400}),
    "a list of lengths": (f"{MINT}{BODY}Content-Length: 11,11\r\n\r\n{JSON}", {400}),
    "a signed length": (f"{MINT}{BODY}Content-Length: +11\r\n\r\n{JSON}", {400}),
    "a hexadecimal length": (f"{MINT}{BODY}Content-Length: 0xb\r\n\r\n{JSON}", {400}),
    "a negative length": (f"{MINT}{BODY}Content-Length: -1\r\n\r\n", {400}),
    "a length of twenty digits":
        (f"{MINT}{BODY}Content-Length: 99999999999999999999\r\n\r\n", {400, 413}),
    "chunked twice":
        (f"{MINT}{BODY}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", {400}),
    "an unknown coding": (f"{MINT}{BODY}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", {400, 501}),
    "the identity coding": (f"{MINT}{BODY}Transfer-Encoding: identity\r\n\r\n", {400}),
    "a coding in HTTP/1.0":
        ("POST /v1/keyspaces/default/keys HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"
         "0\r\n\r\n", {400}),
    "a folded line": ("GET /get-key HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", {400}),
    "a space before the colon": ("GET /get-key HTTP/1.1\r\nHost : x\r\n\r\n", {400}),
    "a bare CR": ("GET /get-key HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", {400}),
    "bare LF line ends": ("GET /get-key HTTP/1.1\nHost: x\n\n", {400}),
    "NUL in a header": ("GET /get-key HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n", {400}),
    "NUL in the target": ("GET /get-\0key HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    "a broken escape": ("GET /get-key?%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", {400}),
    "an escaped NUL": ("GET /%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", {400}),
    "overlong UTF-8": ("GET /%c0%af HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", {400}),
    "bytes behind a NUL in a body":
        (f"{MINT}{BODY}Connection: close\r\nContent-Length: 13\r\n\r\n{JSON}\0x", {400}),
    "a page of another site":
        (f"{MINT}Origin: http://y\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", {403}),
    "a header without a name": ("GET /get-key HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n", {400}),
    "a chunk too large":
        (f"{MINT}{BODY}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n", {400, 413}),
    "a chunk size with 0x":
        (f"{MINT}{BODY}Transfer-Encoding: chunked\r\n\r\n0x10\r\n", {400}),
    "a chunk without its end":
        (f"{MINT}{BODY}Transfer-Encoding: chunked\r\n\r\nb\r\n{JSON}XX0\r\n\r\n", {400}),
    "a long chunk extension":
        (f"{MINT}{BODY}Transfer-Encoding: chunked\r\n\r\nb;{'e' * 70_000}\r\n", {400, 413, 431}),
    "no Host": ("GET /get-key HTTP/1.1\r\n\r\n", {400}),
    "two Hosts": ("GET /get-key HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", {400}),
    "a Host with @": ("GET /get-key HTTP/1.1\r\nHost: a@b\r\n\r\n", {400}),
    "a Host with a path": ("GET /get-key HTTP/1.1\r\nHost: a/b\r\n\r\n", {400}),
    "a long request line":
        (f"GET /get-key?{'q' * 9 * 1024} HTTP/1.1\r\nHost: x\r\n\r\n", {414}),
    "a tab in the method": ("GE\tT /get-key HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    "an endless method": (f"{'M' * 300} /get-key HTTP/1.1\r\nHost: x\r\n\r\n", {400, 501}),
    "HTTP/3.0": ("GET /get-key HTTP/3.0\r\nHost: x\r\n\r\n", {400, 505}),
    "HTTP/0.9": ("GET /get-key\r\n\r\n", {400}),
    "too many headers":
        ("GET /get-key HTTP/1.1\r\nHost: x\r\n" + "A: b\r\n" * 101 + "\r\n", {431}),
    "a large header":
        (f"GET /get-key HTTP/1.1\r\nHost: x\r\nA: {'b' * 33 * 1024}\r\n\r\n", {431}),
    "a body over the limit":
        (f"{MINT}{BODY}Content-Length: 70000\r\n\r\n", {413}),
    "a body over the limit, announced":
        (f"{MINT}{BODY}Content-Length: 70000\r\nExpect: 100-continue\r\n\r\n", {413, 417}),
    "another expectation": (f"{MINT}{BODY}Content-Length: 11\r\nExpect: tea\r\n\r\n{JSON}", {417}),
}


class RawHttp(ScenarioTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self.directory, config="keyspaces: {default: {kind: sequence, "
                             "alphabet: decimal}}\n")
        self.server.start()
        self.addCleanup(self.server.kill)

    def connect(self):
        connection = RawConnection(self.server.port)
        self.addCleanup(connection.socket.close)
        return connection

    def test_a_thousand_pipelined_requests_are_answered_in_order(self):
        connection = self.connect()
        connection.send(GET_KEY * 1000)
        keys = [int(connection.read_answer().text) for _ in range(1000)]
        self.assertEqual(keys, list(range(1, 1001)))

    def test_pipelined_requests_of_many_kinds_are_answered_in_order(self):
        connection = self.connect()
        ask = "GET {} HTTP/1.1\r\nHost: x\r\n\r\n".format
        paths = ["/livez", "/nowhere", "/v1/keyspaces", "/get-key", "/v1/keyspaces/default"] * 40
        connection.send("".join(ask(path) for path in paths))
        connection.send(f"{MINT}{BODY}Content-Length: {len(JSON)}\r\n\r\n{JSON}{GET_KEY}")
        statuses = [connection.read_answer().status for _ in paths]
        self.assertEqual(statuses, [200, 404, 200, 200, 200] * 40)
        self.assertEqual(connection.read_answer().json["keys"], ["41"])
        self.assertEqual(connection.read_answer().text, "42")

    def test_requests_may_arrive_byte_by_byte(self):
        connection = self.connect()
        for byte in f"{MINT}{BODY}Transfer-Encoding: chunked\r\n\r\nb\r\n{JSON}\r\n0\r\n\r\n":
            connection.send(byte)
        self.assertEqual(connection.read_answer().json["keys"], ["1"])

    def test_a_client_that_has_said_all_still_gets_its_answers(self):
        connection = self.connect()
        connection.send(GET_KEY * 50)
        connection.half_close()
        keys = [connection.read_answer().text for _ in range(50)]
        self.assertEqual(keys, [str(n) for n in range(1, 51)])
        self.assertTrue(connection.closed())

    def test_connection_close_is_honoured_and_nothing_is_parsed_behind_it(self):
        connection = self.connect()
        connection.send("GET /get-key HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + GET_KEY)
        answer = connection.read_answer()
        self.assertEqual((answer.text, answer.headers["Connection"]), ("1", "close"))
        self.assertTrue(connection.closed())
        self.assertEqual(self.server.mint(), ["2"])

    def test_http_1_0_closes_unless_asked_to_keep_the_connection(self):
        connection = self.connect()
        connection.send("GET /get-key HTTP/1.0\r\n\r\n")
        self.assertEqual(connection.read_answer().text, "1")
        self.assertTrue(connection.closed())

    def test_expect_100_is_answered_before_the_body(self):
        connection = self.connect()
        connection.send(f"{MINT}{BODY}Content-Length: {len(JSON)}\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual(connection.read_answer().status, 100)
        connection.send(JSON)
        self.assertEqual(connection.read_answer().json["keys"], ["1"])

    def test_bad_requests_are_refused_closed_and_cost_no_key(self):
        for name, (request, statuses) in BAD_REQUESTS.items():
            with self.subTest(request=name):
                connection = self.connect()
                try:
                    connection.send(request + GET_KEY)
                except OSError:
                    pass  # Refused before all was sent.
                answer = connection.read_answer()
                self.assertIsNotNone(answer, "closed without an answer")
                self.assertIn(answer.status, statuses, answer)
                self.assertTrue(connection.closed(), "goes on after a bad request")
        self.assertEqual(self.server.mint(), ["1"])

    def test_requests_before_a_bad_one_are_answered(self):
        connection = self.connect()
        connection.send(GET_KEY + GET_KEY + "NONSENSE\r\n\r\n" + GET_KEY)
        self.assertEqual([connection.read_answer().text for _ in range(2)], ["1", "2"])
        self.assertEqual(connection.read_answer().status, 400)
        self.assertTrue(connection.closed())

    def test_no_value_of_a_request_ends_up_as_a_header(self):
        connection = self.connect()
        connection.send("GET /v1/keyspaces/a%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = connection.read_answer()
        self.assertEqual(answer.status, 400)
        self.assertNotIn("X-Injected", answer.headers)


if __name__ == "__main__":
    unittest.main()
