#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""docs/openapi.json is what the server does: every operation of it is asked for every answer that
it tells of, and every answer is held against it."""

import contextlib
import html.parser
import http.client
import pathlib
import re
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
import jsonschema

from keymill_process import (ROOT, Answer, RawConnection, Server, ask_on, await_that, free_port,
                             run_keymill)
from openapi import Document
from openapi_cases import CASES, NOT_PROVOKED, POOL, SLUGS_NOT_PROVOKED, TINY
from proof import ScenarioTest
from store_fleet import built_stores, make_folder, start_instances, start_store, store_url

SOURCE = ROOT / "docs/openapi.json"
WEB = ROOT / "web/docs"
# Servers that need it, even if it is away.
NEED_ETCD = ("etcd", "away")
DERIVED = {"kind": "derived"}
# What a server has from its configuration, where that is all that matters.
CONFIGURATIONS = {
    "nameless": "{orders: {kind: sequence}}",
    "derived": "{default: {kind: derived}}",
    "small": "{default: {kind: sequence, alphabet: decimal, length: 1}}",
}


class World:
    """Servers in the states that the cases need, each started when one needs it."""

    def __init__(self, stack, directory):
        self.stack = stack
        self.directory = directory
        self.servers = {}
        self.old_key = None  # Of a pool that is retired.

    def server(self, name):
        if name not in self.servers:
            if name in CONFIGURATIONS:
                self.servers[name] = self.start(name, KEYMILL_KEYSPACES=CONFIGURATIONS[name])
            else:
                self.servers[name] = getattr(self, f"start_{name}")()
        return self.servers[name]

    def start(self, name, *flags, **env):
        return self.stack.enter_context(
            Server(make_folder(self.directory, name), *flags, env=env))

    def start_main(self):
        server = self.start("main", KEYMILL_POOL_LOW="100")
        recipes = {
            "orders": {**TINY, "prefix": "ord_", "length": 8}, "tiny": TINY, "lost": TINY | {
                "length": 9}, "odd": {"kind": "ticket", "stride": 2, "offset": 1},
            "events": {"kind": "uuid7"}, "codes": POOL, "oldcodes": POOL, "pages": DERIVED,
            "oldpages": DERIVED, "few": {**DERIVED, "alphabet": "decimal", "length": 1},
            "old": TINY}
        for name, recipe in recipes.items():
            created = server.ask("PUT", f"/v1/keyspaces/{name}", recipe)
            assert created.status == 201, created
        [self.old_key] = server.mint("oldcodes")
        for name in ("old", "oldcodes", "oldpages"):
            assert server.ask("DELETE", f"/v1/keyspaces/{name}").status == 200
        return server

    def start_away(self):
        """Its store is nowhere to be found."""
        server = Server(make_folder(self.directory, "away"), port=free_port(),
                        env={"KEYMILL_STORE": f"etcd://127.0.0.1:{free_port()}"})
        self.stack.callback(server.kill)
        server.launch()

        def answers():
            try:
                return server.ask("GET", "/livez").status == 200
            except OSError:
                return not server.running()
        await_that(answers, "a server without its store answers")
        return server

    def start_etcd(self):
        """Its store keeps numbers only."""
        store = start_store(self.stack, self.directory, "etcd")
        return start_instances(self.stack, self.directory, [store_url(store)])[0]

    def start_hasty(self):
        """Its requests wait for less time than calls of the store do."""
        return self.start("hasty", KEYMILL_REQUEST_TIMEOUT="100ms")

    def start_modern(self):
        """Answers as no older service does."""
        return self.start("modern", KEYMILL_COMPAT="")

    def start_full(self):
        return self.start("full", "--connections-max", "1")

    def fill(self, name):
        """Takes the one connection that there may be."""
        connection = self.stack.enter_context(RawConnection(self.server(name).port))
        connection.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.read_answer()


def request_of(operation, case, world, number):
    """(target, body, headers) as the document says how to send what the case has."""
    values = {**case.values, **((case.before(world) if case.before and number == 0 else {}) or {})}
    body = values.pop("body", case.body(number) if callable(case.body) else case.body)
    query = {name: values[name] for name in sorted(operation.names("query") & set(values))}
    headers = {name: values[name] for name in operation.names("header") & set(values)}
    places = operation.names("path") | set(query) | set(headers)
    if set(values) - places - {"keyspace"}:
        raise AssertionError(f"{operation.name} has no parameters {set(values) - places}")
    target = operation.target(values)
    if query:
        # Bytes are sent as they are.
        target += "?" + "&".join(
            name + "=" + (value.decode() if isinstance(value, bytes) else
                          urllib.parse.quote(str(value))) for name, value in query.items())
    return target, body, {**headers, **case.headers}


def send(server, operation, target, body, headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        return ask_on(connection, operation.method, target, body, headers)
    finally:
        connection.close()


class Contract(ScenarioTest):
    """The server and the document, both ways."""

    document = Document(SOURCE.read_text(encoding="utf-8"))

    def setUp(self):
        super().setUp()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.world = World(self.stack, self.directory)

    def request_faults(self, operation, case, body):
        """What the document has against a request that it should allow."""
        if case.bad or not isinstance(body, (dict, list)):
            return []
        content = self.document.resolve(operation.node["requestBody"])["content"]
        return self.document.faults(content["application/json"]["schema"], body)

    def run_case(self, case):
        """The answer, after those that came before it in its row."""
        operation = self.document.operations[case.operation]
        server = self.world.server(case.on)
        for number in range(case.repeats):
            target, body, headers = request_of(operation, case, self.world, number)
            faults = self.request_faults(operation, case, body)
            self.assertEqual(faults, [], f"a request that the document does not allow: {body}")
            answer = send(server, operation, target, body, headers)
            faults = self.document.answer_faults(operation, answer)
            self.assertEqual(faults, [], f"{operation.method} {target}: {answer}")
            if answer.status == case.status:
                break
        slug = answer.json["type"] if case.slug else ""
        self.assertEqual((answer.status, slug), (case.status, case.slug),
                         f"{operation.method} {target}: {answer}")
        return answer

    def test_every_answer_is_as_the_document_says(self):
        titles = {}
        for case in CASES:
            if case.on in NEED_ETCD and "etcd" not in built_stores():
                continue
            with self.subTest(operation=case.operation, status=case.status, slug=case.slug):
                answer = self.run_case(case)
                if case.slug:
                    titles.setdefault((case.slug, case.status), set()).add(answer.json["title"])
        for where, _, example in self.document.examples():
            if isinstance(example, dict) and "title" in example:
                key = (example["type"], example["status"])
                with self.subTest(where):
                    self.assertIn(example["title"], titles.get(key, {example["title"]}))

    def test_every_answer_of_the_document_has_a_case(self):
        wanted = {(operation.name, status) for operation in self.document.operations.values()
                  for status in operation.responses if status != "default"}
        asked = {(case.operation, str(case.status)) for case in CASES}
        self.assertEqual(wanted - asked, set(NOT_PROVOKED), "answers without a case")

    def test_every_problem_of_the_document_has_a_case(self):
        wanted = {slug for operation in self.document.operations.values()
                  for response in operation.responses.values()
                  for slug in self.document.slugs(response)}
        asked = {case.slug for case in CASES} | {"http-version"}
        self.assertEqual(wanted - asked, set(SLUGS_NOT_PROVOKED), "problems without a case")

    def test_other_versions_of_http(self):
        with RawConnection(self.world.server("main").port) as connection:
            connection.send("GET /livez HTTP/2.0\r\nHost: a\r\n\r\n")
            answer = connection.read_answer()
        self.assertEqual((answer.status, answer.json["type"]), (505, "http-version"))
        operation = self.document.operations["checkLive"]
        self.assertEqual(self.document.answer_faults(operation, answer), [])

    def test_paths_have_the_methods_of_the_document_and_no_other(self):
        server = self.world.server("main")
        for path in self.document.paths:
            operations = [each for each in self.document.operations.values() if each.path == path]
            methods = {each.method for each in operations} | {"OPTIONS"}
            if "GET" in methods and path != "/get-key":
                methods.add("HEAD")
            target = operations[0].target({})
            answer = server.ask("OPTIONS", target)
            self.assertEqual((answer.status, set(answer.headers["Allow"].split(", "))),
                             (204, methods), path)
            refused = server.ask("PATCH", target)
            self.assertEqual((refused.status, refused.json["type"]),
                             (405, "method-not-allowed"), path)
            self.assertEqual(set(refused.headers["Allow"].split(", ")) | {"OPTIONS"}, methods)

    def test_head_is_get_without_the_body(self):
        server = self.world.server("main")
        server.ask("PUT", "/v1/keyspaces/default/keys/summer-sale")
        server.ask("POST", "/v1/links", {"url": "https://example.com/", "alias": "spring-sale"})
        for operation in self.document.operations.values():
            if operation.method != "GET" or operation.name in ("getKey", "getMetrics"):
                continue
            query = "?from=2026-01-01&to=2026-02-01" if operation.name == "getBounds" else ""
            target = operation.target({"keyspace": "ids"} if query else {}) + query
            get, head = server.ask("GET", target), server.ask("HEAD", target)
            self.assertEqual((get.status, head.status, head.body), (200, 200, b""), target)
            self.assertEqual(*({name: value for name, value in answer.headers.items()
                                if name not in ("Date", "Content-Length")}
                               for answer in (get, head)), target)

    def test_the_server_sends_the_document_of_its_version(self):
        version = run_keymill("--version", cwd=self.directory).stdout.split()[-1]
        served = self.world.server("main").ask("GET", "/openapi.json").text
        self.assertEqual(served, SOURCE.read_text(encoding="utf-8").replace(
            "@KEYMILL_VERSION@", version))
        self.assertIn(f'"version": "{version}"', served)


class WrittenDown(unittest.TestCase):
    """What can be said of the document without a server."""

    document = Document(SOURCE.read_text(encoding="utf-8"))

    def test_names_are_unique_and_tags_are_declared(self):
        self.assertEqual(self.document.twice, [])
        declared = {tag["name"] for tag in self.document.root["tags"]}
        used = {tag for each in self.document.operations.values() for tag in each.node["tags"]}
        self.assertEqual(declared, used)

    def test_places_in_paths_are_parameters(self):
        for operation in self.document.operations.values():
            places = set(re.findall(r"{(\w+)}", operation.path))
            self.assertEqual(operation.names("path"), places, operation.name)
            for parameter in operation.parameters:
                if parameter["in"] == "path":
                    self.assertTrue(parameter["required"] and "example" in parameter)

    def test_every_schema_is_one(self):
        schemas = list(self.document.schemas())
        self.assertGreater(len(schemas), 80)
        for where, schema in schemas:
            with self.subTest(where):
                jsonschema.Draft202012Validator.check_schema(schema)

    def test_every_example_fits_its_schema(self):
        examples = list(self.document.examples())
        self.assertGreater(len(examples), 50)
        for where, schema, example in examples:
            with self.subTest(where):
                self.assertEqual(self.document.faults(schema, example), [])

    def test_every_component_is_used(self):
        text = SOURCE.read_text(encoding="utf-8")
        for kind, components in self.document.root["components"].items():
            for name in components:
                self.assertIn(f'"#/components/{kind}/{name}"', text)

    def test_the_check_finds_what_differs(self):
        """One wrong thing at a time in an answer that is right otherwise."""
        def faults(status=200, body=b'{"keyspace":"a","keys":["b"]}', **changed):
            headers = {"Content-Type": "application/json", "Cache-Control": "no-store", **changed}
            answer = Answer(status, headers, body)
            return self.document.answer_faults(self.document.operations["mintKeys"], answer)
        self.assertEqual(faults(), [])
        for wrong in ({"status": 201}, {"body": b'{"keyspace":"a","keys":[5]}'},
                      {"body": b'{"keyspace":"a","keys":["b"],"more":1}'},
                      {"body": b'{"keyspace":"a"}'}, {"X-New": "1"}, {"Cache-Control": "public"},
                      {"Content-Type": "text/html"}):
            self.assertEqual(len(faults(**wrong)) > 0, True, wrong)
        del self.document.operations["mintKeys"].responses["default"]
        self.assertEqual(faults(status=418), ["status 418 is not in the document"])


class PageParser(html.parser.HTMLParser):
    """What a page loads, and what a policy without 'unsafe-inline' would not let it do."""

    def __init__(self):
        super().__init__()
        self.links, self.ids, self.inline, self.labels = [], set(), [], set()
        self.controls = set()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.links += [attributes[name] for name in ("src", "href") if name in attributes]
        self.ids.add(attributes.get("id"))
        self.inline += [name for name in attributes if name == "style" or name.startswith("on")]
        if tag == "style" or tag == "script" and "src" not in attributes:
            self.inline.append(tag)
        if tag == "label":
            self.labels.add(attributes["for"])
        if tag in ("input", "select", "textarea"):
            self.controls.add(attributes["id"])


class Page(unittest.TestCase):
    """/docs, as far as that can be told without a browser."""

    def test_it_loads_nothing_from_elsewhere(self):
        page = PageParser()
        page.feed((WEB / "docs.html").read_text(encoding="utf-8"))
        self.assertEqual(page.inline, [])
        self.assertEqual(page.controls - page.labels, set(), "controls without a label")
        for link in page.links:
            self.assertRegex(link, r"^(#operations|\./|openapi\.json|docs/docs\.(css|js))$")
        for name in ("docs.html", "docs.css", "docs.js"):
            text = (WEB / name).read_text(encoding="utf-8")
            self.assertNotRegex(text, r"https?:|@import|url\(|innerHTML|\beval\b")

    def test_the_script_finds_what_it_looks_for(self):
        page = PageParser()
        page.feed((WEB / "docs.html").read_text(encoding="utf-8"))
        script = (WEB / "docs.js").read_text(encoding="utf-8")
        wanted = set(re.findall(r'byId\("(\w+)"\)', script))
        self.assertGreater(len(wanted), 4)
        self.assertEqual(wanted - page.ids, set())


if __name__ == "__main__":
    unittest.main()
