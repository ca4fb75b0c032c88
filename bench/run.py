#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Measures Keymill beside other servers and shows the table.

Started as `./dev bench`, which installs and builds what is needed. Takes about five minutes.
Exit code 1 if a bar is missed.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

import report
import speed_rows

ROOT = pathlib.Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results.json"
INSTRUCTIONS = ROOT / "bench/instructions.json"
PAGE = ROOT / "docs/benchmarks.md"
CHART = ROOT / "docs/benchmarks.svg"
README = ROOT / "README.md"
# Good and bad alike: what a reader should know before choosing.
README_ROWS = ("one-key-1-thread", "pipelined-rate", "pipelined-loop", "pipelined-2-threads",
               "changing-header", "redis-64", "stream", "bulk-shuffled", "next-scaling",
               "first-key", "idle-memory")


def said(*command):
    """What a program says; some say it on stderr."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False).stdout.strip()


def version(*command):
    found = re.search(r"\d+(\.\d+)+", said(*command))
    return found.group(0) if found else "unknown"


def cpu_name():
    for text in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if text.startswith("model name"):
            return " ".join(text.split(":", 1)[1].split())
    return platform.machine()


def cached(name):
    """A value of the build's configuration."""
    cache = ROOT / "build/release/CMakeCache.txt"
    found = re.search(rf"^{name}:\w+=(.*)$", cache.read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else ""


def describe_run(sizes, fsync_ms, seconds):
    commit = said("git", "rev-parse", "--short=12", "HEAD")
    if said("git", "status", "--porcelain", "--", "src", "include"):
        commit += " and changes to it"
    full = sizes.rounds >= 5 and sizes.seconds >= speed_rows.Sizes().seconds
    trial = "" if full else "; a trial, not a measurement"
    memory = pathlib.Path("/proc/meminfo").read_text(encoding="ascii").split()[1]
    cores = len(os.sched_getaffinity(0))
    return {
        "commit": commit,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": f"{cpu_name()}, {cores} cores, {int(memory) / (1 << 20):.0f} GiB, "
                   f"Linux {platform.release()}; fsync {fsync_ms:.1f} ms",
        "build": f"{said('c++', '--version').splitlines()[0]}, {cached('CMAKE_BUILD_TYPE')} "
                 f"({cached('CMAKE_CXX_FLAGS_RELEASE')})",
        "peers": f"nginx {version('/usr/sbin/nginx', '-v')}, "
                 f"Redis {version('redis-server', '--version')}, "
                 f"iperf3 {version('iperf3', '--version')}",
        "rounds": f"{sizes.rounds} of {sizes.seconds:g} s per server and depth{trial}; "
                  f"{seconds:.0f} s in all",
    }


def assemble(samples, run):
    """The results as they are saved."""
    rows = []
    for row in speed_rows.ROWS:
        note = ""
        if row.name == "first-key" and samples.fsync_ms > speed_rows.FSYNC_MS_MAX:
            note = f"no verdict: fsync takes {samples.fsync_ms:.1f} ms here"
        rows.append({"name": row.name, "title": row.title, "what": row.what, "unit": row.unit,
                     "peer": row.peer, "relation": row.relation, "bar": row.bar, "note": note,
                     "ours": samples.ours[row.name], "theirs": samples.peer[row.name]})
    return {"run": run, "rows": rows}


def measured(sizes, say):
    """Measures everything; the results as they are saved."""
    began = time.monotonic()
    samples = speed_rows.measure_all(sizes, say)
    return assemble(samples, describe_run(sizes, samples.fsync_ms, time.monotonic() - began))


def page_with(text, results, counts):
    """docs/benchmarks.md with the tables of these results."""
    text = report.put_between(text, "results", report.markdown(results))
    return report.put_between(text, "instructions", report.instructions_markdown(counts))


def readme_with(text, results):
    """README.md with the short table of these results."""
    return report.put_between(text, "speed", report.short_markdown(results, README_ROWS))


def write_docs(results):
    text = page_with(PAGE.read_text(encoding="utf-8"), results,
                     json.loads(INSTRUCTIONS.read_text(encoding="utf-8")))
    PAGE.write_text(text, encoding="utf-8")
    README.write_text(readme_with(README.read_text(encoding="utf-8"), results), encoding="utf-8")
    CHART.write_text(report.svg(results), encoding="utf-8")


def save(path, results):
    path.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench", description="Measures Keymill beside other servers.")
    parser.add_argument("--rounds", type=int, metavar="N", help="fewer, or more, than 5")
    parser.add_argument("--scale", type=float, default=1, metavar="S",
                        help="below 1: a shorter trial, whose figures mean little")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE",
                        help="write the results of every round as JSON")
    parser.add_argument("--from", type=pathlib.Path, metavar="FILE", dest="source",
                        help="show results that were saved, without measuring")
    parser.add_argument("--write-docs", action="store_true",
                        help="put the results into bench/results.json, docs and README.md")
    arguments = parser.parse_args()
    if arguments.scale <= 0 or (arguments.rounds is not None and arguments.rounds < 1):
        parser.error("--scale and --rounds must be more than nothing")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.source:
        results = json.loads(arguments.source.read_text(encoding="utf-8"))
    else:
        results = measured(speed_rows.Sizes.scaled(arguments.scale, arguments.rounds),
                           lambda text: print(f"bench: {text}", file=sys.stderr))
    if arguments.save:
        save(arguments.save, results)
    if arguments.output == "json":
        print(json.dumps(results, ensure_ascii=False))
    else:
        print(report.table(results), end="")
    if arguments.write_docs:
        save(RESULTS, results)
        write_docs(results)
    for row in report.missed(results):
        print(f"bench: missed: {report.line(row)}", file=sys.stderr)
    return 1 if report.missed(results) else 0


if __name__ == "__main__":
    sys.exit(main())
