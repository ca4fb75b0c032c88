# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Reads the fenced blocks of a markdown document: what they say they are, and their commands.

In a block of shell, lines of comment right below a command are its output (`# exit N`: its exit
code); other comments explain."""

import dataclasses
import re
import subprocess

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*([^`]*)$")
EXIT = re.compile(r"^exit (\d+)$")


@dataclasses.dataclass
class Block:
    document: str
    line: int  # Of the first line inside the fence.
    tag: str
    text: str

    @property
    def place(self):
        return f"{self.document}:{self.line}"


@dataclasses.dataclass
class Command:
    place: str
    text: str
    output: list  # Lines that the document shows; [] when it shows none.
    code: int = 0


class DocumentError(Exception):
    """The document is not as a document should be."""


def read_blocks(name, text):
    """The fenced blocks of a document, in order."""
    blocks, fence, begin, body = [], None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence, begin, body = mark, number + 1, []
        elif fence is not None and mark and not mark.group(3).strip() and \
                mark.group(2).startswith(fence.group(2)):
            blocks.append(Block(name, begin, fence.group(3).strip(), "\n".join(body) + "\n"))
            fence = None
        elif fence is not None:
            body.append(line.removeprefix(fence.group(1)))
    if fence is not None:
        raise DocumentError(f"{name}:{begin - 1}: a fence that is never closed")
    return blocks


def is_whole(text):
    """Whether bash would run `text` without waiting for more lines."""
    if text.endswith("\\"):
        return False
    done = subprocess.run(["bash", "-n"], input=text + "\n", text=True, capture_output=True,
                          check=False)
    return done.returncode == 0 and not done.stderr  # It warns of an open here-document.


def read_commands(block):
    """The commands of a block of shell, each with what the document says comes out."""
    commands, pending, begin, may_show = [], [], 0, False
    for number, line in enumerate(block.text.splitlines(), block.line):
        if not pending and not line.strip():
            may_show = False
        elif not pending and line.startswith("#"):
            if may_show:
                said = line[1:].removeprefix(" ")
                if EXIT.match(said):
                    commands[-1].code = int(EXIT.match(said).group(1))
                else:
                    commands[-1].output.append(said)
        else:
            begin = begin if pending else number
            pending.append(line)
            if is_whole("\n".join(pending)):
                commands.append(Command(f"{block.document}:{begin}", "\n".join(pending), []))
                pending, may_show = [], True
    if pending:
        raise DocumentError(f"{block.document}:{begin}: not a whole command: {pending[0]}")
    return commands
