# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The peers' own bytes: requests and answers of tests/golden/peers.jsonl, played in order.

The file can be played against a peer itself, which tells whether it is right:
    python3 tests/support/scenario_peers.py --url http://127.0.0.1:8000 --peer generate-id
"""

import argparse
import json
import re
import sys
import urllib.parse

from keymill_process import ROOT, Server, ask, ledger

GOLDEN = ROOT / "tests/golden/peers.jsonl"
# What stands for bytes that differ each time.
PLACES = {"<number>": rb"[1-9][0-9]*", "<key>": rb"[0-9A-Za-z]{7}", "<ms>": rb"[0-9]{13}",
          "<worker>": rb"[0-9]{1,4}", "<language>": rb"(?:Go|C\+\+)", "<text>": rb"[^\"]*"}
CONFIG = """
compat: [forge, generate-id, leaf, tinyid]
keyspaces:
  default: {kind: shuffled}
  ids: {kind: snowflake}
  order: {kind: sequence, alphabet: decimal}
  odd: {kind: ticket, stride: 2, offset: 1, alphabet: decimal}
  small: {kind: sequence, alphabet: decimal, length: 1}
"""
TINYID_LOADING_PERCENT = 20
# Where the example in Leaf's source was made.
ENVIRONMENT = {"TZ": "Asia/Shanghai", "POD_NAME": "id-generator-1023"}


def exchanges(peer=None):
    with open(GOLDEN, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    return [row for row in rows if peer in (None, row["peer"])]


def pattern_of(body):
    pieces = re.split("(" + "|".join(PLACES) + ")", body)
    return b"".join(PLACES.get(piece) or re.escape(piece.encode()) for piece in pieces)


def play(port, row):
    """What differs from the golden answer; "" for nothing."""
    headers = dict(row.get("send", {}))
    answer = ask(port, row["method"], row["target"], body=row.get("form"), headers=headers)
    if answer.status != row["status"]:
        return f"status {answer.status}: {answer!r}"
    for name, value in row.get("headers", {}).items():
        if answer.headers[name] != value:
            return f"{name}: {answer.headers[name]!r}, not {value!r}"
    if "body" in row and not re.fullmatch(pattern_of(row["body"]), answer.body):
        return f"body {answer.body[:200]!r}, not {row['body']!r}"
    return ""


def segment_of(body):
    """(currentId, loadingId, maxId, delta, remainder) of tinyid's answer; None in any other."""
    if body.startswith(b"{"):
        data = json.loads(body)["data"]
        names = ("currentId", "loadingId", "maxId", "delta", "remainder")
        return tuple(data[name] for name in names) if isinstance(data, dict) else None
    return tuple(map(int, body.split(b","))) if body.count(b",") == 4 else None


def wrong_segment(segment, first, count):
    """What differs from the segment of `count` numbers from `first` on; "" for nothing."""
    _, _, _, delta, remainder = segment
    current = first - delta
    due = (current, current + count * TINYID_LOADING_PERCENT // 100 * delta,
           current + count * delta, delta, remainder)
    return "" if segment == due and first % delta == remainder else f"{segment}, not {due}"


def segments(checks, directory):
    """The numbers of a segment, which stand for any in the golden file: against the store's own
    record of what was lent."""
    asked = ("nextSegmentIdSimple", "nextSegmentId") * 2
    with Server(directory, config=CONFIG, env=ENVIRONMENT) as server:
        # Keyspace, and the number that an index of its ledger stands for.
        for name, number in (("order", lambda index: index), ("odd", lambda index: 2 * index + 1)):
            for call in asked:
                before = sum(row[1] for row in ledger(directory / "data/keymill.db", name))
                answer = server.ask("GET", f"/tinyid/id/{call}?token=t&bizType={name}")
                rows = ledger(directory / "data/keymill.db", name)
                count = sum(row[1] for row in rows) - before
                end = max(row[0] + row[1] for row in rows)
                wrong = wrong_segment(segment_of(answer.body), number(end - count), count)
                checks.that(count > 0 and not wrong, f"{call} of {name}: {answer.text} {wrong}")


def peers_bytes(checks, directory):
    """Every exchange of the golden file, with a server that serves all peers."""
    exact = {}
    with Server(directory, config=CONFIG, env=ENVIRONMENT) as server:
        for row in exchanges():
            wrong = play(server.port, row)
            exact.setdefault(row["peer"], []).append(not wrong)
            checks.that(not wrong, f"{row['peer']}: {row['method']} {row['target']} "
                        f"({row['from']}) {wrong}")
        log = server.log()
    checks.that("s3cret" not in log, "tinyid's token is in no line of the log")
    total = sum(len(each) for each in exact.values())
    passed = sum(sum(each) for each in exact.values())
    return f"{passed} of {total} exchanges byte for byte: " + ", ".join(
        f"{peer} {sum(each)}" for peer, each in exact.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--peer", required=True)
    arguments = parser.parse_args()
    port = urllib.parse.urlsplit(arguments.url).port
    failed = 0
    for row in exchanges(arguments.peer):
        if row.get("ours"):  # Differs on purpose.
            continue
        wrong = play(port, row)
        failed += bool(wrong)
        print("FAIL" if wrong else "ok  ", row["method"], row["target"], wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
