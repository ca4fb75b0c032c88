# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What ctest's log says about single tests: how many ran, and how many were skipped."""

import dataclasses
import re

RAN = re.compile(r"^(?:\[=+\] |Ran )(\d+) tests? (?:from .* ran\.|in )", re.MULTILINE)
SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?|\bskipped=(\d+)", re.MULTILINE)
# One program's part, from its command to what ctest thinks of it.
PROGRAM = re.compile(r"^Command: \"([^\n]*)\"\n(.*?)^(Test [A-Z][^\n]*\.)$",
                     re.MULTILINE | re.DOTALL)


@dataclasses.dataclass
class TestCount:
    ran: int = 0
    skipped: int = 0
    programs: list = dataclasses.field(default_factory=list)
    silent: list = dataclasses.field(default_factory=list)  # Programs that gave no count.


def count_tests(log):
    """Of GoogleTest and unittest, from the text of Testing/Temporary/LastTest.log."""
    count = TestCount()
    for command, output, verdict in PROGRAM.findall(log):
        words = command.split('" "')
        ran = sum(map(int, RAN.findall(output)))
        skipped = sum(int(first or second) for first, second in SKIPPED.findall(output))
        skipped += verdict in ("Test Skipped.", "Test Not Run.")
        count.ran += max(0, ran - skipped)
        count.skipped += skipped
        count.programs.append(words[0])
        if not ran:
            count.silent.append(words[-1] if words[-1].endswith(".py") else words[0])
    return count
