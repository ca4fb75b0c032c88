#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Which room may include which: the rule of docs/architecture.md, as a table.

Reads the includes of src and include, and the link lists of src/**/CMakeLists.txt. Test
files may include anything. Nothing includes itself, not by a detour either: neither rooms nor
files.
"""

import graphlib
import re
import sys

import guardlib

# A room may include itself, include/keymill and what is listed; nothing else. The folders
# of src/store are rooms of their own, so that stores cannot lean on each other; src/store
# itself holds what all of them share, and sql what the SQL drivers share.
SQL_DRIVER = {"store", "store/sql", "base"}
MAY_INCLUDE = {
    "base": set(),
    "keys": {"base"},
    "wire": {"base"},
    "net": {"base"},
    "store": {"base"},
    "store/memory": {"store", "base"},
    "store/sql": {"store", "base"},
    "store/sqlite": SQL_DRIVER,
    "store/postgres": SQL_DRIVER,
    "store/mariadb": SQL_DRIVER,
    "store/redis": {"store", "base", "wire"},
    "store/etcd": {"store", "base"},
    "mint": {"keys", "store", "base"},
    "links": {"mint", "keys", "store", "base"},
    "api": {"mint", "links", "wire", "net", "base"},
    "load": {"wire", "net", "base"},
}
# The library's front door names concrete stores, so that nobody below has to.
MAY_INCLUDE["embed"] = {
    "mint", "keys", "store", "store/memory", "store/sql", "store/sqlite", "store/postgres",
    "store/mariadb", "store/redis", "store/etcd", "base",
}
EVERYTHING = set(MAY_INCLUDE)
MAY_INCLUDE["app"] = EVERYTHING

# Libraries that only some rooms may know.
LIBRARY_ROOMS = {
    "sqlite3.h": {"store/sqlite"},
    "libpq-fe.h": {"store/postgres"},
    "mysql.h": {"store/mariadb"},
    "mariadb/": {"store/mariadb"},
    "yaml-cpp/": {"app"},
    "CLI/": {"app"},
    "prometheus/": {"app"},
    "grpcpp/": {"api"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$")
# The one public header for C has no other names for them.
C_HEADER = "include/keymill/c.h"
STANDARD_HEADERS_OF_C = {"stddef.h", "stdint.h"}
LINK_CALL = re.compile(r"\b(keymill_library|target_link_libraries)\s*\(([^)]*)\)")


def room_of(path):
    """The room of a path such as "store/sqlite/driver.h", or None."""
    parts = path.split("/")
    if parts[0] == "store" and len(parts) > 2:
        room = "/".join(parts[:2])
    else:
        room = parts[0]
    return room if room in MAY_INCLUDE else None


def includes(tree, path):
    for number, line in enumerate(tree.lines(path), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def check_public(tree, findings):
    for path in tree.files((".h", ".cc"), under=("include",)):
        for number, quoted, name in includes(tree, path):
            if path == C_HEADER and not quoted and name in STANDARD_HEADERS_OF_C:
                continue
            if quoted and not name.startswith("keymill/"):
                findings.add(path, number, f'public headers may not include "{name}"')
            if not quoted and not STANDARD_HEADER.match(name):
                findings.add(path, number, f"public headers may not include <{name}>: only the "
                             "standard library and keymill/")


def check_include(room, quoted, name):
    """What is wrong with `name` included from `room`, or None."""
    if not quoted:
        for library, rooms in LIBRARY_ROOMS.items():
            if name.startswith(library) and room not in rooms:
                return f"only {', '.join(sorted(rooms))} may include <{name}>"
        return None
    if name.startswith("keymill/"):
        return None
    other = room_of(name) if "/" in name else None
    if other is None:
        return f'"{name}" names no room; write "room/file.h"'
    if other != room and other not in MAY_INCLUDE[room]:
        return f'{room} may not include {other} ("{name}")'
    return None


def check_sources(tree, findings):
    for path in tree.files((".h", ".cc"), under=("src",)):
        if guardlib.is_test(path):
            continue
        room = room_of(path.removeprefix("src/"))
        if room is None:
            findings.add(path, 1, "is in no known room; add it to MAY_INCLUDE of check_layers.py")
            continue
        for number, quoted, name in includes(tree, path):
            problem = check_include(room, quoted, name)
            if problem:
                findings.add(path, number, problem)


def cycle(graph):
    """A way from something back to itself in a mapping of what needs what, or None."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return None


def check_cycles(tree, findings):
    found = cycle(MAY_INCLUDE)
    if found:
        findings.add("tests/guards/check_layers.py", 1,
                     f"the table lets rooms include each other: {' → '.join(found)}")
    graph = {}
    for path in tree.files((".h", ".cc"), under=("include", "src")):
        needs = graph.setdefault(path, set())
        for _, quoted, name in includes(tree, path):
            base = "include" if name.startswith("keymill/") else "src"
            if quoted and (tree.root / base / name).is_file():
                needs.add(f"{base}/{name}")
    found = cycle(graph)
    if found:
        findings.add(found[0], 1, f"includes itself: {' ← '.join(found)}")


def linked_rooms(function, arguments):
    """The rooms that a call links: none of those after TEST_LINK."""
    targets = {"keymill_" + room.replace("/", "_"): room for room in MAY_INCLUDE}
    words = re.sub(r"#[^\n]*", "", arguments).split()
    if "TEST_LINK" in words:
        words = words[:words.index("TEST_LINK")]
    if function == "target_link_libraries" and words and words[0].endswith("_test"):
        return []
    return [targets[word] for word in words[1:] if word in targets]


def check_links(tree, findings):
    for path in tree.files(("CMakeLists.txt",), under=("src",)):
        room = room_of(path.removeprefix("src/"))
        if room is None:
            continue
        text = tree.text(path)
        for match in LINK_CALL.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            for other in linked_rooms(match.group(1), match.group(2)):
                if other != room and other not in MAY_INCLUDE[room]:
                    findings.add(path, number, f"{room} may not link {other}")


def main():
    arguments = guardlib.parser(__doc__).parse_args()
    tree = guardlib.Tree(arguments.root)
    findings = guardlib.Findings("check_layers")
    check_public(tree, findings)
    check_sources(tree, findings)
    check_links(tree, findings)
    check_cycles(tree, findings)
    return findings.finish()


if __name__ == "__main__":
    sys.exit(main())
