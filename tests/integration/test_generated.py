#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What is made from the command line itself: completions and manual pages."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import run_keymill
from proof import ScenarioTest

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78

# What a terminal does when somebody types the words and presses TAB after the last.
PRESS_TAB = """
set -u
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_keymill
printf '%s\\n' "${COMPREPLY[@]:-}"
"""


class Generated(ScenarioTest):
    def keymill(self, *arguments, code=OK):
        done = run_keymill(*arguments, cwd=self.directory)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def script(self, shell):
        path = self.directory / f"completion.{shell}"
        path.write_text(self.keymill("completion", shell).stdout, encoding="utf-8")
        return path

    def press_tab(self, *words):
        done = subprocess.run(["/bin/bash", "-c", PRESS_TAB, "bash", str(self.script("bash")),
                               "keymill", *words], cwd=self.directory, text=True, timeout=60,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_bash_completes_verbs_flags_and_values(self):
        for words, offered in ((["ke"], ["keyspace"]),
                               (["keyspace", "s"], ["show"]),
                               (["keyspace", ""], ["list", "show", "create", "retire"]),
                               (["config", "show", "--or"], ["--origin"]),
                               (["--config", "x", "ke"], ["keyspace"]),
                               (["plan", "-o", ""], ["table", "json"]),
                               (["plan", "--output", "j"], ["json"]),
                               (["completion", ""], ["bash", "zsh", "fish"]),
                               (["serve", "--block-s"], ["--block-size"]),
                               # Left to bash, which offers files.
                               (["verify", ""], []),
                               (["serve", "--config", "-"], []),
                               (["nonsense", "x"], [])):
            with self.subTest(words=words):
                self.assertEqual(self.press_tab(*words), offered)

    def test_bash_offers_all_flags_that_the_help_has(self):
        text = self.keymill("serve", "--help").stdout
        flags = set(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", text))
        self.assertGreater(len(flags), 15)
        self.assertLessEqual(flags, set(self.press_tab("serve", "--")))

    def test_the_other_shells_find_nothing_wrong_with_their_scripts(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.script(shell)
            self.assertIn("keymill keyspace create", script.read_text(encoding="utf-8"))
            if shutil.which(shell):
                subprocess.run([shell, "-n", str(script)], check=True, timeout=60)
        self.keymill("completion", "tcsh", code=USAGE)
        self.keymill("completion", code=USAGE)

    def pages(self):
        self.keymill("manpage", "--dir", "man/man1")
        return sorted((self.directory / "man/man1").iterdir())

    def test_every_verb_has_a_manual_page(self):
        names = [path.name for path in self.pages()]
        for name in ("keymill.1", "keymill-serve.1", "keymill-keyspace.1",
                     "keymill-keyspace-create.1", "keymill-config-show.1", "keymill-bench.1"):
            self.assertIn(name, names)
        self.assertEqual(self.keymill("manpage").stdout,
                         (self.directory / "man/man1/keymill.1").read_text(encoding="utf-8"))

    def test_manual_pages_have_their_sections_and_flags(self):
        for path in self.pages():
            with self.subTest(page=path.name):
                text = path.read_text(encoding="utf-8")
                sections = re.findall(r"(?m)^\.SH (.*)$", text)
                self.assertEqual(sections[:2], ["NAME", "SYNOPSIS"])
                self.assertIn("EXIT STATUS", sections)
                self.assertTrue(text.startswith(".TH "))
                self.assertTrue(text.isascii())
                for page in re.findall(r"\\fB([\w\\-]+)\\fR\(1\)", text):
                    self.assertTrue(path.with_name(page.replace("\\", "") + ".1").exists(), page)
        text = (self.directory / "man/man1/keymill-serve.1").read_text(encoding="utf-8")
        self.assertIn(r"\fB\-\-block\-size\fR \fIN\fR", text)

    def test_man_has_nothing_to_warn_of(self):
        pages = self.pages()
        man = shutil.which("man")
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"}
        for path in pages if man else ():
            with self.subTest(page=path.name):
                done = subprocess.run([man, "--warnings", "-l", str(path)], text=True, timeout=60,
                                      env=environment, capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_directory_that_cannot_be_is_a_failure(self):
        (self.directory / "file").write_text("", encoding="utf-8")
        self.assertIn("file", self.keymill("manpage", "--dir", "file/x", code=FAILURE).stderr)


if __name__ == "__main__":
    unittest.main()
