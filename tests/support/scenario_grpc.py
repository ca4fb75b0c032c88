# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""gRPC from outside, by reflection: many keys at once, readers that stop, servers without it."""

import json
import pathlib
import re
import subprocess
import sys
import time

from grpc_client import Client
from keymill_process import Server, await_that, run_keymill

MIB = 1024 * 1024
ANYWHERE = "127.0.0.1:0"
# A connection of its own for each client, as on different machines.
ALONE = (("grpc.use_local_subchannel_pool", 1),)
LIBRARY = re.compile(r"\S*(?:grpc|protobuf|absl)\S*")


def grpc_port(server):
    return json.loads(server.ports_path.read_text(encoding="utf-8"))["grpc"]


def rss(server):
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def libraries(server):
    """What the process has of gRPC."""
    maps = pathlib.Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
    return sorted({pathlib.Path(name).name for name in LIBRARY.findall(maps)})


def streams(checks, directory, keys, clients=4, batch=1000):
    """`clients` processes stream `keys` keys in all."""
    with Server(directory, "--listen-grpc", ANYWHERE) as server:
        with Client(grpc_port(server)) as client:
            checks.that("keymill.v1.Keymill" in client.reflection.services(),
                        "the client has found the service by reflection")
        files = [directory / f"keys-{number}" for number in range(clients)]
        began = time.monotonic()
        running = [subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-B", str(pathlib.Path(__file__).with_name("grpc_client.py")),
             str(grpc_port(server)), "default", str(keys // clients), str(batch), str(file)])
                   for file in files]
        codes = [process.wait() for process in running]
        seconds = time.monotonic() - began
        checks.that(codes == [0] * clients, f"{clients} clients have ended well: {codes}")
        checks.that(server.metric("keymill_requests_total", frontend="grpc", method="MintStream",
                                  status="OK") == clients, "the server has counted them")
        checks.that(server.stop() == 0, "the server stops cleanly")
    lines = 0
    for file in files:
        with open(file, "rb") as opened:
            lines += sum(piece.count(b"\n") for piece in iter(lambda f=opened: f.read(MIB), b""))
    checks.that(lines == keys // clients * clients, f"{lines:,} keys have arrived")
    done = run_keymill("verify", *files, cwd=directory, timeout=600)
    checks.that(done.returncode == 0, f"keymill verify finds no duplicate: {done.stdout.strip()}")
    return f"{lines / seconds / 1e6:.2f} M keys/s to {clients} clients"


def stopped_readers(checks, directory, readers, each_max, batch=10_000):
    """`readers` clients ask for a hundred million keys each, read one message, and stop. A server
    may keep the message that it makes for each, of the largest size, but no second one."""
    with Server(directory, "--listen-grpc", ANYWHERE) as server:
        port = grpc_port(server)
        with Client(port) as other:
            for keys in other.stream(count=1_000_000, batch=10_000):  # All is warm afterwards.
                del keys
            before = rss(server)
            clients = [Client(port, options=ALONE) for _ in range(readers)]
            connected = rss(server) - before
            calls = [client.begin("MintStream", count=100_000_000, batch=batch)
                     for client in clients]
            for call in calls:
                next(call)
            read = rss(server) - before
            issued = stalled(server)
            grown = rss(server) - before
            checks.note(f"{connected / MIB:.1f} MiB when all were connected, {read / MIB:.1f} when "
                        f"all had read a message, {grown / MIB:.1f} at the end")
            cost = (grown - connected) / readers
            checks.that(cost < each_max, f"{readers} readers that stopped cost {cost / MIB:.2f} "
                        f"MiB each beside their connections, less than {each_max / MIB:.2f}")
            checks.that(grown - read < each_max * readers / 2, "of which "
                        f"{(grown - read) / MIB:.1f} MiB in all came after the first message")
            each = (issued - 1_000_000) / readers
            checks.that(each < 2_000_000, f"{each:,.0f} keys were minted for each, no more")
            checks.that(len(other.call("Mint", count=10_000).keys) == 10_000,
                        "others get their keys meanwhile")
            checks.that(issued + 10_000 == stalled(server), "and those only were minted")
            for call in calls:
                call.cancel()
            await_that(lambda: server.metric("keymill_requests_total", method="MintStream",
                                             status="CANCELLED") == readers,
                       "all that were cancelled have ended")
            for client in clients:
                client.channel.close()
        checks.that(server.stop() == 0, "the server stops cleanly")
    return f"{cost / MIB:.2f} MiB for each of {readers} readers that stopped"


def stalled(server):
    """The number of keys issued, when it has not grown for a second."""
    def issued():
        return server.metric("keymill_keys_issued_total", keyspace="default")

    last, since = issued(), time.monotonic()
    while time.monotonic() - since < 1:
        time.sleep(0.1)
        now = issued()
        if now != last:
            last, since = now, time.monotonic()
    return last


def without(checks, directory, rss_max):
    """A server that is not configured for gRPC has nothing of it."""
    with Server(directory) as server:
        server.mint()
        time.sleep(1)
        plain = rss(server)
        checks.that(plain <= rss_max, f"without gRPC an idle server has {plain / MIB:.1f} MiB, "
                    f"at most {rss_max / MIB:.0f}")
        found = libraries(server)
        checks.that(not found, f"nothing of gRPC is loaded: {found}")
        checks.that("grpc" not in json.loads(server.ports_path.read_text(encoding="utf-8")),
                    "and it has no port")
        server.stop()
    with Server(directory, "--listen-grpc", ANYWHERE) as server:
        checks.that("libkeymill_grpc.so" in libraries(server), "with gRPC the module is loaded")
        loaded = rss(server)
        server.stop()
    return f"idle: {plain / MIB:.1f} MiB without gRPC, {loaded / MIB:.1f} MiB with it"
