#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill doctor`: what it finds on real file systems, and that it leaves no trace."""

import fcntl
import json
import os
import pathlib
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import (DatabaseLock, Server, clean_environment, free_port, keymill_bin,
                             refuse_reports, run_keymill)
from proof import ScenarioTest
from scenario_full_disk import private_mounts

OK, FAILURE, USAGE, REFUSED = 0, 1, 2, 78
LOCKED_SECONDS = 5


def snapshot(directory):
    """All that a look could change: names, bytes, sizes, modes and times."""
    found = {}
    for path in [directory, *sorted(directory.rglob("*"))]:
        info = path.stat()
        found[str(path)] = (info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns,
                            info.st_ctime_ns, path.read_bytes() if path.is_file() else None)
    return found


def findings(told):
    """What counts: the severity by check."""
    return {each["check"]: each["severity"] for each in told["checks"]
            if each["severity"] in ("warning", "problem")}


def can_mount():
    return subprocess.run([*private_mounts(), "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class Doctor(ScenarioTest):
    # What is found on this machine whatever the store: temporary files may be in memory.
    machine = set()

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="keymill-test-") as folder:
            done = run_keymill("doctor", "-o", "json", "--listen", "127.0.0.1:0", cwd=folder)
        cls.machine = set(findings(json.loads(done.stdout)))

    def setUp(self):
        super().setUp()
        self.data = self.directory / "data"
        self.database = self.data / "keymill.db"
        self.port = free_port()

    def keymill(self, *arguments, code=OK):
        done = run_keymill(*arguments, cwd=self.directory)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def examine(self, *flags, code, prepare=None, limit=None, env=None):
        """The findings by check, notes and what is well included. `prepare` runs before, in
        mounts of its own."""
        command = [str(keymill_bin()), "doctor", "-o", "json", *flags]
        if "--listen" not in flags:
            command += ["--listen", f"127.0.0.1:{self.port}"]
        if "--listen-resp" not in flags:
            command += ["--listen-resp", ""]
        if prepare:
            command = [*private_mounts(), "sh", "-c", f"set -e; {prepare}; exec \"$@\"", "sh",
                       *command]
        lower = limit and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        done = subprocess.run(command, cwd=self.directory, env=clean_environment(env),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lower, timeout=60, check=False)
        refuse_reports(done.stderr)
        told = json.loads(done.stdout)
        found = findings(told)
        self.assertEqual(done.returncode, FAILURE if found else OK, done.stdout + done.stderr)
        self.assertEqual(bool(set(found) - self.machine), code != OK, found)
        self.assertEqual(told["healthy"], not found)
        self.assertEqual((told["problems"], told["warnings"]),
                         tuple(sum(each["severity"] == name for each in told["checks"])
                               for name in ("problem", "warning")))
        for each in told["checks"]:
            self.assertEqual(each["fix"] is None, each["severity"] == "ok", each)
        return {each["check"]: each for each in told["checks"]}

    def expect(self, found, check, severity, says, fix):
        """This finding is there, and it is the only one."""
        counted = findings({"checks": found.values()})
        self.assertEqual({name: counted[name] for name in set(counted) - self.machine},
                         {check: severity}, found)
        self.assertIn(says, found[check]["says"])
        self.assertIn(fix, found[check]["fix"])

    def require_mounts(self):
        if not can_mount():
            self.skipTest("mounting needs root")
        if "filesystem" in self.machine:
            self.skipTest("temporary files are on no disk: set TMPDIR")

    def test_before_the_first_start_all_is_well_and_nothing_is_made(self):
        before = snapshot(self.directory)
        found = self.examine(code=OK)
        self.assertIn("the first start makes it", found["store"]["says"])
        self.assertIn("the first start makes it", found["data_dir"]["says"])
        self.assertEqual(snapshot(self.directory), before)

    def test_a_store_in_use_is_well_and_nothing_changes(self):
        self.keymill("mint", "-n", "3")
        before = snapshot(self.directory)
        found = self.examine(code=OK)
        self.assertEqual(snapshot(self.directory), before)
        self.assertEqual(
            {name for name, each in found.items() if each["severity"] == "ok"} -
            {"clock", "file limit", "cpu", "aes", "fsync"},
            {"configuration", "data_dir", "filesystem", "space", "files", "store", "integrity",
             "witness", "keyspaces", "listener", "resp listener", "backlog", "memory"} -
            self.machine)
        self.assertRegex(found["fsync"]["says"], r"^\d+\.\d\d ms \(median of \d+")

    def test_beside_a_running_server_it_says_who_answers(self):
        with Server(self.directory) as server:
            before = snapshot(self.data)
            found = self.examine("--listen", f"127.0.0.1:{server.port}", code=OK)
            self.assertEqual(snapshot(self.data), before)
            self.assertRegex(found["listener"]["says"],
                             rf"^keymill \d\S+ answers at http://127\.0\.0\.1:{server.port}")

    def test_the_table_has_the_same_findings(self):
        self.keymill("mint")
        self.database.chmod(0o644)
        found = self.examine(code=FAILURE)
        table = self.keymill("doctor", "--listen", f"127.0.0.1:{self.port}", "--listen-resp", "",
                             code=FAILURE).stdout
        for check, each in found.items():
            self.assertRegex(table, rf"(?m)^{each['severity']} +{check}  ")
            if each["severity"] in ("warning", "problem"):
                self.assertIn(each["says"], table)
                self.assertIn(f"fix: {each['fix']}\n", table)
        self.assertRegex(table, r"\n\d problems?, \d warnings?\n$")
        self.expect(found, "files", "warning", "mode 644", f"chmod 600 {self.database}")

    def test_a_file_system_in_memory_is_a_problem(self):
        self.require_mounts()
        self.data.mkdir(mode=0o700)
        found = self.examine(code=FAILURE, prepare="mount -t tmpfs -o mode=700 tmpfs data")
        self.expect(found, "filesystem", "problem", "tmpfs", "--data-dir")

    def test_a_container_s_layer_is_warned_of(self):
        self.require_mounts()
        for name in ("lower", "upper", "work", "data"):
            (self.directory / name).mkdir(mode=0o700)
        mount = "mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay data"
        if subprocess.run([*private_mounts(), "sh", "-c", mount], cwd=self.directory,
                          stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("there is no overlay file system here")
        found = self.examine(code=FAILURE, prepare=mount)
        self.expect(found, "filesystem", "warning", "container's own layer", "docker run -v")

    def test_a_read_only_mount_is_one_problem(self):
        self.require_mounts()
        self.keymill("mint")
        found = self.examine(code=FAILURE, prepare="mount --bind data data; "
                             "mount -o remount,ro,bind data")
        self.expect(found, "filesystem", "problem", "read-only", "mount -o remount,rw")
        self.assertEqual(found["integrity"]["severity"], "ok")
        self.assertIn("not measured", found["fsync"]["says"])

    def test_a_full_disk_is_a_problem(self):
        self.require_mounts()
        self.data.mkdir(mode=0o700)
        found = self.examine(code=FAILURE, prepare="mount -t tmpfs -o size=256k,mode=700 tmpfs "
                             "data; cat /dev/zero > data/filler 2>/dev/null || true")
        self.assertEqual(found["space"]["severity"], "problem")
        self.assertIn("room for 0 KiB", found["space"]["says"])
        self.assertIn("du -xh", found["space"]["fix"])
        self.assertIn("No space left", found["fsync"]["says"])

    def test_a_disk_without_room_for_files_is_a_problem(self):
        self.require_mounts()
        self.data.mkdir(mode=0o700)
        found = self.examine(code=FAILURE, prepare="mount -t tmpfs -o nr_inodes=10,mode=700 tmpfs "
                             "data")
        self.assertEqual(found["space"]["severity"], "problem")
        self.assertIn("du -x --inodes", found["space"]["fix"])

    def test_a_damaged_database_is_a_problem(self):
        self.keymill("mint")
        sound = self.database.read_bytes()
        page = 4096
        for at in range(page, len(sound), page):
            with self.subTest(at=at):
                self.database.write_bytes(sound[:at] + b"\xa5" * page + sound[at + page:])
                before = snapshot(self.data)
                found = self.examine(code=FAILURE)
                self.assertEqual(snapshot(self.data), before)
                problems = [each for name, each in found.items() if each["severity"] == "problem"]
                self.assertTrue(any("keymill.db.damaged" in each["fix"] for each in problems),
                                found)

    def test_what_is_no_database_is_a_problem(self):
        self.data.mkdir(mode=0o700)
        self.database.write_bytes(b"nothing of the kind" * 100)
        self.database.chmod(0o600)
        self.expect(self.examine(code=FAILURE), "store", "problem", "not a database",
                    "--store sqlite:PATH")

    def test_a_database_of_another_program_is_a_problem(self):
        self.data.mkdir(mode=0o700)
        other = sqlite3.connect(self.database)
        other.execute("CREATE TABLE guests (name)")
        other.close()
        self.database.chmod(0o600)
        self.expect(self.examine(code=FAILURE), "store", "problem", "another program",
                    "--store sqlite:PATH")

    def test_a_database_that_vanished_is_a_problem(self):
        self.keymill("mint")
        self.database.unlink()
        self.expect(self.examine(code=FAILURE), "store", "problem", "starting anew would repeat",
                    f"mv {self.data}/witness {self.data}/witness.old")
        self.assertFalse(self.database.exists())

    def test_a_store_that_went_back_is_a_problem_and_its_fix_fixes_it(self):
        self.keymill("mint")
        shutil.copy2(self.database, self.directory / "old.db")
        self.keymill("mint", "-n", "5000")
        shutil.copy2(self.directory / "old.db", self.database)
        found = self.examine(code=FAILURE)
        self.expect(found, "keyspace default", "problem", "the store went back", "keymill recover")
        command = found["keyspace default"]["fix"].partition("or: ")[2]
        self.assertEqual(command, "keymill recover default")
        # Whoever mints finds out, and stops everybody.
        self.keymill("mint", code=FAILURE)
        self.expect(self.examine(code=FAILURE), "keyspace default", "problem", "quarantined: ",
                    command)
        self.keymill(*command.split()[1:])
        self.examine(code=OK)

    def test_a_configuration_that_the_store_contradicts_is_a_problem(self):
        self.keymill("mint")
        (self.directory / "keymill.yml").write_text("keyspaces: {default: {length: 8}}",
                                                    encoding="utf-8")
        self.expect(self.examine(code=FAILURE), "keyspace default", "problem",
                    "length is 7 in the store, 8 here", "keymill keyspace show default")

    def test_a_store_that_went_back_can_be_recovered_before_anybody_mints(self):
        self.keymill("mint")
        shutil.copy2(self.database, self.directory / "old.db")
        lost = self.keymill("mint", "-n", "5000").stdout.split()
        shutil.copy2(self.directory / "old.db", self.database)
        self.keymill("recover", "default")
        self.examine(code=OK)
        self.assertFalse(set(lost) & set(self.keymill("mint", "-n", "9000").stdout.split()))

    def test_commands_name_the_store_that_was_examined(self):
        flags = ("--data-dir", "else where", "--store", "sqlite:other.db")
        self.keymill("mint", *flags)
        database = self.directory / "else where/other.db"
        connection = sqlite3.connect(database)
        connection.execute("UPDATE keymill_keyspaces SET state = 'quarantined', reason = 'a test' "
                           "WHERE name = 'default'")
        connection.commit()
        connection.close()
        self.expect(self.examine(*flags, code=FAILURE), "keyspace default", "problem", "a test",
                    "keymill recover default --data-dir 'else where' --store sqlite:other.db")

    def test_a_lost_witness_is_warned_of(self):
        self.keymill("mint")
        (self.data / "witness").unlink()
        found = self.examine(code=FAILURE)
        self.expect(found, "witness", "warning", "is missing", "keymill mint -n 1 default")
        self.keymill("mint", "-n", "1", "default")
        self.examine(code=OK)

    def test_a_damaged_witness_is_a_problem(self):
        self.keymill("mint")
        (self.data / "witness").write_text("keymill-witness 1\n", encoding="utf-8")
        self.expect(self.examine(code=FAILURE), "witness", "problem", "damaged", "restore ")

    def test_a_locked_database_is_not_waited_for(self):
        self.keymill("mint")
        with DatabaseLock(self.database):
            began = time.monotonic()
            found = self.examine(code=FAILURE)
            self.assertLess(time.monotonic() - began, LOCKED_SECONDS)
            self.expect(found, "store", "warning", "locked", f"fuser -v {self.database}")
        self.examine(code=OK)

    def test_a_locked_witness_does_not_matter(self):
        self.keymill("mint")
        with open(self.data / "witness.lock", "rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.examine(code=OK)

    def test_a_journal_that_was_left_is_kept_and_its_fix_rolls_it_back(self):
        self.keymill("mint")
        pages = self.database.stat().st_size // 4096
        journal = self.data / "keymill.db-journal"
        # Its head alone: no pages to put back.
        head = bytes.fromhex("d9d505f920a163d7") + bytes(4) + (1).to_bytes(4, "big")
        head += pages.to_bytes(4, "big") + (512).to_bytes(4, "big") + (4096).to_bytes(4, "big")
        journal.write_bytes(head.ljust(1024, b"\0"))
        journal.chmod(0o600)
        before = snapshot(self.data)
        self.expect(self.examine(code=FAILURE), "store", "warning", "cut off",
                    "keymill keyspace list")
        self.assertEqual(snapshot(self.data), before)
        self.keymill("keyspace", "list")
        self.assertFalse(journal.exists())
        self.examine(code=OK)

    def test_wal_mode_is_warned_of_and_left_alone(self):
        self.keymill("mint")
        other = sqlite3.connect(self.database)
        other.execute("PRAGMA journal_mode = WAL")
        other.close()
        before = snapshot(self.data)
        self.expect(self.examine(code=FAILURE), "store", "warning", "WAL", "journal_mode = DELETE")
        self.assertEqual(snapshot(self.data), before)

    def test_a_keyspace_that_is_nearly_used_up_is_warned_of(self):
        self.keymill("keyspace", "create", "small", "--kind", "sequence", "--alphabet", "decimal",
                     "--length", "3")
        self.keymill("mint", "small", "-n", "950")
        self.expect(self.examine(code=FAILURE), "keyspace small", "warning", "% used",
                    "keymill keyspace create small2 --kind sequence --alphabet decimal --length 4")
        self.keymill("keyspace", "create", "small2", "--kind", "sequence", "--alphabet",
                     "decimal", "--length", "4")

    def test_a_port_that_another_program_has_is_a_problem(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            found = self.examine("--listen", f"127.0.0.1:{port}", code=FAILURE)
        self.expect(found, "listener", "problem", "no keymill", f"ss -ltnp 'sport = :{port}'")

    def test_a_port_for_resp_that_another_program_has_is_a_problem_if_it_was_chosen(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            found = self.examine("--listen-resp", f"127.0.0.1:{port}", code=FAILURE)
            self.expect(found, "resp listener", "problem", f"127.0.0.1:{port}", "--listen-resp")
        found = self.examine("--listen-resp", f"127.0.0.1:{port}", code=OK)
        self.assertEqual(found["resp listener"]["severity"], "ok")

    def test_a_low_file_limit_is_warned_of(self):
        if "file limit" in self.machine:
            self.skipTest("it is low already")
        found = self.examine("--threads", "2", code=FAILURE, limit=256)
        self.expect(found, "file limit", "warning", "room for 220", "LimitNOFILE=20036")
        found = self.examine("--threads", "2", "--connections-max", "220", code=OK, limit=256)
        self.assertEqual(found["file limit"]["severity"], "ok")

    def test_a_directory_that_others_can_write_to_is_warned_of(self):
        self.keymill("mint")
        self.data.chmod(0o777)
        self.expect(self.examine(code=FAILURE), "data_dir", "warning", "777",
                    f"chmod 700 {self.data}")

    def test_what_another_user_may_not_use_is_a_problem(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        self.keymill("mint")
        self.directory.chmod(0o755)
        nobody = 65534
        program = self.directory / "keymill"
        shutil.copy(keymill_bin(), program)
        done = subprocess.run([program, "doctor", "-o", "json"], cwd=self.directory, user=nobody,
                              group=nobody, extra_groups=[], env=clean_environment(),
                              stdout=subprocess.PIPE, timeout=60, check=False)
        self.assertEqual(done.returncode, FAILURE)
        found = {each["check"]: each for each in json.loads(done.stdout)["checks"]}
        for check, path in (("data_dir", "data"), ("store", "data/keymill.db"),
                            ("witness", "data/witness")):
            self.assertEqual(found[check]["severity"], "problem", found)
            self.assertIn("Permission denied", found[check]["says"])
            self.assertRegex(found[check]["fix"],
                             rf"if that is {nobody}: chown .*{nobody} {self.directory}/{path} ")

    def test_a_file_in_place_of_the_directory_is_a_problem(self):
        self.data.write_text("", encoding="utf-8")
        found = self.examine(code=FAILURE)
        self.assertEqual(found["data_dir"]["severity"], "problem")
        self.assertIn(f"mv {self.data} {self.data}.old", found["data_dir"]["fix"])

    def test_a_database_outside_the_data_directory_has_its_place_examined(self):
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir(mode=0o777)
        elsewhere.chmod(0o777)
        found = self.examine("--store", f"sqlite:{elsewhere}/k.db", code=FAILURE)
        self.expect(found, "store directory", "warning", "777", f"chmod 700 {elsewhere}")

    def test_a_store_in_memory_is_warned_of(self):
        self.expect(self.examine("--store", "memory:", code=FAILURE), "store", "warning",
                    "in memory", "sqlite:keymill.db")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_it_reads_what_serve_would_read(self):
        (self.directory / ".env").write_text("KEYMILL_DATA_DIR=there\n", encoding="utf-8")
        self.assertIn(f"{self.directory}/there", self.examine(code=OK)["data_dir"]["says"])
        (self.directory / "keymill.yml").write_text("block_size: 5\n", encoding="utf-8")
        self.assertIn("keymill.yml", self.examine(code=OK)["configuration"]["says"])

    def test_mistakes_have_their_exit_codes(self):
        self.assertIn("did you mean --store?",
                      self.keymill("doctor", "--stroe", "x", code=USAGE).stderr)
        self.keymill("doctor", "-o", "xml", code=USAGE)
        self.keymill("doctor", "extra", code=USAGE)
        (self.directory / "keymill.yml").write_text("blok_size: 5\n", encoding="utf-8")
        done = self.keymill("doctor", code=REFUSED)
        self.assertIn("block_size", done.stderr)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
