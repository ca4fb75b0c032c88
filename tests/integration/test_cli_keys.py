#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Keys by name on the command line: claim, derive, pool and audit."""

import csv
import io
import json
import pathlib
import pty
import os
import re
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import clean_environment, keymill_bin, run_keymill
from proof import ScenarioTest
from scenario_derived import one_store

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78
HEADER = ["keyspace", "key", "state", "since", "instance", "owner", "expires_at", "generation"]
MOMENT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"


class FakeServer:
    """Answers each request of a connection with the next (status, body), and keeps what it got."""

    def __init__(self, *answers, per_connection=100):
        self.answers = list(answers)
        self.per_connection = per_connection
        self.requests = []
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while self.answers:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection, connection.makefile("rb") as incoming:
                for _ in range(self.per_connection):
                    if not self.answers or not self.answer(connection, incoming):
                        break

    def answer(self, connection, incoming):
        line = incoming.readline().decode()
        if not line:
            return False
        size = 0
        while (header := incoming.readline().strip().lower()):
            if header.startswith(b"content-length:"):
                size = int(header.split(b":")[1])
        self.requests.append((line.rsplit(" ", 1)[0], incoming.read(size).decode()))
        status, body = self.answers.pop(0)
        connection.sendall(f"HTTP/1.1 {status} Any\r\nContent-Type: application/json\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.thread.join(10)


class KeyVerbs(ScenarioTest):
    def keymill(self, *arguments, code=OK, stdin=None, env=None):
        done = run_keymill(*arguments, cwd=self.directory, stdin=stdin, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def rows(self, *arguments):
        """What an audit as CSV has, below its header."""
        done = self.keymill("audit", *arguments, "-o", "csv")
        header, *rows = csv.reader(io.StringIO(done.stdout, newline=""))
        self.assertEqual(header, HEADER)
        return [dict(zip(HEADER, row)) for row in rows]


class Claims(KeyVerbs):
    def test_an_alias_has_one_owner(self):
        for _ in range(2):
            done = self.keymill("claim", "default", "my-link", "--owner", "ada")
            self.assertEqual(done.stdout, "my-link\n")
        for owner in (("--owner", "bob"), ()):
            done = self.keymill("claim", "default", "my-link", *owner, code=FAILURE)
            self.assertEqual(done.stdout, "")
            self.assertIn("taken", done.stderr)

    def test_what_nobody_can_have_is_refused_with_the_reason(self):
        for alias, said in (("x", "3 to 16"), ("-abc", "3 to 16"), ("a b", "3 to 16"),
                            ("abcdefg", "could hand out"), ("admin", "admin")):
            with self.subTest(alias=alias):
                done = self.keymill("claim", "default", "--owner", "ada", "--", alias,
                                    code=FAILURE)
                self.assertEqual(done.stdout, "")
                self.assertIn(said, done.stderr)
        self.keymill("claim", "default", code=USAGE)
        done = self.keymill("claim", "defualt", "my-link", code=FAILURE)
        self.assertIn("did you mean default?", done.stderr)

    def test_a_server_is_asked(self):
        with FakeServer((201, "{}"), (200, "{}")) as server:
            for _ in range(2):
                done = self.keymill("claim", "links", "my-link", "--owner", 'a"b', "--server",
                                    server.url)
                self.assertEqual(done.stdout, "my-link\n")
        self.assertEqual(server.requests[0],
                         ("PUT /v1/keyspaces/links/keys/my-link", r'{"owner":"a\"b"}'))
        for status, code in ((409, FAILURE), (422, FAILURE), (404, FAILURE), (503, FAILURE),
                             (400, USAGE)):
            with FakeServer((status, '{"detail":"it is so"}')) as server:
                done = self.keymill("claim", "a/b", "x?y", "--server", server.url, code=code)
                self.assertEqual((done.stdout, done.stderr),
                                 ("", f"keymill: the server said {status}: it is so\n"))
            self.assertEqual(server.requests, [("PUT /v1/keyspaces/a%2Fb/keys/x%3Fy", "")])
        self.keymill("claim", "a", "bcd", "--server", "nonsense", code=USAGE)
        self.keymill("claim", "a", "bcd", "--server", "http://h:1", "--store", "memory:",
                     code=USAGE)
        self.assertEqual(list(self.directory.iterdir()), [])


class Derives(KeyVerbs):
    def test_the_same_content_gets_the_same_key(self):
        self.keymill("keyspace", "create", "pages", "--kind", "derived")
        first = self.keymill("derive", "pages", "content").stdout
        self.assertRegex(first, r"^[0-9A-Za-z]{7}\n$")
        told = json.loads(self.keymill("derive", "pages", "content", "-o", "json").stdout)
        self.assertEqual(told, {"keyspace": "pages", "key": first.strip(), "existing": True})
        self.assertNotEqual(self.keymill("derive", "pages", "content", "--salt", "7").stdout, first)

    def test_lines_of_stdin_are_contents(self):
        self.keymill("keyspace", "create", "pages", "--kind", "derived")
        keys = self.keymill("derive", "pages", "-", stdin="a\nb\n\na").stdout.splitlines()
        self.assertEqual(len(keys), 4)
        self.assertEqual(keys[0], keys[3])
        self.assertEqual(len(set(keys)), 3)
        self.assertEqual(self.keymill("derive", "pages", "-", stdin="").stdout, "")
        told = self.keymill("derive", "pages", "-", "-o", "json", stdin="a\nc\n").stdout
        self.assertEqual([json.loads(line)["existing"] for line in told.splitlines()],
                         [True, False])
        done = self.keymill("derive", "pages", "-", stdin="a\n" + "x" * 70_000, code=USAGE)
        self.assertEqual(done.stdout, keys[0] + "\n")
        self.assertIn("line 2: ", done.stderr)

    def test_the_key_of_a_line_comes_before_the_next_line(self):
        self.keymill("keyspace", "create", "pages", "--kind", "derived")
        with subprocess.Popen([keymill_bin(), "derive", "pages", "-"], cwd=self.directory,
                              env=clean_environment(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            for line in ("a\n", "b\n"):
                process.stdin.write(line)
                process.stdin.flush()
                self.assertRegex(process.stdout.readline(), r"^\w{7}\n$")
            process.stdin.close()
            self.assertEqual(process.wait(30), OK)

    def test_a_keyspace_of_another_kind_says_so(self):
        done = self.keymill("derive", "default", "content", code=USAGE)
        self.assertIn("of kind shuffled", done.stderr)
        done = self.keymill("derive", "nowhere", "content", code=FAILURE)
        self.assertIn("keymill keyspace create nowhere --kind derived", done.stderr)
        self.keymill("keyspace", "create", "pages", "--kind", "derived")
        self.assertIn("keymill derive pages", self.keymill("mint", "pages", code=USAGE).stderr)

    def test_a_server_is_asked_over_one_connection(self):
        answers = [(200, '{"key":"k1","existing":false}'), (200, '{"key":"k2","existing":true}')]
        with FakeServer(*answers) as server:
            done = self.keymill("derive", "pages", "-", "--salt", "7", "--server", server.url,
                                stdin='a"\nb\n')
            self.assertEqual(done.stdout, "k1\nk2\n")
        self.assertEqual(server.requests, [
            ("POST /v1/keyspaces/pages/derive", r'{"content":"a\"","salt":"7"}'),
            ("POST /v1/keyspaces/pages/derive", '{"content":"b","salt":"7"}')])
        self.assertEqual(server.connections, 1)
        # One that closes its connections is asked over others.
        with FakeServer(*answers, per_connection=1) as server:
            done = self.keymill("derive", "pages", "-", "-o", "json", "--server", server.url,
                                stdin="a\nb\n")
            self.assertEqual([json.loads(line)["existing"] for line in done.stdout.splitlines()],
                             [False, True])
        self.assertEqual(server.connections, 2)

    def test_bytes_that_are_no_text_are_not_sent(self):
        with FakeServer((200, '{"key":"k1"}')) as server:
            done = subprocess.run([keymill_bin(), "derive", "pages", b"\xff", "--server",
                                   server.url], cwd=self.directory, env=clean_environment(),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, USAGE)
            self.assertIn(b"UTF-8", done.stderr)
        self.assertEqual(server.requests, [])

    def test_what_a_server_should_not_say(self):
        for body in ("", "[]", '{"key":5}', "{}"):
            with FakeServer((200, body)) as server:
                done = self.keymill("derive", "pages", "a", "--server", server.url, code=FAILURE)
                self.assertIn("no key", done.stderr)

    def test_instances_that_derive_at_once_agree(self):
        self.run_scenario(one_store, store="sqlite", contents=60)


class Pools(KeyVerbs):
    def setUp(self):
        super().setUp()
        self.keymill("keyspace", "create", "codes", "--kind", "pool", "--recycle", "true")

    def test_a_pool_is_filled_and_counted(self):
        done = self.keymill("pool", "fill", "codes", "-n", "2500")
        self.assertEqual((done.stdout, done.stderr), ("added 2500 keys to codes\n", ""))
        told = json.loads(self.keymill("pool", "fill", "codes", "-n", "5", "-o", "json").stdout)
        self.assertEqual(told, {"keyspace": "codes", "added": "5"})
        text = self.keymill("pool", "stat", "codes").stdout
        self.assertRegex(text, r"(?m)^available  2505$")
        self.assertRegex(text, r"(?m)^left       100\.00%$")
        told = json.loads(self.keymill("pool", "stat", "codes", "-o", "json").stdout)
        self.assertEqual((told["keys"]["available"], told["keys"]["used"], told["percent_left"]),
                         ("2505", "0", 100))
        self.assertRegex(self.keymill("keyspace", "show", "codes").stdout,
                         r"(?m)^keys       2505 available$")

    def test_looking_at_a_pool_does_not_fill_it(self):
        for verb in (("pool", "stat", "codes"), ("keyspace", "show", "codes"),
                     ("audit", "--keyspace", "codes")):
            self.keymill(*verb)
        self.assertEqual(self.rows("--keyspace", "codes"), [])

    def test_progress_is_for_a_terminal_only(self):
        main, side = pty.openpty()
        with subprocess.Popen([keymill_bin(), "pool", "fill", "codes", "-n", "30000"],
                              cwd=self.directory, env=clean_environment(), stdin=side,
                              stdout=subprocess.PIPE, stderr=side) as process:
            os.close(side)
            drawn = b""
            while True:
                try:
                    piece = os.read(main, 65536)
                except OSError:  # Nobody holds the other end any more.
                    break
                if not piece:
                    break
                drawn += piece
            self.assertEqual(process.stdout.read(), b"added 30000 keys to codes\n")
            self.assertEqual(process.wait(), OK)
        os.close(main)
        self.assertRegex(drawn, rb"\[=* *\] +\d+ %  [0-9,]+ of 30,000 keys")
        self.assertTrue(drawn.endswith(b"\r\x1b[K"), drawn[-40:])

    def test_a_pool_that_is_nearly_full_says_so(self):
        self.keymill("keyspace", "create", "few", "--kind", "pool", "--alphabet", "decimal",
                     "--length", "3")
        done = self.keymill("pool", "fill", "few", "-n", "1000", code=FAILURE)
        self.assertIn("longer keys", done.stderr)
        self.assertRegex(done.stderr, r"keymill: \d+ keys were added to few\n")

    def test_what_is_no_pool_is_a_usage_error(self):
        self.keymill("mint")
        for verb in (("fill", "default", "-n", "1"), ("stat", "default"), ("fill", "codes"),
                     ("fill", "codes", "-n", "0"), ("release", "codes", "a", "--generation", "x")):
            with self.subTest(verb=verb):
                self.keymill("pool", *verb, code=USAGE)
        done = self.keymill("pool", "stat", "cods", code=FAILURE)
        self.assertIn("did you mean codes?", done.stderr)

    def test_a_key_is_released_once(self):
        self.keymill("pool", "fill", "codes", "-n", "10")
        key = self.rows("--keyspace", "codes")[0]["key"]
        done = self.keymill("pool", "release", "codes", key, code=FAILURE)
        self.assertEqual(done.stdout, "")
        self.assertIn("no such key",
                      self.keymill("pool", "release", "codes", "zzz", code=FAILURE).stderr)

    def test_keys_come_from_a_pool(self):
        self.keymill("pool", "fill", "codes", "-n", "10")
        keys = self.keymill("mint", "codes", "-n", "4").stdout.split()
        used = {row["key"]: row for row in self.rows("--keyspace", "codes", "--state", "used")}
        self.assertEqual(set(keys) - set(used), set())
        self.assertRegex(used[keys[0]]["instance"], ".")
        text = self.keymill("explain", keys[0], "--keyspace", "codes").stdout
        self.assertRegex(text, r"(?m)^state     issued$")
        self.assertRegex(text, r"(?m)^record    used since ")
        self.assertRegex(text, r"(?m)^generation 0$")
        self.assertIn(keys[0], self.keymill("pool", "release", "codes", keys[0], "--generation",
                                            "0").stdout)
        self.keymill("pool", "release", "codes", keys[0], code=FAILURE)
        self.keymill("pool", "release", "codes", keys[1], "--generation", "3", code=FAILURE)


class Audits(KeyVerbs):
    def setUp(self):
        super().setUp()
        self.keymill("keyspace", "create", "pages", "--kind", "derived")

    def test_every_key_is_told_over_many_pages(self):
        self.keymill("keyspace", "create", "codes", "--kind", "pool")
        self.keymill("pool", "fill", "codes", "-n", "12000")
        rows = self.rows("--keyspace", "codes")
        self.assertEqual(len({row["key"] for row in rows}), 12000)
        self.assertEqual({row["state"] for row in rows}, {"available"})
        self.assertRegex(rows[0]["since"], MOMENT)
        self.assertEqual(len(self.keymill("audit", "--keyspace", "codes").stdout.splitlines()),
                         12001)

    def test_keys_are_chosen_by_time_state_instance_and_name(self):
        keys = self.keymill("derive", "pages", "-", stdin="a\nb\n").stdout.split()
        self.keymill("claim", "pages", "my-page", "--owner", 'a,"b"\n')
        rows = {row["key"]: row for row in self.rows("--keyspace", "pages")}
        self.assertEqual(set(rows), {*keys, "my-page"})
        self.assertEqual((rows["my-page"]["state"], rows["my-page"]["owner"]),
                         ("alias", 'a,"b"\n'))
        instance = rows[keys[0]]["instance"]
        for flags, expected in (
                (("--state", "alias"), {"my-page"}), (("--state", "derived"), set(keys)),
                (("--key", keys[1]), {keys[1]}), (("--key", "none"), set()),
                (("--key", keys[1], "--state", "alias"), set()),
                (("--instance", instance), set(keys)), (("--instance", "nobody"), set()),
                (("--since", rows["my-page"]["since"]), {"my-page"}),
                (("--until", rows["my-page"]["since"]), set(keys)),
                (("--since", "2020-01-01", "--until", "2021-01-01"), set()),
                (("--key", keys[0], "--since", "2020-01-01", "--until", "2021-01-01"), set())):
            with self.subTest(flags=flags):
                found = self.rows("--keyspace", "pages", *flags)
                self.assertEqual({row["key"] for row in found}, expected)

    def test_json_is_a_line_for_each_key(self):
        key = self.keymill("derive", "pages", "a").stdout.strip()
        told = [json.loads(line) for line in
                self.keymill("audit", "--keyspace", "pages", "-o", "json").stdout.splitlines()]
        self.assertEqual([(each["key"], each["state"]) for each in told], [(key, "derived")])

    def test_notes_are_no_keys(self):
        self.keymill("keyspace", "create", "fresh", "--kind", "derived", "--distinct", "true")
        keys = {self.keymill("derive", "fresh", "a").stdout.strip() for _ in range(3)}
        self.assertEqual(len(keys), 3)
        self.assertEqual({row["key"] for row in self.rows("--keyspace", "fresh")}, keys)
        self.assertRegex(self.keymill("keyspace", "show", "fresh").stdout,
                         r"(?m)^keys       3 derived$")

    def test_a_counter_has_a_ledger_and_its_aliases(self):
        self.keymill("claim", "default", "my-link")
        done = self.keymill("audit", "--keyspace", "default", "-o", "csv")
        self.assertIn("a ledger of blocks, not of keys", done.stderr)
        self.assertIn("only its aliases and links are listed", done.stderr)
        self.assertEqual([row["key"] for row in self.rows("--keyspace", "default")], ["my-link"])

    def test_mistakes_are_told(self):
        for flags, said in ((("--keyspace", "pages", "--since", "soon"), "--since: "),
                            (("--keyspace", "pages", "--state", "gone"), "--state"),
                            (("--keyspace", "pages", "-o", "xml"), "{text,csv,json}"),
                            (("--keyspace", "pages", "--since", "2026-01-02", "--until",
                              "2026-01-01"), "later than --since"), ((), "--keyspace")):
            with self.subTest(flags=flags):
                done = self.keymill("audit", *flags, code=USAGE)
                self.assertEqual(done.stdout, "")
                self.assertIn(said, done.stderr)
        self.assertIn("did you mean pages?",
                      self.keymill("audit", "--keyspace", "page", code=FAILURE).stderr)

    def test_explain_tells_the_record(self):
        key = self.keymill("derive", "pages", "a").stdout.strip()
        self.keymill("claim", "pages", "my-page", "--owner", "ada")
        self.assertTrue(re.search(r"(?m)^record    derived since \S+Z$",
                                  self.keymill("explain", key).stdout))
        text = self.keymill("explain", "my-page").stdout
        self.assertRegex(text, r"(?m)^state     alias$")
        self.assertRegex(text, r"(?m)^owner     ada$")


if __name__ == "__main__":
    unittest.main()
