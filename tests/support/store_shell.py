# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Calls of a store from a process of its own, which outlives what a test does to the server."""

import subprocess

from keymill_process import build_program


class StoreShell:
    """See store_shell.cc for the calls. Use as a context manager."""

    def __init__(self, url):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([build_program("store_shell"), url],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()

    def ask(self, *words):
        """The words of the answer; the first is "ok" or the name of an error."""
        self.process.stdin.write(" ".join(str(word) or "-" for word in words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def expect(self, *words):
        """What follows "ok"."""
        answer = self.ask(*words)
        if answer[:1] != ["ok"]:
            raise AssertionError(f"{words}: {' '.join(answer)}")
        return answer[1:]

    def timelines(self):
        """The present and the agreed one."""
        return tuple(self.expect("identity")[1:])

    def agree(self):
        """Agrees on the present one, and returns it."""
        self.expect("agree", self.timelines()[0])
        present, agreed = self.timelines()
        if present != agreed:
            raise AssertionError(f"{present} is not agreed on, but {agreed}")
        return present
