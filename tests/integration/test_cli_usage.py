#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What the command line says of mistakes, and what its help tells."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import run_keymill
from proof import ScenarioTest

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78

SHORT_HELP = """\
keymill hands out short, unique keys.

  keymill serve                     run the server on 127.0.0.1:8080
  keymill mint -n 5                 five keys, without a server
  keymill plan --length 6 --rate 5/s
                                    how long 6 symbols last, how easily one is guessed

Verbs: serve, mint, claim, derive, pool, audit, import, explain, bounds,
       keyspace, recover, plan, config, verify, bench, healthcheck, doctor,
       store, version, completion, manpage.
keymill VERB --help says more.
"""


class Usage(ScenarioTest):
    def keymill(self, *arguments, code=OK, env=None):
        done = run_keymill(*arguments, cwd=self.directory, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_nothing_is_suggested_for_a_flag_that_exists(self):
        for arguments, said in ((("mint", "-n", "0"), "--count"),
                                (("mint", "-n", "abc"), "--count"),
                                (("mint", "-n"), "--count needs a value"),
                                (("version", "-o", "jsn"), "{table,json}"),
                                (("serve", "--block-size"), "--block-size needs a value"),
                                (("serve", "--block-size", "1", "--block-size", "2"),
                                 "--block-size is given more than once")):
            with self.subTest(arguments=arguments):
                message = self.keymill(*arguments, code=USAGE).stderr
                self.assertIn(said, message)
                self.assertNotIn("did you mean", message)

    def test_an_unknown_flag_comes_first_with_the_one_that_was_meant(self):
        for arguments, said in (
                (("serve", "--blok-size", "5", "--threads", "2"),
                 "unknown flag --blok-size; did you mean --block-size?"),
                (("serve", "--blok-size=5"),
                 "unknown flag --blok-size; did you mean --block-size?"),
                (("explain", "--keyspce", "x"), "unknown flag --keyspce; did you mean --keyspace?"),
                (("version", "--zzzzzzzz"),
                 "unknown flag --zzzzzzzz; keymill version --help lists them"),
                (("keyspace", "list", "--zzzzzzzz"),
                 "unknown flag --zzzzzzzz; keymill keyspace list --help lists them"),
                (("serve", "--prot", "80"),
                 "unknown flag --prot; use --listen HOST:PORT, such as 127.0.0.1:8081"),
                (("mint", "--port", "80"), "unknown flag --port; keymill mint --help lists them"),
                (("version", "foo"), "unexpected argument foo")):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.keymill(*arguments, code=USAGE).stderr, f"keymill: {said}\n")

    def test_an_unknown_verb_lists_those_that_exist(self):
        verbs = "Verbs: list, show, create, retire.\n"
        for arguments, said in (
                (("keyspace", "crate", "x"),
                 "unknown verb keyspace crate; did you mean keyspace create?\n" + verbs),
                (("keyspace",), "keyspace needs a verb\n" + verbs),
                (("pool", "fil", "x"),
                 "unknown verb pool fil; did you mean pool fill?\nVerbs: fill, stat, release.\n"),
                (("mnit",), "unknown verb mnit; did you mean mint?\n" +
                 SHORT_HELP[SHORT_HELP.index("Verbs: "):SHORT_HELP.index("keymill VERB")])):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.keymill(*arguments, code=USAGE).stderr, "keymill: " + said)

    def test_help_is_a_verb_too(self):
        for verb in ((), ("serve",), ("keyspace", "create")):
            self.assertEqual(self.keymill("help", *verb).stdout,
                             self.keymill(*verb, "--help").stdout)
        self.assertIn("unknown verb srve", self.keymill("help", "srve", code=USAGE).stderr)

    def test_alone_it_shows_examples_and_its_verbs(self):
        done = self.keymill(code=USAGE)
        self.assertEqual((done.stdout, done.stderr), ("", SHORT_HELP))
        for line in re.findall(r"(?m)^  (keymill \S+)", SHORT_HELP):
            self.keymill(*line.split()[1:], "--help")

    def test_an_unknown_keyspace_is_told_with_the_one_that_was_meant(self):
        self.keymill("keyspace", "create", "orders")
        for verb in (("mint",), ("keyspace", "show"), ("keyspace", "retire"), ("recover",)):
            with self.subTest(verb=verb):
                self.assertEqual(self.keymill(*verb, "oders", code=FAILURE).stderr,
                                 'keymill: there is no keyspace "oders"; did you mean orders? To '
                                 "create it: keymill keyspace create oders\n")

    def test_a_retired_name_is_told_as_such_whatever_the_recipe(self):
        self.keymill("keyspace", "create", "st", "--kind", "sequence")
        self.keymill("keyspace", "retire", "st")
        for recipe in ((), ("--kind", "sequence")):
            done = self.keymill("keyspace", "create", "st", *recipe, code=REFUSED)
            self.assertIn("retired", done.stderr)
            self.assertIn("not used again", done.stderr)

    def test_a_blocklist_may_be_a_list_and_be_repeated(self):
        done = self.keymill("keyspace", "create", "nice", "-o", "json", "--blocklist", "foo,bar",
                            "--blocklist", "baz")
        self.assertEqual(sorted(json.loads(done.stdout)["recipe"]["blocklist"]),
                         ["bar", "baz", "foo"])
        self.keymill("keyspace", "create", "--blocklist", "foo,bar", "flag-first")

    def test_every_flag_has_a_description(self):
        for verb in (("serve",), ("mint",), ("keyspace", "create"), ("verify",), ("plan",),
                     ("config", "show"), ("config", "init"), ("healthcheck",), ("doctor",),
                     ("manpage",), ("claim",), ("derive",), ("pool", "fill"),
                     ("pool", "release"), ("audit",)):
            with self.subTest(verb=verb):
                # A long flag has its text in the next line.
                text = re.sub(r"\n {20,}", "  ", self.keymill(*verb, "--help").stdout)
                for line in text.splitlines():
                    if line.startswith("  -"):
                        self.assertRegex(line, r"^  -\S+( [A-Z]\S*)?( \.\.\.)? +\S+ \S+")

    def test_help_of_serve_has_defaults_and_units(self):
        text = self.keymill("serve", "--help").stdout
        for flag, value in (("--request-timeout DURATION", r"\(2s\)"),
                            ("--block-size N", r"\(1000\)"),
                            ("--listen,--listen-http HOST:PORT", r"\(127\.0\.0\.1:8080\)"),
                            ("--data-dir DIR", r"\(data\)")):
            self.assertRegex(text, rf"(?s){re.escape(flag)}\s[^\n]*(\n {{20,}}[^\n]*)?{value}\n")
        self.assertIn("250ms, 1.5s", text)

    def test_a_dot_env_that_only_serve_reads_is_remarked_on(self):
        self.keymill("mint")
        path = self.directory / ".env"
        path.write_text("UNRELATED=1\n", encoding="utf-8")
        self.assertEqual(self.keymill("mint").stderr, "")
        path.write_text("RANGE_SIZE=5\nKEYMILL_DATA_DIR=elsewhere\n", encoding="utf-8")
        for verb in (("mint",), ("keyspace", "list")):
            self.assertRegex(self.keymill(*verb).stderr,
                             r"^keymill: \.env is read by serve only; .*KEYMILL_DATA_DIR, "
                             r"RANGE_SIZE.*\n$")
        self.assertEqual(self.keymill("version").stderr, "")


if __name__ == "__main__":
    unittest.main()
