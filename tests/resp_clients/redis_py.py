# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Mints keys one after the other, then in pipelines, and writes them to stdout: PORT COUNT."""

import sys

import redis

DEPTH = 1000


def main(port, count):
    client = redis.Redis(port=port, decode_responses=True)
    keys = [client.execute_command("KEYMILL.MINT", "default") for _ in range(count)]
    for _ in range(0, count, DEPTH):
        with client.pipeline(transaction=False) as pipe:
            for _ in range(DEPTH):
                pipe.execute_command("KEYMILL.MINT", "default")
            keys += pipe.execute()
    print("\n".join(keys))


main(int(sys.argv[1]), int(sys.argv[2]))
