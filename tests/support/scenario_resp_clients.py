# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The clients of Redis that people use, unchanged: each connects, mints, and has nothing to say."""

import os
import pathlib
import subprocess

from keymill_process import Server, duplicates

CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "resp_clients"
DEPTH = 1000
CONFIG = """
keyspaces:
  default: {kind: shuffled, alphabet: base62, length: 7}
  orders: {kind: sequence, alphabet: decimal}
"""


def run(*arguments, **options):
    return subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=900, **options)


def node_modules(directory):
    """The current ioredis and node-redis, from npm; None where there is no npm."""
    folder = directory / "node"
    folder.mkdir()
    try:
        done = run("npm", "install", "--no-audit", "--no-fund", "--prefix", folder, "ioredis",
                   "redis")
    except FileNotFoundError:
        return None
    return folder / "node_modules" if done.returncode == 0 else None


def programs(directory, with_npm):
    """Each client's name, command and environment."""
    found = [("redis-py", ["/usr/bin/python3", "-W", "error", CLIENTS / "redis_py.py"], {})]
    if pathlib.Path("/usr/share/gocode/src/github.com/gomodule/redigo").is_dir():
        found.append(("redigo", ["go", "run", CLIENTS / "redigo.go"],
                      {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                       "GOCACHE": str(directory / "go")}))
    modules = node_modules(directory) if with_npm else None
    if modules:
        for name, file in (("ioredis", "ioredis.js"), ("node-redis", "node_redis.js")):
            found.append((name, ["node", CLIENTS / file], {"NODE_PATH": str(modules)}))
    return found


def mint_by_program(checks, server, directory, name, command, env, count):
    """Returns the file with its keys."""
    done = run(*command, server.resp_port, count, env={**os.environ, **env})
    keys = done.stdout.split()
    checks.that(done.returncode == 0 and not done.stderr and len(keys) == 2 * count,
                f"{name}: {len(keys)} keys, {count} of them pipelined, and no complaint"
                f"{': ' + done.stderr[:500] if done.stderr else ''}")
    path = directory / f"{name}.txt"
    path.write_text("\n".join(keys) + "\n", encoding="ascii")
    return path


def mint_by_redis_cli(checks, server, directory, count):
    lines = "KEYMILL.MINT default\n" * count
    path = directory / "redis-cli.txt"
    keys = []
    for flags in ((), ("-3",)):
        done = run("redis-cli", "-p", server.resp_port, *flags, input=lines)
        checks.that(done.returncode == 0 and not done.stderr and
                    len(done.stdout.split()) == count,
                    f"redis-cli {' '.join(flags)}: {len(done.stdout.split())} keys")
        keys += done.stdout.split()
    path.write_text("\n".join(keys) + "\n", encoding="ascii")
    done = run("redis-cli", "-p", server.resp_port, "--pipe", input=lines)
    checks.that(f"errors: 0, replies: {count}" in done.stdout,
                f"redis-cli --pipe: {done.stdout.strip().splitlines()[-1:]}")
    return path


def load_by_redis_benchmark(checks, server, count):
    for pipeline in (1, 64):
        for command in (("INCR", "orders"), ("KEYMILL.MINT", "default")):
            done = run("redis-benchmark", "-p", server.resp_port, "-n", count, "-P", pipeline,
                       "-q", *command)
            said = (done.stdout + done.stderr).replace("\r", "\n").strip().splitlines()[-1:]
            quiet = not any(word in (done.stdout + done.stderr).lower()
                            for word in ("warn", "error"))
            checks.that(done.returncode == 0 and quiet,
                        f"redis-benchmark {' '.join(command)}, {pipeline} deep: {said}")


def clients(checks, directory, *, count, with_npm):
    """`count` keys by each client, one by one, and as many pipelined."""
    count = max(DEPTH, count // DEPTH * DEPTH)
    with Server(directory, config=CONFIG, resp="127.0.0.1:0") as server:
        files = []
        names = []
        for name, command, env in programs(directory, with_npm):
            files.append(mint_by_program(checks, server, directory, name, command, env, count))
            names.append(name)
        files.append(mint_by_redis_cli(checks, server, directory, count))
        load_by_redis_benchmark(checks, server, count)
        errors = server.metric("keymill_resp_commands_total", outcome="error")
        server.stop()
    told = duplicates(*files)
    repeated = told["keys"] - told["distinct"]
    checks.that(repeated == 0, f"{told['keys']} keys, {repeated} duplicates")
    # What newer clients try, and go on without: CLIENT MAINT_NOTIFICATIONS.
    checks.that(errors <= len(names), f"{errors:.0f} commands were refused")
    return f"{', '.join(names)}, redis-cli, redis-benchmark: {told['keys']} keys, " \
        f"{repeated} duplicates"
