#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""The command line: verbs, messages and exit codes."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import RawConnection, Server, ledger, run_keymill, scaled
from proof import ScenarioTest

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78


class CommandLine(ScenarioTest):
    def keymill(self, *arguments, code=OK, **options):
        options.setdefault("cwd", self.directory)
        done = run_keymill(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def create_orders(self):
        self.keymill("keyspace", "create", "orders", "--kind", "sequence", "--alphabet",
                     "decimal", "--length", "5", "--prefix", "ord_")

    def test_mint_prints_one_key_per_line(self):
        lines = self.keymill("mint", "-n", "1000").stdout.splitlines()
        self.assertEqual((len(lines), len(set(lines))), (1000, 1000))
        for line in lines:
            self.assertRegex(line, r"^[0-9A-Za-z]{7}$")

    def test_mint_leaves_no_gap_and_nothing_held(self):
        self.keymill("keyspace", "create", "counted", "--kind", "sequence", "--alphabet",
                     "decimal")
        for count in (1, 7, 5000):
            self.keymill("mint", "counted", "-n", count)
        keys = self.keymill("mint", "counted", "-n", "2").stdout.split()
        self.assertEqual(keys, ["5009", "5010"])
        rows = ledger(self.directory / "data/keymill.db", "counted")
        self.assertEqual({state for _, _, state in rows}, {"spent"})

    def test_mint_beside_a_running_server_repeats_nothing(self):
        with Server(self.directory) as server:
            count = scaled(5000)
            keys = server.mint(count=count)
            keys += self.keymill("mint", "-n", count).stdout.split()
            keys += server.mint(count=count)
            keys += self.keymill("mint", "-n", count, "--server",
                                 f"http://127.0.0.1:{server.port}").stdout.split()
            self.assertEqual((len(keys), len(set(keys))), (4 * count, 4 * count))

    def test_mint_from_a_server_needs_no_store(self):
        home = self.directory / "server"
        home.mkdir()
        with Server(home) as server:
            url = f"http://127.0.0.1:{server.port}"
            many = self.keymill("mint", "-n", 20_001, "--server", url).stdout.split()
            self.assertEqual(len(set(many)), 20_001)
            missing = self.keymill("mint", "nowhere", "--server", url, code=FAILURE)
            self.assertIn("404", missing.stderr)
        self.assertFalse((self.directory / "data").exists())

    def test_mint_from_a_server_that_is_not_there_fails_and_names_it(self):
        done = self.keymill("mint", "--server", "http://127.0.0.1:1", code=FAILURE)
        self.assertEqual(done.stdout, "")
        self.assertIn("127.0.0.1:1", done.stderr)
        self.keymill("mint", "--server", "nonsense", code=USAGE)
        self.keymill("mint", "--server", "http://x:1", "--store", "memory:", code=USAGE)

    def test_a_count_that_cannot_be_is_a_usage_error(self):
        for count in ("0", "-1", "100000001", "many"):
            with self.subTest(count=count):
                done = self.keymill("mint", "-n", count, code=USAGE)
                self.assertEqual(done.stdout, "")
                self.assertIn("count", done.stderr)

    def test_mint_of_an_unknown_keyspace_says_how_to_create_it(self):
        done = self.keymill("mint", "orders", code=FAILURE)
        self.assertEqual(done.stdout, "")
        self.assertIn("keymill keyspace create orders", done.stderr)

    def test_a_keyspace_is_created_listed_shown_and_retired(self):
        self.create_orders()
        self.assertEqual(self.keymill("mint", "orders", "-n", "2").stdout,
                         "ord_00001\nord_00002\n")
        listed = json.loads(self.keymill("keyspace", "list", "-o", "json").stdout)
        self.assertIn("orders", [each["name"] for each in listed["keyspaces"]])
        table = self.keymill("keyspace", "list").stdout
        self.assertRegex(table, r"(?m)^NAME +KIND +STATE .*\n(.*\n)*orders +sequence +open ")
        shown = json.loads(self.keymill("keyspace", "show", "orders", "-o", "json").stdout)
        self.assertEqual((int(shown["used"]) + int(shown["left"]), shown["recipe"]["prefix"]),
                         (99999, "ord_"))
        self.assertEqual(int(shown["used"]), 2)
        self.keymill("keyspace", "retire", "orders")
        self.keymill("mint", "orders", code=REFUSED)
        again = self.keymill("keyspace", "create", "orders", "--kind", "sequence", "--alphabet",
                             "decimal", "--length", "5", "--prefix", "ord_", code=REFUSED)
        self.assertIn("retired", again.stderr)

    def test_creating_again_is_fine_with_the_same_recipe_only(self):
        self.create_orders()
        self.create_orders()
        done = self.keymill("keyspace", "create", "orders", "--kind", "sequence", "--length", "6",
                            code=REFUSED)
        self.assertIn("length", done.stderr)

    def test_verbs_that_look_make_no_store(self):
        for verb in (("keyspace", "list"), ("keyspace", "show", "default"),
                     ("keyspace", "retire", "default"), ("explain", "abcdefg"),
                     ("recover", "default")):
            done = self.keymill(*verb, code=FAILURE)
            self.assertRegex(done.stderr, r"there is no store at /\S+/data/keymill\.db yet")
            self.assertFalse((self.directory / "data").exists())
        self.assertRegex(self.keymill("mint").stderr,
                         r"^keymill: created sqlite:/\S+/data/keymill\.db\n$")
        self.assertEqual(self.keymill("mint").stderr, "")

    def test_show_and_retire_of_an_unknown_keyspace_fail(self):
        self.keymill("mint")
        for verb in ("show", "retire"):
            done = self.keymill("keyspace", verb, "nowhere", code=FAILURE)
            self.assertIn("nowhere", done.stderr)

    def test_bad_recipes_are_usage_errors(self):
        for words in (["--kind", "nonsense"], ["--length", "2"], ["--alphabet", "aa"],
                      ["--length", "x"]):
            with self.subTest(words=words):
                self.keymill("keyspace", "create", "bad", *words, code=USAGE)

    def test_explain_says_where_a_key_came_from(self):
        self.create_orders()
        key = self.keymill("mint", "orders").stdout.strip()
        told = json.loads(self.keymill("explain", key, "-o", "json").stdout)
        self.assertEqual((told["keyspace"], told["number"], told["state"]),
                         ("orders", "1", "issued"))
        self.assertIn("orders", self.keymill("explain", key, "--keyspace", "orders").stdout)
        self.keymill("explain", "ord_00002", code=FAILURE)
        self.keymill("explain", "nonsense!", code=FAILURE)

    def test_explain_guesses_what_no_keyspace_has_issued(self):
        self.keymill("mint")
        ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
        done = self.keymill("explain", ulid, code=FAILURE)
        self.assertRegex(done.stdout, r"(?m)^keyspace  none of this store\n"
                                      r"likely    ulid, 2016-07-30T23:54:10\.259Z: .")
        self.assertIn("no keyspace can have issued", done.stderr)
        told = json.loads(self.keymill("explain", ulid, "-o", "json", code=FAILURE).stdout)
        self.assertIsNone(told["keyspace"])
        self.assertEqual((told["guesses"][0]["what"], told["guesses"][0]["likelihood"]),
                         ("ulid", "likely"))
        self.assertTrue(told["guesses"][0]["reason"])
        version7 = self.keymill("explain", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", code=FAILURE)
        self.assertIn("uuid7, 2022-02-22T19:22:22", version7.stdout)
        self.assertIn("like nothing", self.keymill("explain", "\u00e9!", code=FAILURE).stdout)
        # Who names a keyspace asks about that one.
        named = self.keymill("explain", ulid, "--keyspace", "default", code=FAILURE)
        self.assertEqual(named.stdout, "")
        # A keyspace that can have issued it comes first.
        self.keymill("keyspace", "create", "u", "--kind", "ulid")
        self.assertIn("keyspace  u\nstate     unknown", self.keymill("explain", ulid).stdout)

    def test_explain_takes_ids_of_other_services_apart_without_a_store(self):
        # Discord's own example.
        done = self.keymill("explain", "175928847299117063", "--as", "discord")
        self.assertEqual(done.stdout, "key         175928847299117063\nservice     discord\n"
                                      "time        2016-04-30T11:18:25.796Z\nworker      1\n"
                                      "process     0\nincrement   7\n")
        told = json.loads(self.keymill("explain", "1052373432884465664", "--as", "twitter", "-o",
                                       "json").stdout)
        self.assertEqual((told["key"], told["service"]), ("1052373432884465664", "twitter"))
        self.assertTrue(told["time"].startswith("2018-10-17T"))
        self.assertEqual(set(told) - {"key", "service", "time"},
                         {"datacenter", "worker", "sequence"})
        for key in ("abc", "", "-1", "18446744073709551616", "1.5"):
            refused = self.keymill("explain", "--as=instagram", "--", key, code=USAGE)
            self.assertIn("whole numbers below 2^64", refused.stderr)
        self.assertIn("below 2^63", self.keymill("explain", "9223372036854775808", "--as", "leaf",
                                                 code=USAGE).stderr)
        self.keymill("explain", "1", "--as", "mastodon", code=USAGE)
        self.keymill("explain", "1", "--as", "leaf", "--keyspace", "k", code=USAGE)
        self.assertFalse((self.directory / "data").exists())

    def test_version_is_said_in_both_ways(self):
        said = self.keymill("version").stdout
        self.assertRegex(said, r"^keymill \d+\.\d+\.\d+\n$")
        version = json.loads(self.keymill("version", "-o", "json").stdout)["version"]
        self.assertEqual(said, f"keymill {version}\n")
        self.assertIn(version, self.keymill("--version").stdout)

    def test_a_bad_verb_or_flag_is_a_usage_error_with_a_suggestion(self):
        self.assertIn("serve", self.keymill("sevre", code=USAGE).stderr)
        self.assertIn("--block-size", self.keymill("serve", "--block-sise", "5", code=USAGE).stderr)
        self.assertIn("--count", self.keymill("mint", "--coutn", "5", code=USAGE).stderr)
        self.keymill(code=USAGE)
        self.keymill("keyspace", code=USAGE)
        self.keymill("verify", code=USAGE)
        self.keymill("serve", "--block-size", "0", code=USAGE)
        self.keymill("serve", "--request-timeout", "soon", code=USAGE)

    def test_help_goes_to_stdout(self):
        for arguments in (["--help"], ["serve", "--help"], ["mint", "--help"]):
            self.assertTrue(self.keymill(*arguments).stdout)

    def test_messages_go_to_stderr_and_data_to_stdout(self):
        done = self.keymill("mint", "-n", "3", "--log-level", "debug")
        self.assertEqual(len(done.stdout.split()), 3)

    def test_a_start_from_another_directory_uses_the_data_named_there(self):
        first = self.keymill("mint", "-n", "5").stdout.split()
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir()
        data = self.directory / "data"
        second = self.keymill("mint", "-n", "5", "--data-dir", data, cwd=elsewhere).stdout.split()
        with Server(elsewhere, "--data-dir", data) as server:
            self.assertIn(str(data / "keymill.db"), server.log())
            third = server.mint(count=5)
        self.assertEqual(len({*first, *second, *third}), 15)
        self.assertFalse((elsewhere / "data").exists())

    def test_a_configuration_file_elsewhere_can_be_named(self):
        (self.directory / "sub").mkdir()
        path = self.directory / "sub/mine.yml"
        path.write_text("keyspaces: {invoices: {kind: sequence, alphabet: decimal}}\n",
                        encoding="utf-8")
        self.assertEqual(self.keymill("mint", "invoices", "--config", path).stdout, "1\n")
        done = self.keymill("mint", "--config", "nowhere.yml", code=REFUSED)
        self.assertIn("nowhere.yml", done.stderr)

    def test_the_database_is_for_its_owner_only(self):
        self.keymill("mint")
        for path in (self.directory / "data").iterdir():
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_a_server_says_where_it_is_and_how_to_try_it(self):
        with Server(self.directory) as server:
            self.assertIn(f"curl http://127.0.0.1:{server.port}/get-key", server.log())
            self.assertIn(str(self.directory / "data/keymill.db"), server.log())
            with RawConnection(server.port) as connection:
                connection.send("GET /get-key HTTP/1.1\r\nHost: x\r\n\r\n")
                self.assertEqual(len(connection.read_answer().body), 7)


if __name__ == "__main__":
    unittest.main()
