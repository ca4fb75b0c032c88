# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The clients of Redis that people use, unchanged: each connects, mints, and has nothing to say."""

import os
import pathlib
import subprocess

from keymill_process import Server, duplicates

CLIENTS = pathlib.Path(__file__).resolve().parents[1] / "resp_clients"
DEPTH = 1000
NAMES = {"redis-py", "redigo", "ioredis", "node-redis"}
# What makes a client's program count instead, and read numbers for that.
COUNTING = (('"KEYMILL.MINT", "default"', '"INCR", "orders"'), ("redis.String(", "redis.Int64("),
            ('"\\n".join(keys)', '"\\n".join(map(str, keys))'))
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
    found = [("redis-py", ["/usr/bin/python3", "-W", "error", CLIENTS / "redis_py.py"],
              {"PYTHONDONTWRITEBYTECODE": "1"})]
    if pathlib.Path("/usr/share/gocode/src/github.com/gomodule/redigo").is_dir():
        found.append(("redigo", ["go", "run", CLIENTS / "redigo.go"],
                      {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                       "GOCACHE": str(directory / "go")}))
    modules = node_modules(directory) if with_npm else None
    if modules:
        for name, file in (("ioredis", "ioredis.js"), ("node-redis", "node_redis.js")):
            found.append((name, ["node", CLIENTS / file], {"NODE_PATH": str(modules)}))
    return found


def counting(directory, command):
    """The same client with INCR in place of KEYMILL.MINT: a copy of its program."""
    program = command[-1]
    text = program.read_text(encoding="utf-8")
    if COUNTING[0][0] not in text:
        raise RuntimeError(f"{program.name} mints in another way")
    for mint, count in COUNTING:
        text = text.replace(mint, count)
    copy = directory / f"incr_{program.name}"
    copy.write_text(text, encoding="utf-8")
    return [*command[:-1], copy]


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


def count_by_redis_cli(checks, server, directory, count):
    done = run("redis-cli", "-p", server.resp_port, input="INCR orders\n" * count)
    numbers = done.stdout.split()
    checks.that(done.returncode == 0 and len(numbers) == count,
                f"redis-cli: {len(numbers)} answers to INCR")
    path = directory / "incr-redis-cli.txt"
    path.write_text("\n".join(numbers) + "\n", encoding="ascii")
    return path


def check_numbers(checks, files):
    """What INCR has answered, to all clients together."""
    numbers = [line for path in files for line in path.read_text(encoding="ascii").split()]
    repeated = len(numbers) - len(set(numbers))
    checks.that(repeated == 0 and all(each.isdecimal() for each in numbers),
                f"{len(numbers):,} answers to INCR, {repeated} came twice")


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
    """`count` keys by each client, one by one, and as many pipelined; then numbers. With npm no
    client may be missing; without, those that are there are tried."""
    count = max(DEPTH, count // DEPTH * DEPTH)
    with Server(directory, config=CONFIG, resp="127.0.0.1:0") as server:
        files, numbers, names = [], [], []
        for name, command, env in programs(directory, with_npm):
            files.append(mint_by_program(checks, server, directory, name, command, env, count))
            numbers.append(mint_by_program(checks, server, directory, f"{name} INCR",
                                           counting(directory, command), env, count))
            names.append(name)
        if with_npm:
            missing = sorted(NAMES - set(names))
            checks.that(not missing, f"all clients are there; missing: {missing}")
        files.append(mint_by_redis_cli(checks, server, directory, count))
        numbers.append(count_by_redis_cli(checks, server, directory, count))
        check_numbers(checks, numbers)
        load_by_redis_benchmark(checks, server, count)
        errors = server.metric("keymill_resp_commands_total", outcome="error")
        server.stop()
    told = duplicates(*files)
    repeated = told["keys"] - told["distinct"]
    checks.that(repeated == 0, f"{told['keys']} keys, {repeated} duplicates")
    # What newer clients try, and go on without: CLIENT MAINT_NOTIFICATIONS.
    checks.that(errors <= 2 * len(names), f"{errors:.0f} commands were refused")
    return f"{', '.join(names)}, redis-cli, redis-benchmark: {told['keys']} keys, " \
        f"{repeated} duplicates"
