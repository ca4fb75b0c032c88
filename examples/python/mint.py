#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Keys over HTTP, with nothing but Python's own library.

    mint.py [URL [COUNT]]      prints COUNT keys of the keyspace "default"
"""

import json
import sys
import time
import urllib.error
import urllib.request


def mint(server, keyspace, count, attempts=5):
    """So many new keys. A server that is about to have some again is asked again."""
    request = urllib.request.Request(f"{server}/v1/keyspaces/{keyspace}/keys?count={count}",
                                     method="POST")
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)["keys"]
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            attempts -= 1
            if error.code != 503 or attempts == 0:
                raise SystemExit(f"{problem['type']}: {problem['detail']}") from error
            time.sleep(int(error.headers.get("Retry-After", 1)))


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    print("\n".join(mint(url, "default", number)))
