#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill config`: show, check and init."""

import itertools
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import run_keymill
from proof import ScenarioTest

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78


class Config(ScenarioTest):
    def keymill(self, *arguments, code=OK, env=None):
        done = run_keymill("config", *arguments, cwd=self.directory, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def write(self, text, name="keymill.yml"):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return path

    def test_all_eight_combinations_of_flag_environment_and_file(self):
        for flag, variable, file in itertools.product((False, True), repeat=3):
            with self.subTest(flag=flag, variable=variable, file=file):
                value, origin, where = "1000", "default", None
                path = self.directory / "keymill.yml"
                path.unlink(missing_ok=True)
                if file:
                    self.write("threads: 1\nblock_size: 2000\n")
                    value, origin, where = "2000", "file", "keymill.yml:2"
                if variable:
                    value, origin, where = "3000", "environment", "KEYMILL_BLOCK_SIZE"
                if flag:
                    value, origin, where = "4000", "flag", "--block-size"
                arguments = ["show", *(["--block-size", "4000"] if flag else [])]
                env = {"KEYMILL_BLOCK_SIZE": "3000"} if variable else None
                told = json.loads(self.keymill(*arguments, "-o", "json", env=env).stdout)
                self.assertEqual(told["settings"]["block_size"],
                                 {"value": value, "origin": origin, "where": where})
                self.assertEqual(told["file"], "keymill.yml" if file else None)
                line = f"{value} +{origin}{f' {where}' if where else ''}"
                self.assertRegex(self.keymill(*arguments, "--origin", env=env).stdout,
                                 rf"(?m)^block_size +{line}$")
                self.assertRegex(self.keymill(*arguments, env=env).stdout,
                                 rf"(?m)^block_size +{value}$")

    def test_show_reads_what_serve_reads(self):
        self.write("RANGE_SIZE=55\n", ".env")
        done = self.keymill("show", "--origin", env={"PORT": "9000"})
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"(?m)^block_size +55 +environment RANGE_SIZE \(\.env\)$")
        self.assertRegex(done.stdout, r"(?m)^listen\.http +127\.0\.0\.1:9000 +environment PORT$")
        self.assertFalse((self.directory / "data").exists())

    def test_show_moves_no_cursor_and_tells_no_password(self):
        done = self.keymill("show", env={"KEYMILL_DATA_DIR": "a\x1b[2Jb"})
        self.assertNotIn("\x1b", done.stdout)
        done = self.keymill("show", "-o", "json", env={"KEYMILL_DATA_DIR": "x://me:hush@host/d"})
        self.assertNotIn("hush", done.stdout)
        self.assertIn("***@host/d", done.stdout)

    def test_show_of_what_is_refused_is_refused(self):
        done = self.keymill("show", code=REFUSED, env={"KEYMILL_BLOCK_SIZE": "none"})
        self.assertEqual(done.stdout, "")
        self.keymill("show", "--block-size", "none", code=USAGE)

    def test_check_says_line_column_and_what_was_meant(self):
        self.write("threads: 2\nblok_size: 5\n")
        done = self.keymill("check", code=REFUSED)
        self.assertEqual((done.stdout, done.stderr), (
            "", 'keymill: keymill.yml:2:1: unknown setting "blok_size", did you mean '
            '"block_size"?\n'))
        other = self.write("request_timeout: soon\n", "other.yml")
        self.assertIn("other.yml:1:18: request_timeout: expected a duration",
                      self.keymill("check", other.name, code=REFUSED).stderr)
        self.assertIn("nowhere.yml", self.keymill("check", "nowhere.yml", code=REFUSED).stderr)
        self.assertIn("not YAML", self.keymill("check", self.write("a: b: c\n", "bad.yml"),
                                               code=REFUSED).stderr)

    def test_check_of_what_is_fine_says_so(self):
        self.assertEqual(self.keymill("check").stdout,
                         "no file: fine; 0 of 27 settings are set, the others have their "
                         "defaults\n")
        self.write("threads: 2\n")
        self.assertEqual(self.keymill("check").stdout,
                         "keymill.yml: fine; 1 of 27 settings is set, the others have their "
                         "defaults\n")

    def test_check_refuses_what_serve_refuses(self):
        ticket = "{kind: ticket, stride: 2, offset: 1}"
        for text, said in ((f"keyspaces: {{a: {ticket}, b: {ticket}}}\n",
                            "keyspaces (keymill.yml:1): keyspace b would give the same keys as "
                            "keyspace a"),
                           ('listen: {http: "", resp: ""}\n', "nothing to listen on"),
                           ('listen: {http: ""}\n', "nothing to listen on")):
            with self.subTest(text=text):
                self.write(text)
                done = self.keymill("check", code=REFUSED)
                self.assertIn(said, done.stderr)
                served = run_keymill("serve", cwd=self.directory)
                self.assertEqual((served.returncode, said in served.stderr), (REFUSED, True),
                                 served.stderr)
                # It has not even looked at the store.
                self.assertFalse((self.directory / "data").exists())

    def test_what_has_nothing_to_listen_on_can_still_mint(self):
        self.write('listen: {http: "", resp: ""}\n')
        done = run_keymill("mint", cwd=self.directory)
        self.assertEqual(done.returncode, OK, done.stderr)

    def test_check_tells_what_serve_warns_of(self):
        self.write("sqlite:a.db\n", "url").chmod(0o644)
        done = self.keymill("check", env={"KEYMILL_STORE_FILE": "url"})
        self.assertIn("no file: fine", done.stdout)
        self.assertEqual(done.stderr, "keymill: KEYMILL_STORE_FILE: every user of this machine can "
                         "read url; chmod 600 url\n")

    def test_a_debug_switch_of_the_file_is_turned_off_by_the_environment(self):
        self.write("DEBUG_ENABLED: true\n")
        for no in ("false", "0"):
            done = self.keymill("show", "--origin", env={"DEBUG_ENABLED": no})
            self.assertRegex(done.stdout,
                             r"(?m)^log_level +info +environment DEBUG_ENABLED$")
        self.write("log_level: warn\n")
        done = self.keymill("show", "--origin", env={"DEBUG_ENABLED": "false"})
        self.assertRegex(done.stdout, r"(?m)^log_level +warn +file keymill\.yml:1$")

    def test_init_writes_a_file_that_changes_nothing(self):
        before = json.loads(self.keymill("show", "-o", "json").stdout)["settings"]
        done = self.keymill("init")
        self.assertEqual(done.stdout, "")
        self.keymill("check")
        after = json.loads(self.keymill("show", "-o", "json").stdout)["settings"]
        self.assertEqual({name: each["value"] for name, each in before.items()},
                         {name: each["value"] for name, each in after.items()})
        self.assertEqual({each["origin"] for each in after.values()}, {"file"})

    def test_init_does_not_write_over_a_file_unless_forced(self):
        path = self.write("threads: 2\n")
        self.assertIn("--force", self.keymill("init", code=FAILURE).stderr)
        self.assertEqual(path.read_text(encoding="utf-8"), "threads: 2\n")
        self.keymill("init", "--force")
        self.assertEqual(path.read_text(encoding="utf-8"), self.keymill("init", "-").stdout)
        self.keymill("init", "nowhere/keymill.yml", code=FAILURE)


if __name__ == "__main__":
    unittest.main()
