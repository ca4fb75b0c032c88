#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Every header compiles alone: those of src with the flags of their folder, those of
include as a user's compiler sees them, and include/keymill/c.h as C too. What compiled once is
remembered by its content."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import guardlib

JOBS = 2
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
C_HEADER = "include/keymill/c.h"
WITH_VALUE = ("-I", "-isystem", "-D", "-U", "-include")


def kept_flags(command):
    """Of a compile command, what decides whether a header compiles."""
    words = shlex.split(command)
    if os.path.basename(words[0]) == "ccache":
        words = words[1:]
    flags = []
    for index, word in enumerate(words[1:], 1):
        if words[index - 1] in WITH_VALUE:
            flags += [words[index - 1], word]
        elif word.startswith(("-std=", "-m")) or (word.startswith(("-I", "-D", "-U"))
                                                   and word not in WITH_VALUE):
            flags.append(word)
    return words[0], flags


class Commands:
    """The compiler and the flags for a header of src."""

    def __init__(self, root, compile_commands):
        self.by_folder = {}
        self.compiler = "c++"
        for entry in json.loads(pathlib.Path(compile_commands).read_text(encoding="utf-8")):
            path = pathlib.Path(entry["directory"], entry["file"]).resolve()
            if path.is_relative_to(root / "src") and not path.name.endswith("_test.cc"):
                self.compiler, flags = kept_flags(entry["command"])
                self.by_folder.setdefault(path.parent, flags)

    def flags(self, header, root):
        folder = header.parent
        while folder != root and folder not in self.by_folder:
            folder = folder.parent
        default = ["-std=c++20", f"-I{root}/include", f"-I{root}/src"]
        return self.by_folder.get(folder, default)


def closure(tree, path, seen):
    """`path` and every file of ours that it includes, directly or not."""
    if path in seen:
        return
    seen.add(path)
    for name in INCLUDE.findall(tree.text(path)):
        for base in ("include", "src", "tests"):
            if (tree.root / base / name).is_file():
                closure(tree, f"{base}/{name}", seen)


def cache_key(tree, path, command):
    digest = hashlib.sha256(repr(command).encode())
    seen = set()
    closure(tree, path, seen)
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + tree.text(name).encode() + b"\0")
    return digest.hexdigest()


def compile_alone(tree, path, command, cache):
    """None when the header compiles, else what the compiler said."""
    remembered = cache / cache_key(tree, path, command)
    if remembered.exists():
        return None
    name = path.split("/", 1)[1]
    done = subprocess.run(command, input=f'#include "{name}"\n', text=True, capture_output=True,
                          check=False)
    if done.returncode != 0:
        return done.stderr
    remembered.touch()
    return None


def main():
    parser = guardlib.parser(__doc__)
    parser.add_argument("--compile-commands", required=True)
    parser.add_argument("--cache", required=True, help="a folder for what is known to compile")
    arguments = parser.parse_args()
    tree = guardlib.Tree(arguments.root)
    cache = pathlib.Path(arguments.cache)
    cache.mkdir(parents=True, exist_ok=True)
    commands = Commands(tree.root, arguments.compile_commands)
    # Templates are seen by every user, so public headers must be free of warnings too.
    public = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{tree.root}/include"]
    work = []
    for path in tree.files((".h",), under=("include", "src")):
        flags = commands.flags(tree.root / path, tree.root)
        if path.startswith("include/"):
            flags = public
        elif guardlib.is_test(path):
            flags = [*flags, f"-I{tree.root}/tests"]
        work.append((path, [commands.compiler, "-fsyntax-only", "-x", "c++", *flags, "-"]))
        if path == C_HEADER:
            as_c = ["-std=c11", *public[1:]]
            work.append((path, ["cc", "-fsyntax-only", "-x", "c", *as_c, "-"]))
    findings = guardlib.Findings("check_headers")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        outcomes = pool.map(lambda item: compile_alone(tree, *item, cache), work)
        for (path, _), outcome in zip(work, outcomes):
            if outcome is not None:
                findings.add(path, 1, f"does not compile alone:\n{outcome}")
    return findings.finish()


if __name__ == "__main__":
    sys.exit(main())
