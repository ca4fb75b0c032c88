#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Nothing lies about that nobody uses: every source is built, every header included, every
helper of the tests imported, every file of cmake/ named, and every document can be reached from
README.md by links."""

import json
import pathlib
import posixpath
import re
import sys
import urllib.parse

import check_text
import guardlib

START = "README.md"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
IMPORT = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)
CMAKE_FILES = ("CMakeLists.txt", ".cmake", ".cmake.in")


def compiled_files(compile_commands):
    entries = json.loads(pathlib.Path(compile_commands).read_text(encoding="utf-8"))
    return {pathlib.Path(entry["directory"], entry["file"]).resolve() for entry in entries}


def cmake_words(tree, path):
    """What a CMake file names, without its comments."""
    return set(re.findall(r"[\w.+-]+", re.sub(r"#[^\n]*", "", tree.text(path))))


def is_named(tree, path):
    """Whether the CMakeLists.txt beside a source builds it in another configuration than this
    one: fuzz targets with clang, examples as a project of their own."""
    folder, name = posixpath.split(path)
    lists = f"{folder}/CMakeLists.txt"
    if not (tree.root / lists).is_file():
        return False
    words = cmake_words(tree, lists)
    if name in words:
        return True
    return "keymill_fuzz" in words and name.endswith("_fuzz.cc") and \
        name.removesuffix("_fuzz.cc") in words


def check_sources(tree, compiled, findings):
    for path in tree.files((".c", ".cc")):
        if tree.root / path not in compiled and not is_named(tree, path):
            findings.add(path, 1, "is part of no target; build it or remove it")


def check_headers(tree, findings):
    included = set()
    for path in tree.files((".c", ".cc", ".h")):
        for name in INCLUDE.findall(tree.text(path)):
            for folder in ("src", "tests", posixpath.dirname(path)):
                candidate = posixpath.normpath(f"{folder}/{name}")
                if candidate != path:
                    included.add(candidate)
    for path in tree.files((".h",), under=("src", "tests", "bench", "fuzz")):
        if path not in included:
            findings.add(path, 1, "is included by nobody")


def check_helpers(tree, findings):
    imported = set()
    for path in tree.files((".py",)):
        own = posixpath.basename(path).removesuffix(".py")
        imported |= set(IMPORT.findall(tree.text(path))) - {own}
    # start_server imports the module of a server by the server's name, which tests are told.
    for path in tree.files(CMAKE_FILES, under=("tests",)):
        imported |= {f"server_{word}" for word in cmake_words(tree, path)}
    for path in tree.files((".py",), under=("tests/support",)):
        if posixpath.basename(path).removesuffix(".py") not in imported:
            findings.add(path, 1, "is imported by nobody")


def check_cmake(tree, findings):
    words = {path: cmake_words(tree, path) for path in tree.files(CMAKE_FILES)}
    for path in tree.files(("",), under=("cmake",)):
        name = posixpath.basename(path)
        names = {name, name.removesuffix(".cmake")}
        if not any(names & named for other, named in words.items() if other != path):
            findings.add(path, 1, "is named by no CMake file")


def linked_files(tree, path):
    """The files of the project that a markdown file links."""
    for _, line in check_text.prose_lines(tree.lines(path)):
        for target in check_text.LINK.findall(line) + check_text.LINK_DEFINITION.findall(line):
            if not check_text.ABSOLUTE.match(target):
                target = urllib.parse.unquote(target.split("#")[0].split("?")[0])
                yield posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def check_documents(tree, findings):
    reached, waiting = {START}, [START]
    while waiting:
        path = waiting.pop()
        if not path.endswith(".md") or not (tree.root / path).is_file():
            continue
        for target in linked_files(tree, path):
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    documents = set(tree.files((".md",))) | set(tree.files(("",), under=("docs",)))
    for path in sorted(documents - reached):
        findings.add(path, 1, f"cannot be reached by links from {START}")


def main():
    parser = guardlib.parser(__doc__)
    parser.add_argument("--compile-commands", required=True)
    arguments = parser.parse_args()
    tree = guardlib.Tree(arguments.root)
    findings = guardlib.Findings("check_dead")
    check_sources(tree, compiled_files(arguments.compile_commands), findings)
    check_headers(tree, findings)
    check_helpers(tree, findings)
    check_cmake(tree, findings)
    check_documents(tree, findings)
    return findings.finish()


if __name__ == "__main__":
    sys.exit(main())
