# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What the guards share: walking the tree, and reporting what they found."""

import argparse
import os
import pathlib
import sys

SKIPPED_FOLDERS = {".git", "__pycache__", "data", "node_modules"}
SCRIPTS = ("dev", ".ci/run")


def is_test(path):
    """Whether a source file is there for tests: x_test.cc, x_test_support.h."""
    name = path.rsplit("/", 1)[-1]
    return name.endswith("_test.cc") or "_test_" in name


class Tree:
    """The files of the project, without what a build left in it."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()

    def files(self, suffixes, under=("",)):
        """Paths relative to the root, with '/' between their parts, sorted."""
        found = []
        for start in under:
            for folder, folders, names in os.walk(self.root / start):
                folders[:] = [name for name in folders if not self._is_skipped(folder, name)]
                for name in names:
                    if name.endswith(suffixes):
                        path = pathlib.Path(folder, name).relative_to(self.root)
                        found.append(path.as_posix())
        return sorted(found)

    def scripts(self):
        return [name for name in SCRIPTS if (self.root / name).is_file()]

    def lines(self, path):
        return self.text(path).splitlines()

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    @staticmethod
    def _is_skipped(folder, name):
        if name in SKIPPED_FOLDERS or name == "build" or name.startswith("build-"):
            return True
        return pathlib.Path(folder, name, "CMakeCache.txt").exists()


class Findings:
    def __init__(self, guard):
        self.guard = guard
        self.rows = []

    def add(self, path, line, message):
        self.rows.append(f"{path}:{line}: {message}")

    def finish(self):
        """Prints the findings and gives the exit code."""
        for row in self.rows:
            print(row)
        if self.rows:
            print(f"{self.guard}: {len(self.rows)} findings", file=sys.stderr)
        return 1 if self.rows else 0


def parser(description):
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--root", required=True, help="the source tree")
    return result
