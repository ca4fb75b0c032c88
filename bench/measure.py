# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The tools of a measurement: what a process has used, the servers beside ours, their load.

Nothing here decides what is measured (speed_rows.py) or how it is shown (report.py).
"""

import contextlib
import csv
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/support"))

# pylint: disable=wrong-import-position,unused-import
from keymill_process import (RawConnection, Server, ask, await_that, build_program, free_port,
                             keymill_bin)
from scenario_wire import KEY_REQUEST, idle_connections, rss_kib

CONNECTIONS = 64
SCRAPE_SECONDS = 1

NGINX_CONFIG = """
worker_processes 1;
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location = /get-key {{ default_type "text/plain; charset=utf-8"; return 200 "AbCdEf1"; }}
  }}
}}
"""


def cpu_seconds(pid):
    """User and system time of a process, all its threads, in nanoseconds' steps.

    This is the kernel's clock of that process (clock_getcpuclockid, which Python lacks);
    /proc/PID/stat counts in hundredths of a second.
    """
    return time.clock_gettime((~pid << 3) | 2)


class Cpu:
    """The CPU time that a process spends while the block runs."""

    def __init__(self, pid):
        self.pid = pid
        self.seconds = 0.0

    def __enter__(self):
        self.seconds = -cpu_seconds(self.pid)
        return self

    def __exit__(self, *_):
        self.seconds += cpu_seconds(self.pid)


# --- Servers ----------------------------------------------------------------------------


@contextlib.contextmanager
def running(*arguments, **options):
    """A process that is ended with the block, by its id."""
    options.setdefault("stdout", subprocess.DEVNULL)
    with subprocess.Popen([str(a) for a in arguments], **options) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def await_port(process, port, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.01)
    raise RuntimeError(f"{process.args[0]}: nobody listens on its port")


class Peer:
    """A server under load: whose CPU time counts, and where it listens."""

    def __init__(self, pid, port):
        self.pid = pid
        self.port = port


@contextlib.contextmanager
def keymill(directory, *flags):
    directory.mkdir()
    with Server(directory, *flags) as server:
        yield Peer(server.pid, server.port)
        server.stop()


@contextlib.contextmanager
def scraped(port, pages=None):
    """Reads /metrics every second; `pages` is told of each whether it was whole."""
    ended = threading.Event()

    def scrape():
        while not ended.wait(SCRAPE_SECONDS):
            answer = ask(port, "GET", "/metrics")
            if pages is not None:
                pages.append(answer.status == 200 and b"keymill_keys_issued_total" in answer.body)

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def nginx():
    """One worker that answers with as many bytes as a key has; the worker's time counts."""
    with tempfile.TemporaryDirectory(prefix="keymill-nginx-") as directory:
        port = free_port()
        config = pathlib.Path(directory) / "nginx.conf"
        config.write_text(NGINX_CONFIG.format(dir=directory, port=port), encoding="ascii")
        os.chmod(directory, 0o755)
        with running("/usr/sbin/nginx", "-c", config, "-p", directory, "-e",
                     f"{directory}/start.log") as master:
            await_port(master, port)
            children = pathlib.Path(f"/proc/{master.pid}/task/{master.pid}/children")
            # It listens before it has a worker.
            await_that(lambda: children.read_text(encoding="ascii"), "nginx has a worker")
            yield Peer(int(children.read_text(encoding="ascii")), port)


@contextlib.contextmanager
def epoll_baseline():
    with running(build_program("epoll_baseline"), stdout=subprocess.PIPE, text=True) as process:
        yield Peer(process.pid, int(process.stdout.readline()))


@contextlib.contextmanager
def redis():
    """Without persistence: it has nothing to do but count."""
    with tempfile.TemporaryDirectory(prefix="keymill-redis-") as directory:
        port = free_port()
        with running("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                     "--appendonly", "no", "--dir", directory) as process:
            await_port(process, port)
            yield Peer(process.pid, port)


@contextlib.contextmanager
def iperf():
    port = free_port()
    with tempfile.NamedTemporaryFile("r", prefix="keymill-iperf-") as said, \
            running("iperf3", "-s", "-B", "127.0.0.1", "-p", port, "--forceflush",
                    stdout=said, stderr=subprocess.DEVNULL) as process:
        # It says when it listens; to try its port would be a test to it, and a broken one.
        await_that(lambda: process.poll() is not None or "listening" in
                   pathlib.Path(said.name).read_text(encoding="utf-8"), "iperf3 listens")
        yield Peer(process.pid, port)


# --- Load -------------------------------------------------------------------------------


def load(peer, *, pipeline, seconds, keys=None):
    """What `keymill bench` says of a server, and CPU seconds of that server.

    `keys` asks for so many in each request, instead of one.
    """
    url = f"http://127.0.0.1:{peer.port}" + ("" if keys else "/get-key")
    many = ["--keyspace", "default", "--count", str(keys)] if keys else []
    with Cpu(peer.pid) as cpu:
        done = subprocess.run(
            [str(keymill_bin()), "bench", url, "-c", str(CONNECTIONS), "--pipeline",
             str(pipeline), "--threads", "1", "--duration", f"{int(seconds * 1000)}ms",
             "--no-check", "--no-live", "-o", "json", *many],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"keymill bench ended with {done.returncode}: {done.stderr[-500:]}")
    report = json.loads(done.stdout)
    if report["errors"]["total"]:
        raise RuntimeError(f"errors under load: {report['errors']}")
    return report, cpu.seconds


def redis_cpu_ns(peer, *, pipeline, requests):
    """Nanoseconds of redis-server's CPU time for one INCR."""
    with Cpu(peer.pid) as cpu:
        done = subprocess.run(
            ["redis-benchmark", "-p", str(peer.port), "-t", "incr", "-n", str(requests), "-P",
             str(pipeline), "-c", str(CONNECTIONS), "--csv"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    if [row["test"] for row in rows] != ["INCR"]:
        raise RuntimeError(f"redis-benchmark: {done.stdout}")
    return cpu.seconds / requests * 1e9


def header_cpu_ns(peer, *, seconds, changing, depth=32):
    """Nanoseconds of CPU for a pipelined request with a header that changes, or does not."""
    def turn(number):
        trace = b"Trace: %016d\r\n\r\n"
        return b"".join(KEY_REQUEST[:-2] + trace % (number * depth + i if changing else 0)
                        for i in range(depth))

    turns = [turn(number) for number in range(256)]
    buffer = bytearray(1 << 20)
    count = 0
    with contextlib.ExitStack() as stack:
        # So many that the server is never out of work: to wake it costs more than to answer.
        connections = [stack.enter_context(
            socket.create_connection(("127.0.0.1", peer.port), timeout=30)) for _ in range(16)]
        connections[0].sendall(turns[0][:len(turns[0]) // depth])
        answer_size = len(connections[0].recv(65536))
        end = time.monotonic() + seconds
        with Cpu(peer.pid) as cpu:
            while time.monotonic() < end:
                for connection in connections:
                    connection.sendall(turns[count % len(turns)])
                    count += 1
                for connection in connections:
                    left = answer_size * depth
                    while left > 0:
                        got = connection.recv_into(buffer)
                        if got == 0:
                            raise RuntimeError("the server has closed the connection")
                        left -= got
    return cpu.seconds / (count * depth) * 1e9


def iperf_bytes_per_second(peer, seconds):
    done = subprocess.run(
        ["iperf3", "-c", "127.0.0.1", "-p", str(peer.port), "-t", str(max(1, round(seconds))),
         "-J"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 8


def stream_bytes_per_second(peer, keyspace, keys):
    """Keys as lines over one connection into a reader that only counts bytes."""
    each = min(keys, 100_000_000)  # The most that one request may ask for.
    done = subprocess.run([str(build_program("stream_reader")), "--sink", str(peer.port),
                           keyspace, str(each), str(keys // each)],
                          stdout=subprocess.PIPE, check=True)
    seen = json.loads(done.stdout)
    if seen["broken"] or seen["bytes"] < keys * 8:
        raise RuntimeError(f"the stream was broken: {seen}")
    return seen["bytes"] / seen["seconds"]


def benchmark(program, pattern, seconds):
    """Google Benchmark's medians by name, of repetitions that take turns."""
    repetitions = 5
    done = subprocess.run(
        [str(build_program(program)), "--benchmark_format=json", f"--benchmark_filter={pattern}",
         f"--benchmark_min_time={seconds / repetitions}",
         f"--benchmark_repetitions={repetitions}", "--benchmark_report_aggregates_only=true",
         "--benchmark_enable_random_interleaving=true"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return {row["run_name"]: row for row in json.loads(done.stdout)["benchmarks"]
            if row["aggregate_name"] == "median"}


# --- Start and disk ---------------------------------------------------------------------


def fsync_ms(directory, count=10):
    """The median time of an fsync after a page was added, on the disk of `directory`."""
    times = []
    with open(directory / "fsync", "wb", buffering=0) as file:
        for _ in range(count):
            file.write(b"\0" * 4096)
            began = time.monotonic()
            os.fsync(file.fileno())
            times.append((time.monotonic() - began) * 1000)
    return statistics.median(times)


def first_key_ms(directory):
    """From before the process is made, in an empty directory, to the first key."""
    directory.mkdir()
    port = free_port()
    server = Server(directory, "--listen", f"127.0.0.1:{port}")
    began = time.monotonic()
    server.launch()
    try:
        while time.monotonic() < began + 30:
            with contextlib.suppress(OSError), \
                    socket.create_connection(("127.0.0.1", port), 5) as connection:
                connection.sendall(KEY_REQUEST)
                if connection.recv(4096).startswith(b"HTTP/1.1 200"):
                    return (time.monotonic() - began) * 1000
            time.sleep(0.0002)
    finally:
        server.kill()
    raise RuntimeError(f"no key in 30 s:\n{server.log()}")
