# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Counts the instructions of a request, in user space, with valgrind's callgrind.

A count of instructions does not depend on who else uses the machine, so it shows a change of
a few per cent that no clock would. It says nothing of the kernel, where most of the time of a
single request goes, nor of memory. valgrind knows no AVX-512: shuffled keys are made with
AES-NI there, in 8 lanes, also where the machine has VAES.
"""

import collections
import re
import subprocess
import time

import measure
from scenario_wire import BATCH_REQUEST, KEY_REQUEST

# Between one turn and the next, so that the loop always finds nothing more to read and goes to
# sleep. Where it depends on who is faster, counts differ by some per cent from run to run.
PAUSE_SECONDS = 0.0006

Case = collections.namedtuple("Case", "title request depth turns")

CASES = {
    "single": Case("one key, one request at a time", KEY_REQUEST, 1, 4096),
    "pipelined": Case("one key, pipelined 32 deep", KEY_REQUEST, 32, 1024),
    "batch": Case("100 keys as JSON, for each request", BATCH_REQUEST, 1, 1024),
}


class Profile:
    """Instructions by function: its own, and those of what it calls as well."""

    def __init__(self, total, own, inclusive):
        self.total = total
        self.own = own
        self.inclusive = inclusive

    def is_like(self, other):
        """Whether both did the same kind of work, however often.

        A thread that ends leaves its number, and its counts, to the next one that starts; in
        one run that may be the loop, in another not.
        """
        alien = sum(count for mine, theirs in ((self, other), (other, self))
                    for name, count in mine.own.items() if name not in theirs.own)
        return alien < 0.001 * abs(self.total - other.total)

    def per_request(self, before, requests):
        """What a request costs, when `before` is the profile without `requests` of them."""
        def share(now, then):
            costs = {name: (count - then.get(name, 0)) / requests for name, count in now.items()}
            return dict(sorted(costs.items(), key=lambda cost: -cost[1]))

        return Profile((self.total - before.total) / requests, share(self.own, before.own),
                       share(self.inclusive, before.inclusive))


def short_name(function):
    """A C++ function without parameters, template arguments and our own namespace."""
    name = function.replace("(anonymous namespace)::", "").replace("keymill::", "")
    name = re.sub(r"operator(<<|<=>|<=|<|>>|>=|>|\(\))", "operator", name)
    while re.search(r"<[^<>]*>", name):
        name = re.sub(r"<[^<>]*>", "", name)
    name = re.sub(r" \[clone [^]]*\]|\[abi:\w+\]|@@?GLIBC_[\d.]+|'\d+$", "", name)
    name = name.split("(")[0].strip()
    return name.split(" ")[-1] or function


def annotated(path, *flags):
    """callgrind_annotate's counts by function.

    It counts a function once for each file that was inlined into it: own counts add up, but of
    inclusive ones the largest is the function.
    """
    done = subprocess.run(["callgrind_annotate", "--threshold=100", "--auto=no", *flags, str(path)],
                          stdout=subprocess.PIPE, text=True, errors="replace", check=True)
    counts = collections.Counter()
    for found in re.finditer(r"^ *([\d,]+) \([^)]*\)  [^:\n]*:(.*?)(?: \[[^]\n]*\])?$", done.stdout,
                             re.MULTILINE):
        name, number = short_name(found[2]), int(found[1].replace(",", ""))
        counts[name] = max(counts[name], number) if flags else counts[name] + number
    return counts


def run_server(directory, case, turns):
    """The profile of the loop of a server that answered so many turns."""
    directory.mkdir()
    output = directory / "callgrind.out"
    server = measure.Server(
        directory, "--threads", 1, "--block-size", 1_000_000,  # One trip to the store.
        command=["valgrind", "--tool=callgrind", "--separate-threads=yes",
                 f"--callgrind-out-file={output}", str(measure.keymill_bin()), "serve"])
    with server, measure.RawConnection(server.port) as connection:
        for _ in range(turns):
            connection.send(case.request * case.depth)
            for _ in range(case.depth):
                if connection.read_answer().status != 200:
                    raise RuntimeError("a request failed")
            time.sleep(PAUSE_SECONDS)
        connection.socket.close()
        if server.stop() != 0:
            raise RuntimeError(f"the server did not stop as it should:\n{server.log()}")
    # The first thread is main, which only starts and stops. Of the others the loop is the one
    # that does most: the refiller and the store have threads of their own.
    totals = {total_of(path): path for path in directory.glob("callgrind.out-*")
              if not path.name.endswith("-01")}
    total = max(totals)
    return Profile(total, annotated(totals[total]), annotated(totals[total], "--inclusive=yes"))


def total_of(path):
    found = re.search(r"^totals: (\d+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return int(found[1]) if found else 0


def count(directory, case, tries=6):
    """The cost of one request. Two runs, one with twice the requests: what start and stop cost
    is in both."""
    for number in range(tries):
        once = run_server(directory / f"once-{number}", case, case.turns)
        twice = run_server(directory / f"twice-{number}", case, 2 * case.turns)
        if once.is_like(twice):
            return twice.per_request(once, case.turns * case.depth)
    raise RuntimeError(f"{case.title}: the runs were never alike")
