# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Requests for every answer that docs/openapi.json tells of.

They run in order, on the servers of a World (test_openapi.py), some on what others have left.
"""

import contextlib
import dataclasses
import json
import sqlite3
import time

from keymill_process import DatabaseLock

OTHER_SITE = {"Origin": "https://elsewhere.example"}
TINY = {"kind": "sequence", "alphabet": "decimal", "length": 1}
POOL = {"kind": "pool", "recycle": True}
LINK = {"url": "https://example.com/shop?item=7"}

# Answers that no test can ask for here, and why. An entry that the document does not need is a
# failure, too.
NOT_PROVOKED = {
    ("getMetrics", "503"): "needs dozens of pages that are written at once",
}
SLUGS_NOT_PROVOKED = {
    "internal": "would be a fault of the server",
    "request-timeout": "takes the time of a slow client; test_slow_clients.py has it",
    "clock-went-back": "needs another clock; test_snowflake_clock.py has it",
}


@dataclasses.dataclass
class Case:
    """A request, and which answer it must get. Parameters that are not given are the examples of
    the document, if they are in the path, or left out."""

    operation: str
    status: int
    slug: str = ""
    on: str = "main"
    values: dict = dataclasses.field(default_factory=dict)  # Of parameters, by name.
    body: object = None
    headers: dict = dataclasses.field(default_factory=dict)  # Those that the document has not.
    before: object = None    # Called with the world first; may return values.
    repeats: int = 1         # Asked so often until the answer is the wanted one.
    bad: bool = False        # The request is none that the document allows.


def keyspace(name, **more):
    return {"keyspace": name, **more}


def of_pool(world):
    """A fresh key of the pool that takes keys back."""
    [key] = world.server("main").mint("codes")
    return keyspace("codes", key=key)


def released(world):
    values = of_pool(world)
    world.server("main").ask("DELETE", f"/v1/keyspaces/codes/keys/{values['key']}")
    return values


def lent(world, count=10, ttl=600):
    """A block of numbers."""
    answer = world.server("main").ask("POST", f"/v1/keyspaces/odd/blocks?count={count}&ttl={ttl}")
    return keyspace("odd", block=answer.json["id"])


def expired(world):
    values = lent(world, ttl=1)
    time.sleep(1.1)
    return values


def given_back(world):
    values = lent(world)
    world.server("main").ask("DELETE", f"/v1/keyspaces/odd/blocks/{values['block']}?used=1")
    return values


def quarantined(world):
    path = world.server("main").directory / "data/keymill.db"
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as database, database:
        database.execute("UPDATE keymill_keyspaces SET state = 'quarantined', reason = 'a test', "
                         "rev = rev + 1 WHERE name = 'lost'")


def locked(world):
    path = world.server("hasty").directory / "data/keymill.db"
    world.stack.enter_context(DatabaseLock(path))


def tag_of(path):
    def look(world):
        return {"If-None-Match": world.server("main").ask("GET", path).headers["ETag"]}
    return look


def reads(operation, **values):
    """What every request that asks the store may be answered with."""
    return [Case(operation, 503, "store-unavailable", on="away", values=values),
            Case(operation, 400, "bad-request", values={**values, "keyspace": "-"}, bad=True),
            Case(operation, 404, "keyspace-not-found", values={**values, "keyspace": "nobody"})]


def changes(operation, body=None, **values):
    """The same for one that changes something."""
    return [Case(operation, 403, "forbidden", values=values, body=body, headers=OTHER_SITE),
            *reads(operation, **values)]


def sends(operation, body, **values):
    """The same for one with a body."""
    return [Case(operation, 415, "unsupported-media-type", values=values, body=json.dumps(body),
                 headers={"Content-Type": "text/plain"}),
            Case(operation, 400, "bad-request", values=values, body={"cuont": 1}, bad=True)]


CASES = [
    Case("mintKeys", 200, values=keyspace("orders", count=3)),
    Case("mintKeys", 200, values=keyspace("orders"), body={"count": 2}),
    Case("mintKeys", 200, values=keyspace("orders", count=3), headers={"Accept": "text/plain"}),
    Case("mintKeys", 200, values=keyspace("orders", count=10_001),
         headers={"Accept": "text/plain"}),
    Case("mintKeys", 200, values={"count": 2, "Idempotency-Key": "a"}),
    Case("mintKeys", 422, "idempotency-key-reused", values={"count": 3, "Idempotency-Key": "a"}),
    Case("mintKeys", 400, "bad-request", values={"count": 0}, bad=True),
    Case("mintKeys", 400, "bad-request",
         values=keyspace("codes", **{"Idempotency-Key": "a"})),
    Case("mintKeys", 410, "keyspace-retired", values=keyspace("old")),
    Case("mintKeys", 413, "too-many-keys", values={"count": 10_001}),
    Case("mintKeys", 413, "too-large", body=b" " * 100_000, bad=True),
    Case("mintKeys", 501, "not-supported-by-store", on="etcd",
         values={"Idempotency-Key": "a"}),
    Case("mintKeys", 503, "keyspace-quarantined", values=keyspace("lost", count=1000),
         before=quarantined, repeats=100),
    Case("mintKeys", 507, "keyspace-exhausted", values=keyspace("tiny"), repeats=20),
    *changes("mintKeys"), *sends("mintKeys", {"count": 1}),

    Case("claimKey", 201, body={"owner": "shop-3"}),
    Case("claimKey", 200, body={"owner": "shop-3"}),
    Case("claimKey", 201, values={"key": "nobody-s"}),
    Case("claimKey", 409, "alias-taken", body={"owner": "shop-4"}),
    Case("claimKey", 410, "keyspace-retired", values=keyspace("old")),
    Case("claimKey", 422, "alias-invalid", values={"key": "ab"}),
    Case("claimKey", 422, "alias-reserved", values={"key": "login"}),
    Case("claimKey", 422, "alias-looks-generated", values={"key": "abcdefg"}),
    Case("claimKey", 501, "not-supported-by-store", on="etcd"),
    *changes("claimKey"), *sends("claimKey", {"owner": "a"}),

    Case("explainKey", 200),
    Case("explainKey", 200, before=of_pool),
    Case("explainKey", 200, before=lambda world: keyspace(
        "orders", key=world.server("main").mint("orders")[0])),
    Case("explainKey", 200, before=lambda world: keyspace(
        "ids", key=world.server("main").mint("ids")[0])),
    Case("explainKey", 200, before=lambda world: keyspace(
        "odd", key=world.server("main").mint("odd")[0])),
    Case("explainKey", 200, before=lambda world: keyspace(
        "events", key=world.server("main").mint("events")[0])),
    Case("explainKey", 404, "key-not-found", values=keyspace("orders", key="ord_99999999")),
    *reads("explainKey"),

    Case("releaseKey", 204, before=of_pool),
    Case("releaseKey", 204, values={"If-Match": '"0"'}, before=of_pool),
    Case("releaseKey", 400, "bad-request", values={"If-Match": "0"}, bad=True),
    Case("releaseKey", 404, "key-not-found", values=keyspace("codes", key="nobodys")),
    Case("releaseKey", 409, "key-not-used", before=released),
    Case("releaseKey", 409, "other-generation", values={"If-Match": '"7"'}, before=of_pool),
    Case("releaseKey", 409, "keys-not-recycled"),
    Case("releaseKey", 410, "keyspace-retired", before=lambda world: keyspace(
        "oldcodes", key=world.old_key)),
    *changes("releaseKey"),

    Case("lendBlock", 200, values=keyspace("odd", count=100, ttl=60)),
    Case("lendBlock", 200, values=keyspace("odd"), body={"count": 2}),
    Case("lendBlock", 400, "bad-request", values=keyspace("odd", count=0), bad=True),
    Case("lendBlock", 410, "keyspace-retired", values=keyspace("old")),
    Case("lendBlock", 422, "keys-not-lendable", values=keyspace("default")),
    Case("lendBlock", 507, "keyspace-exhausted", values=keyspace("tiny"), repeats=20),
    *changes("lendBlock"), *sends("lendBlock", {"count": 1}, **keyspace("odd")),

    Case("returnBlock", 204, values={"used": 4}, before=lent),
    Case("returnBlock", 400, "bad-request", values={"used": 11}, before=lent, bad=True),
    Case("returnBlock", 404, "block-not-found", values={"used": 1}, before=given_back),
    Case("returnBlock", 410, "block-expired", values={"used": 1}, before=expired),
    *changes("returnBlock", used=1),

    Case("deriveKey", 200, values=keyspace("pages"), body={"content": "https://example.com/"}),
    Case("deriveKey", 200, values=keyspace("pages"), body={"content": "a", "salt": "user-7"}),
    Case("deriveKey", 410, "keyspace-retired", values=keyspace("oldpages"), body={"content": "a"}),
    Case("deriveKey", 507, "keyspace-exhausted", values=keyspace("few"), repeats=20,
         body=lambda number: {"content": str(number)}),
    *[dataclasses.replace(case, body=case.body or {"content": "a"}) for case in
      changes("deriveKey") + sends("deriveKey", {"content": "a"})],

    Case("getBounds", 200, values=keyspace("ids", **{"from": "2026-01-01", "to": "2026-02-01"})),
    Case("getBounds", 400, "bad-request", values={"from": "2026-01-01"}, bad=True),
    *reads("getBounds", **{"from": "2026-01-01T12:00:00Z", "to": "1790000000000"}),

    Case("createLink", 201, body=LINK),
    Case("createLink", 201, body={**LINK, "dedupe": True}),
    Case("createLink", 200, body={**LINK, "dedupe": True}),
    Case("createLink", 201, body={**LINK, "alias": "spring-sale", "expires_at": "2030-01-01"}),
    Case("createLink", 200, body={**LINK, "alias": "spring-sale", "expires_at": 1893456000000}),
    Case("createLink", 409, "alias-taken", body={**LINK, "alias": "spring-sale"}),
    *[Case("createLink", 422, slug, body={**LINK, "alias": alias}) for slug, alias in (
        ("alias-invalid", "ab"), ("alias-reserved", "login"),
        ("alias-looks-generated", "abcdefg"))],
    Case("createLink", 400, "bad-request", body={"url": "ftp://example.com/"}),
    Case("createLink", 400, "bad-request", body={}, bad=True),
    Case("createLink", 403, "forbidden", body=LINK, headers=OTHER_SITE),
    Case("createLink", 404, "keyspace-not-found", on="nameless", body=LINK),
    Case("createLink", 501, "not-supported-by-store", on="etcd", body=LINK),
    Case("createLink", 503, "store-unavailable", on="away", body=LINK),
    *sends("createLink", LINK),

    Case("listLinks", 200),
    Case("listLinks", 200, values={"limit": 1}),
    Case("listLinks", 200, before=lambda world: {
        "cursor": world.server("main").ask("GET", "/v1/links?limit=1").json["cursor"]}),
    Case("listLinks", 400, "bad-request", values={"limit": 0}, bad=True),
    Case("listLinks", 404, "keyspace-not-found", on="nameless"),
    Case("listLinks", 501, "not-supported-by-store", on="etcd"),
    Case("listLinks", 503, "store-unavailable", on="away"),

    Case("showLink", 200),
    Case("showLink", 404, "link-not-found", values={"link": "nowhere-1"}),
    Case("showLink", 404, "keyspace-not-found", on="nameless"),
    Case("showLink", 501, "not-supported-by-store", on="etcd"),
    Case("showLink", 503, "store-unavailable", on="away"),

    Case("deleteLink", 403, "forbidden", headers=OTHER_SITE),
    Case("deleteLink", 204),
    Case("deleteLink", 404, "link-not-found"),
    Case("deleteLink", 404, "keyspace-not-found", on="nameless"),
    Case("deleteLink", 501, "not-supported-by-store", on="etcd"),
    Case("deleteLink", 503, "store-unavailable", on="away"),

    Case("listKeyspaces", 200),
    Case("listKeyspaces", 200, values={"limit": 2, "after": "codes"}),
    Case("listKeyspaces", 400, "bad-request", values={"limit": 0}, bad=True),
    Case("listKeyspaces", 503, "store-unavailable", on="away"),

    *[Case("showKeyspace", 200, values=keyspace(name)) for name in (
        "default", "ids", "orders", "odd", "events", "codes", "pages", "old", "lost", "tiny")],
    *reads("showKeyspace"),

    Case("createKeyspace", 201, values=keyspace("new"), body={
        "kind": "sequence", "alphabet": "decimal", "prefix": "ord_", "length": 8,
        "check": False, "start": "7", "blocklist": ["666"]}),
    Case("createKeyspace", 201, values=keyspace("plain")),
    Case("createKeyspace", 201, values=keyspace("js"), body={
        "kind": "snowflake", "layout": "javascript", "epoch": "2026-01-01", "workers": 2}),
    Case("createKeyspace", 201, values=keyspace("vouchers"), body={
        "kind": "pool", "audit": "key", "expires_s": 3600, "recycle": True, "quarantine_s": 60}),
    Case("createKeyspace", 201, values=keyspace("urls"), body={
        "kind": "derived", "hash": "md5", "canonical_url": True, "distinct": False}),
    Case("createKeyspace", 200, before=lambda world: {
        "keyspace": "orders", "body": world.server("main").ask(
            "GET", "/v1/keyspaces/orders").json["recipe"]}),
    Case("createKeyspace", 409, "recipe-mismatch", values=keyspace("orders"), body=TINY),
    Case("createKeyspace", 410, "keyspace-retired", values=keyspace("old"), body=TINY),
    Case("createKeyspace", 501, "not-supported-by-store", on="etcd", values=keyspace("codes"),
         body=POOL),
    *[case for case in changes("createKeyspace") if case.status != 404],
    *sends("createKeyspace", TINY, **keyspace("never")),

    Case("retireKeyspace", 200, values=keyspace("plain")),
    Case("retireKeyspace", 200, values=keyspace("plain")),
    *changes("retireKeyspace", **keyspace("orders")),

    Case("getKey", 200),
    Case("getKey", 400, "bad-request", on="derived"),
    Case("getKey", 403, "forbidden", headers={"Sec-Fetch-Site": "cross-site"}),
    Case("getKey", 404, "keyspace-not-found", on="nameless"),
    Case("getKey", 404, "not-found", on="modern"),
    Case("createLink", 201, on="small", body={**LINK, "alias": "spring-sale"}),
    Case("getKey", 507, "keyspace-exhausted", on="small", repeats=20),
    Case("createLink", 507, "keyspace-exhausted", on="small", body=LINK),
    Case("getKey", 410, "keyspace-retired", on="small", before=lambda world: world.server(
        "small").ask("DELETE", "/v1/keyspaces/default") and None),
    Case("createLink", 410, "keyspace-retired", on="small", body=LINK),
    Case("deleteLink", 410, "keyspace-retired", on="small"),
    Case("getKey", 503, "store-unavailable", on="away"),

    *[Case(name + part, 200, values=values) for name in (
        "checkLive", "checkReady", "checkHealth") for part in ("", "Part")
      for values in ({}, {"verbose": ""})],
    *[Case(name + part, 503, on="away") for name in ("checkReady", "checkHealth")
      for part in ("", "Part")],
    *[Case(name + part, 200, on="away", values={"exclude": "mint"})
      for name in ("checkReady", "checkHealth") for part in ("", "Part")],
    *[Case(name + "Part", 404, "not-found", values={"check": "nothing"}, bad=True) for name in (
        "checkLive", "checkReady", "checkHealth")],
    Case("checkLive", 503, "overloaded", on="full", before=lambda world: world.fill("full")),

    Case("getMetrics", 200),
    Case("getIndex", 200),
    Case("getIndex", 200, headers={"Accept": "text/html"}),
    Case("getOpenApi", 200),
    Case("getOpenApi", 304, before=tag_of("/openapi.json")),
    Case("getDocs", 200),
    Case("getDocs", 304, before=tag_of("/docs")),
    Case("getDocsFile", 200, values={"file": "docs.css"}),
    Case("getDocsFile", 200, values={"file": "docs.js"}),
    Case("getDocsFile", 304, before=tag_of("/docs/docs.css")),
    Case("getDocsFile", 404, "not-found", values={"file": "docs.html"}, bad=True),

    # What may happen to any request.
    Case("checkLive", 400, "bad-request", values={"verbose": b"%zz"}, bad=True),
    Case("claimKey", 413, "too-large", body=b" " * 100_000, bad=True),
    Case("explainKey", 414, "uri-too-long", values={"key": "a" * 9000}),
    Case("getIndex", 417, "expectation-failed", headers={"Expect": "wonders"}),
    Case("getIndex", 431, "header-too-large", headers={"X-Large": "a" * 40_000}),
    Case("deriveKey", 501, "not-implemented", headers={"Transfer-Encoding": "gzip"}, bad=True),
    Case("createKeyspace", 501, "not-implemented", headers={"Transfer-Encoding": "gzip"}),

    Case("listKeyspaces", 503, "deadline", on="hasty", before=locked),
]
