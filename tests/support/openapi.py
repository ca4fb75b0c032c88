# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The OpenAPI document as something to hold answers against."""

import json

import jsonschema

METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
# Of HTTP itself, whatever is asked for; content-type is compared with the body's description.
TRANSPORT_HEADERS = {"date", "content-type", "content-length", "connection", "transfer-encoding"}


class Operation:
    """One method of one path."""

    def __init__(self, document, path, method):
        item = document.paths[path]
        self.path = path
        self.method = method.upper()
        self.node = item[method]
        self.name = self.node["operationId"]
        self.parameters = [document.resolve(parameter) for parameter in
                           item.get("parameters", []) + self.node.get("parameters", [])]
        self.responses = {status: document.resolve(response)
                          for status, response in self.node["responses"].items()}

    def response(self, status):
        """What the document says of a status; None when nothing."""
        return self.responses.get(str(status), self.responses.get("default"))

    def target(self, values):
        """The path with `values`, by name, or else the document's own examples in its places."""
        path = self.path
        for parameter in self.parameters:
            if parameter["in"] == "path":
                value = values.get(parameter["name"], parameter.get("example"))
                path = path.replace("{" + parameter["name"] + "}", str(value))
        return path

    def names(self, place):
        return {parameter["name"] for parameter in self.parameters if parameter["in"] == place}


class Document:
    def __init__(self, text):
        self.root = json.loads(text)
        self.paths = self.root["paths"]
        self.resolver = jsonschema.RefResolver.from_schema(self.root)
        self.operations = {}
        self.twice = []
        for path, item in self.paths.items():
            for method in METHODS:
                if method in item:
                    operation = Operation(self, path, method)
                    if operation.name in self.operations:
                        self.twice.append(operation.name)
                    self.operations[operation.name] = operation

    def resolve(self, node):
        while "$ref" in node:
            node = self.resolver.resolve(node["$ref"])[1]
        return node

    def faults(self, schema, value):
        """What is wrong with a value, a line for each fault."""
        validator = jsonschema.Draft202012Validator(schema, resolver=self.resolver)
        return [f"{'/'.join(map(str, error.absolute_path)) or 'the whole'}: {error.message[:300]}"
                for error in validator.iter_errors(value)]

    def answer_faults(self, operation, answer):
        """How an answer differs from what the document says of it."""
        response = operation.response(answer.status)
        if response is None:
            return [f"status {answer.status} is not in the document"]
        return (self._header_faults(response, answer.headers) +
                self._body_faults(response, answer))

    def _header_faults(self, response, headers):
        faults = []
        described = {name.lower(): self.resolve(header)
                     for name, header in response.get("headers", {}).items()}
        sent = {name.lower(): value for name, value in headers.items()}
        for name in sorted(set(sent) - set(described) - TRANSPORT_HEADERS):
            faults.append(f"header {name} is not in the document")
        for name, header in described.items():
            if name in sent:
                faults += [f"header {name}: {fault}"
                           for fault in self.faults(header["schema"], sent[name])]
            elif header.get("required"):
                faults.append(f"header {name} is missing")
        return faults

    def _body_faults(self, response, answer):
        described = response.get("content")
        found = answer.headers.get("Content-Type")
        if described is None:
            return [f"a body of {len(answer.body)} bytes, type {found}; the document has none"
                    ] if answer.body or found else []
        if found not in described:
            return [f"Content-Type is {found}; the document has {', '.join(described)}"]
        schema = described[found]["schema"]
        return self.faults(schema, answer.json if "json" in found else answer.text)

    def slugs(self, response):
        """The problems that a response may be."""
        found = []
        for media_type, media in response.get("content", {}).items():
            if media_type == "application/problem+json":
                for part in media["schema"]["allOf"]:
                    words = part.get("properties", {}).get("type", {})
                    found += words.get("enum", []) + ([words["const"]] if "const" in words else [])
        return found

    def examples(self):
        """(where, schema, example) of everything that has one."""
        def walk(node, where):
            if isinstance(node, list):
                for number, inner in enumerate(node):
                    yield from walk(inner, f"{where}/{number}")
            if not isinstance(node, dict):
                return
            if "schema" in node and "example" in node:
                yield where, node["schema"], node["example"]
            if "schema" in node and "examples" in node:
                for name, example in node["examples"].items():
                    yield f"{where}/{name}", node["schema"], example["value"]
            for name, inner in node.items():
                if name not in ("example", "examples"):
                    yield from walk(inner, f"{where}/{name}")
        yield from walk(self.root, "#")

    def schemas(self):
        """(where, schema) of everything that has one."""
        def walk(node, where):
            if isinstance(node, dict):
                for name, inner in node.items():
                    if name == "schema":
                        yield f"{where}/schema", inner
                    elif name not in ("example", "examples"):
                        yield from walk(inner, f"{where}/{name}")
            elif isinstance(node, list):
                for number, inner in enumerate(node):
                    yield from walk(inner, f"{where}/{number}")
        yield from walk(self.root, "#")
        for name, schema in self.root["components"]["schemas"].items():
            yield f"#/components/schemas/{name}", schema
