# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What is measured, against what, and how good it has to be.

Machines are shared and noisy, so a time alone says little. Every figure that has a peer is
the ratio of two measurements of the same round, and the rounds take turns, so that whatever
slows the machine down slows both.
"""

import contextlib
import dataclasses
import pathlib
import statistics
import tempfile

import measure

# The bar on the first key counts on a disk that is no slower than this.
FSYNC_MS_MAX = 5

TURNS = 5  # Of each HTTP server in a round


@dataclasses.dataclass(frozen=True)
class Row:
    """A line of the table. Its figure is ours / peer, or ours alone where there is no peer."""

    name: str
    title: str
    what: str            # The quantity, in the words of the table
    unit: str            # Of both measurements: see report.quantity
    peer: str = ""
    relation: str = ""   # <= or >=; empty: for context, no bar
    bar: float = 0


ROWS = (
    Row("one-key-1-thread", "One key per request, 1 thread", "CPU per request", "ns",
        "nginx", "<=", 1.0),
    Row("one-key-2-threads", "One key per request, 2 threads", "CPU per request", "ns",
        "nginx", "<=", 1.0),
    Row("pipelined-rate", "Pipelined 32 deep, 1 thread", "requests/s", "/s", "nginx", ">=", 8.0),
    Row("pipelined-loop", "Pipelined 32 deep, 1 thread", "requests per CPU second", "/s",
        "bare epoll loop", ">=", 0.8),
    Row("pipelined-2-threads", "Pipelined 32 deep, 2 threads", "requests per CPU second", "/s",
        "bare epoll loop"),
    Row("changing-header", "Pipelined 32 deep, a header that changes", "CPU per request", "ns",
        "the same header again"),
    Row("redis-32", "Pipelined 32 deep, 1 thread", "CPU per key", "ns", "Redis INCR, 32 deep"),
    Row("redis-64", "Pipelined 64 deep, 1 thread", "CPU per key", "ns", "Redis INCR, 64 deep"),
    Row("batch-100", "100 keys per request, JSON, 1 thread", "CPU per key", "ns",
        "one key per request"),
    Row("stream", "A sequence as lines over one connection", "bytes/s", "B/s", "iperf3",
        ">=", 0.4),
    Row("bulk-sequence", "In process: sequence, base62, 7 symbols", "bytes/s", "B/s", "memset",
        ">=", 0.4),
    Row("bulk-decimal", "In process: sequence, growing decimal", "bytes/s", "B/s", "memset",
        ">=", 0.4),
    Row("bulk-shuffled", "In process: shuffled, base62, 7 symbols", "keys/s", "/s",
        "AES-128 blocks/s ÷ 10", ">=", 0.4),
    Row("next-1-thread", "In process: Mill::Next, 1 thread", "CPU per key", "ns"),
    Row("next-2-threads", "In process: Mill::Next, 2 threads", "CPU per key", "ns"),
    Row("next-scaling", "In process: Mill::Next, 2 threads", "keys/s", "/s", "1 thread"),
    Row("first-key", "First key, from exec in an empty directory", "time", "ms", "", "<=", 100),
    Row("idle-memory", "Memory of an idle server", "resident", "MiB", "", "<=", 20),
    Row("idle-connection", "Memory of an idle connection", "resident", "KiB", "", "<=", 16),
)


@dataclasses.dataclass(frozen=True)
class Sizes:
    rounds: int = 5
    seconds: float = 3                  # Of load on one server in one round
    stream_keys: int = 200_000_000      # In one round
    redis_requests: int = 2_000_000     # In one round
    connections: int = 1000             # Idle ones
    starts: int = 5

    @staticmethod
    def scaled(scale, rounds=None):
        """Sizes for a trial: with less than 1 the figures mean nothing, but all code runs."""
        full = Sizes()
        if rounds is None:
            rounds = max(1, int(full.rounds * scale))
        return Sizes(rounds=rounds, seconds=max(0.3, full.seconds * min(1, scale)),
                     stream_keys=max(5_000_000, int(full.stream_keys * min(1, scale))),
                     redis_requests=max(100_000, int(full.redis_requests * min(1, scale))))


class Samples:
    """Of each row one measurement, or a pair of them, per round."""

    def __init__(self):
        self.ours = {row.name: [] for row in ROWS}
        self.peer = {row.name: [] for row in ROWS}
        self.fsync_ms = None

    def add(self, name, ours, peer=None):
        self.ours[name].append(ours)
        if peer is not None:
            self.peer[name].append(peer)


class Field:
    """All servers, up at once for the whole run; ours as in production: watched, and logging."""

    def __init__(self, stack, directory, sizes):
        self.sizes = sizes
        self.one = stack.enter_context(
            measure.keymill(directory / "one", "--threads", 1, "--log-level", "debug"))
        self.two = stack.enter_context(
            measure.keymill(directory / "two", "--threads", 2, "--log-level", "debug"))
        for server in (self.one, self.two):
            stack.enter_context(measure.scraped(server.port))
        self.nginx = stack.enter_context(measure.nginx())
        self.epoll = stack.enter_context(measure.epoll_baseline())
        self.redis = stack.enter_context(measure.redis())
        self.iperf = stack.enter_context(measure.iperf())
        measure.ask(self.two.port, "PUT", "/v1/keyspaces/counted",
                    {"kind": "sequence", "alphabet": "base62", "length": 7})

    def warm_up(self):
        """Blocks grow with demand, and caches fill: the first second is not like the rest."""
        for peer in (self.one, self.two, self.nginx, self.epoll):
            for pipeline in (1, 32):
                measure.load(peer, pipeline=pipeline, seconds=min(1, self.sizes.seconds))
        measure.stream_bytes_per_second(self.two, "counted", self.sizes.stream_keys // 10)
        measure.redis_cpu_ns(self.redis, pipeline=32, requests=self.sizes.redis_requests // 10)


def in_turns(items, round_number):
    """The items in an order that begins with another one in each round."""
    items = list(items)
    first = round_number % len(items)
    return items[first:] + items[:first]


def http_load(field, pipeline, round_number):
    """Nanoseconds of CPU for a request, and requests per second, of each HTTP server.

    In several short turns, because neighbours of a machine come and go within seconds.
    """
    servers = {"one": field.one, "two": field.two, "nginx": field.nginx, "epoll": field.epoll}
    totals = {name: [0, 0.0, 0.0] for name in servers}
    for turn in range(TURNS):
        for name, peer in in_turns(servers.items(), round_number + turn):
            report, cpu = measure.load(peer, pipeline=pipeline,
                                       seconds=field.sizes.seconds / TURNS)
            for i, value in enumerate((report["requests"], report["seconds"], cpu)):
                totals[name][i] += value
    cost = {name: cpu / requests * 1e9 for name, (requests, _, cpu) in totals.items()}
    rate = {name: requests / seconds for name, (requests, seconds, _) in totals.items()}
    return cost, rate


def http_round(field, samples, round_number):
    cost, _ = http_load(field, 1, round_number)
    deep_cost, deep_rate = http_load(field, 32, round_number)
    samples.add("one-key-1-thread", cost["one"], cost["nginx"])
    samples.add("one-key-2-threads", cost["two"], cost["nginx"])
    samples.add("pipelined-rate", deep_rate["one"], deep_rate["nginx"])
    samples.add("pipelined-loop", 1e9 / deep_cost["one"], 1e9 / deep_cost["epoll"])
    samples.add("pipelined-2-threads", 1e9 / deep_cost["two"], 1e9 / deep_cost["epoll"])

    samples.add("redis-32", deep_cost["one"], measure.redis_cpu_ns(
        field.redis, pipeline=32, requests=field.sizes.redis_requests))
    report, cpu = measure.load(field.one, pipeline=64, seconds=field.sizes.seconds)
    samples.add("redis-64", cpu / report["requests"] * 1e9, measure.redis_cpu_ns(
        field.redis, pipeline=64, requests=field.sizes.redis_requests))
    report, cpu = measure.load(field.one, pipeline=1, seconds=field.sizes.seconds, keys=100)
    samples.add("batch-100", cpu / report["keys"] * 1e9, cost["one"])

    costs = {changing: measure.header_cpu_ns(field.one, seconds=field.sizes.seconds / 2,
                                             changing=changing)
             for changing in in_turns((True, False), round_number)}
    samples.add("changing-header", costs[True], costs[False])


def stream_round(field, samples, round_number):
    rates = {}
    for name in in_turns(("ours", "iperf"), round_number):
        if name == "ours":
            rates[name] = measure.stream_bytes_per_second(
                field.two, "counted", field.sizes.stream_keys)
        else:
            rates[name] = measure.iperf_bytes_per_second(field.iperf, field.sizes.seconds)
    samples.add("stream", rates["ours"], rates["iperf"])


def in_process_round(field, samples):
    seconds = min(1.5, field.sizes.seconds / 2)
    found = measure.benchmark(
        "keys_bench", "^(Memset|AesBlocks|Bulk/(Sequence.*|ShuffledBase62x7))$", seconds)
    memset = found["Memset"]["bytes_per_second"]
    samples.add("bulk-sequence", found["Bulk/SequenceBase62x7"]["bytes_per_second"], memset)
    samples.add("bulk-decimal", found["Bulk/SequenceDecimalGrowing"]["bytes_per_second"], memset)
    samples.add("bulk-shuffled", found["Bulk/ShuffledBase62x7"]["items_per_second"],
                found["AesBlocks"]["items_per_second"] / 10)
    found = measure.benchmark("mint_bench", "^Next/", seconds)
    one, two = found["Next/real_time/threads:1"], found["Next/real_time/threads:2"]
    samples.add("next-1-thread", one["cpu_time"])
    samples.add("next-2-threads", two["cpu_time"])
    samples.add("next-scaling", two["items_per_second"], one["items_per_second"])


def quiet_rows(samples, directory, sizes):
    """What needs a machine without load: starts and memory."""
    fsyncs = []
    for number in range(sizes.starts):
        fsyncs.append(measure.fsync_ms(directory))
        samples.add("first-key", measure.first_key_ms(directory / f"cold-{number}"))
    samples.fsync_ms = statistics.median(fsyncs)
    with measure.keymill(directory / "idle") as server:
        measure.ask(server.port, "GET", "/get-key")
        measure.ask(server.port, "GET", "/metrics")
        before = measure.rss_kib(server.pid)
        samples.add("idle-memory", before / 1024)
        with measure.idle_connections(server.port, sizes.connections):
            samples.add("idle-connection",
                        (measure.rss_kib(server.pid) - before) / sizes.connections)


def measure_all(sizes, say=lambda line: None):
    """All rows; `say` hears of the progress."""
    samples = Samples()
    # On the disk of the clone: the system's directory for temporary files may be memory.
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=measure.ROOT / "build") as folder:
        directory = pathlib.Path(folder)
        say("starts and memory")
        quiet_rows(samples, directory, sizes)
        with contextlib.ExitStack() as stack:
            field = Field(stack, directory, sizes)
            field.warm_up()
            for number in range(sizes.rounds):
                say(f"round {number + 1} of {sizes.rounds}")
                http_round(field, samples, number)
                stream_round(field, samples, number)
                in_process_round(field, samples)
    return samples
