#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Every *_test.cc is built, no test is switched off, and a skipped one says why."""

import json
import pathlib
import re
import sys

import guardlib

DISABLED = re.compile(r"\bDISABLED_\w*")
SKIP = re.compile(r"\bGTEST_SKIP\s*\(\s*\)(?!\s*<<)")


def compiled_files(compile_commands):
    entries = json.loads(pathlib.Path(compile_commands).read_text(encoding="utf-8"))
    return {pathlib.Path(entry["directory"], entry["file"]).resolve() for entry in entries}


def check(tree, compiled, findings):
    for path in tree.files((".cc", ".h"), under=("src", "tests")):
        if path.endswith("_test.cc") and tree.root / path not in compiled:
            findings.add(path, 1, "is part of no target: its tests never run")
        text = tree.text(path)
        for pattern, message in ((DISABLED, "a test that is switched off; mend it or remove it"),
                                 (SKIP, "say why: GTEST_SKIP() << reason")):
            for match in pattern.finditer(text):
                findings.add(path, text.count("\n", 0, match.start()) + 1, message)


def main():
    parser = guardlib.parser(__doc__)
    parser.add_argument("--compile-commands", required=True)
    arguments = parser.parse_args()
    tree = guardlib.Tree(arguments.root)
    findings = guardlib.Findings("check_tests")
    check(tree, compiled_files(arguments.compile_commands), findings)
    return findings.finish()


if __name__ == "__main__":
    sys.exit(main())
