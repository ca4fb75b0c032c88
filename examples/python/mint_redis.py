#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Keys over RESP: every Redis client is a client of Keymill. This one is redis-py.

    mint_redis.py [URL [COUNT]]      prints COUNT keys of the keyspace "default"
"""

import sys

import redis


def main(url="redis://127.0.0.1:6380", count=3):
    mill = redis.Redis.from_url(url, decode_responses=True)
    # One key for each command; a pipeline sends many at once.
    pipeline = mill.pipeline(transaction=False)
    for _ in range(count // 2):
        pipeline.execute_command("KEYMILL.MINT", "default")
    keys = pipeline.execute()
    # Many keys for one command.
    keys += mill.execute_command("KEYMILL.MINT", "default", "COUNT", count - len(keys))
    print("\n".join(keys))


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
