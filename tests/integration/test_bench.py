#!/usr/bin/python3
# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""`keymill bench` against the real server, and against servers that misbehave."""

import contextlib
import json
import os
import pathlib
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

# pylint: disable=wrong-import-position
from keymill_process import (Server, await_that, clean_environment, free_port, keymill_bin,
                             run_keymill, scaled)
from proof import ScenarioTest
from scenario_bench import RepeatingServer, bench, planted_duplicate


class CannedServer:
    """Answers each connection's first bytes with fixed bytes and closes it."""

    def __init__(self, answer):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                try:
                    if peer.recv(65536):
                        peer.sendall(self.answer)
                except OSError:
                    pass

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.port}"

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


class BenchServerTest(ScenarioTest):
    """What it measures of a good server."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.server = cls.enterClassContext(Server(cls.folder))
        cls.url = f"http://127.0.0.1:{cls.server.port}"

    def good(self, *arguments):
        code, report, said = bench(self.directory, *arguments)
        self.assertEqual(code, 0, f"{report} {said}")
        self.assertEqual(report["errors"]["total"], 0, report)
        self.assertEqual(report["duplicates"]["count"], 0)
        self.assertTrue(report["passed"])
        return report

    def test_so_many_requests_as_asked_are_sent_and_every_key_is_counted(self):
        for pipeline, threads in ((1, 1), (32, 2), (7, 3)):
            wanted = scaled(20_000)
            report = self.good(self.url, "-n", wanted, "--pipeline", pipeline,
                               "--threads", threads)
            self.assertEqual((report["ok"], report["keys"]), (wanted, wanted))
            self.assertEqual((report["loop"], report["threads"]), ("closed", threads))
            latency = report["latency_ms"]
            self.assertGreater(latency["p50"], 0)
            self.assertLessEqual(latency["p50"], latency["p99"])
            self.assertLessEqual(latency["p99"], latency["max"])

    def test_bulk_requests_count_their_keys(self):
        for count in (1, 10, 20_000):
            report = self.good(self.url, "-n", 20, "-c", 4, "--keyspace", "default",
                               "--count", count)
            self.assertEqual((report["ok"], report["keys"]), (20, 20 * count))

    def test_an_open_loop_sends_at_its_rate(self):
        report = self.good(self.url, "--rate", 500, "--duration", "1s", "-c", 8)
        self.assertEqual((report["loop"], report["ok"]), ("open", 500))
        self.assertGreater(report["seconds"], 0.9)

    def test_stages_follow_each_other(self):
        report = self.good(self.url, "--stages", "400ms:0-500,400ms:1000", "--threads", 2)
        self.assertEqual(report["ok"], 500)

    def test_a_duration_ends_the_run(self):
        report = self.good(self.url, "--duration", "500ms")
        self.assertLess(abs(report["seconds"] - 0.5), 2)
        self.assertGreater(report["ok"], 0)

    def test_several_urls_share_the_load(self):
        folder = self.directory / "other"
        folder.mkdir()
        with Server(folder, "--data-dir", pathlib.Path(self.folder) / "data") as other:
            self.good(self.url, f"127.0.0.1:{other.port}/get-key", "-n", scaled(10_000))

    def test_the_result_is_saved_and_rules_decide_the_exit_code(self):
        path = self.directory / "result.json"
        code, report, said = bench(self.directory, self.url, "-n", 1000, "--save", path,
                                   "--fail-if", "p99>1h,errors>0.1%",
                                   "--fail-if", "rate<100000M")
        self.assertEqual(code, 1)
        self.assertEqual([rule["failed"] for rule in report["rules"]], [False, False, True])
        self.assertIn("failed: rate<", said)
        self.assertEqual(json.loads(path.read_text(encoding="utf-8")), report)

    def test_people_get_a_table(self):
        done = run_keymill("bench", self.url, "-n", 500, "--fail-if", "duplicates>0",
                           cwd=self.directory)
        self.assertEqual(done.returncode, 0)
        for word in ("closed loop", "p99.9", "0 among 500 keys", "passed      duplicates>0"):
            self.assertIn(word, done.stdout)

    def test_without_a_check_nothing_is_said_of_duplicates(self):
        _, report, _ = bench(self.directory, self.url, "-n", 100, "--no-check")
        self.assertEqual(report["duplicates"], {"checked": False, "failure": None})

    def test_a_terminal_shows_one_screen_and_ctrl_c_ends_it_with_a_report(self):
        leader, follower = pty.openpty()
        with subprocess.Popen([str(keymill_bin()), "bench", self.url, "--duration", "60s"],
                              cwd=self.directory, env=clean_environment(), stderr=follower,
                              stdout=subprocess.PIPE, text=True) as process:
            os.close(follower)
            shown = b""
            while shown.count(b"duplicates") < 2:
                shown += os.read(leader, 4096)
            process.send_signal(signal.SIGINT)
            drain = threading.Thread(target=read_all, args=(leader,))
            drain.start()
            table = process.stdout.read()
            self.assertEqual(process.wait(timeout=60), 0)
            drain.join()
        os.close(leader)
        self.assertIn(b"\x1b[", shown)
        self.assertIn("requests", table)


def read_all(descriptor):
    try:
        while os.read(descriptor, 4096):
            pass
    except OSError:  # The other side of a terminal is gone.
        pass


def knocks(pid):
    """Whether a process has a socket, as whoever tries to connect has."""
    with contextlib.suppress(OSError):
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(link).startswith("socket:"):
                    return True
    return False


class BenchTroubleTest(ScenarioTest):
    """What it says when something is wrong."""

    def test_a_planted_duplicate_is_found(self):
        self.run_scenario(planted_duplicate, every=scaled(500_000, 100_000))

    def test_all_duplicates_are_counted_and_examples_are_shown(self):
        with RepeatingServer(10) as server:
            done = run_keymill("bench", server.url, "-n", 1000, cwd=self.directory)
        self.assertEqual(done.returncode, 1)
        self.assertIn("100 among 1,000 keys", done.stdout)
        self.assertIn("2 times, first as key", done.stdout)
        self.assertIn("… and 80 more", done.stdout)

    def test_nobody_there_is_a_failure_that_names_the_url(self):
        url = f"http://127.0.0.1:{free_port()}"
        done = run_keymill("bench", url, cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"{url}: Connection refused", done.stderr)

    def test_a_server_that_is_about_to_start_is_waited_for(self):
        port = free_port()
        arguments = [str(keymill_bin()), "bench", f"http://127.0.0.1:{port}", "-c", "4", "-n",
                     "1000", "--await", "60s", "-o", "json"]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=clean_environment()) as load:
            await_that(lambda: knocks(load.pid), "it knocks")
            time.sleep(0.3)
            with Server(self.directory, "--listen", f"127.0.0.1:{port}"):
                report = json.loads(load.communicate(timeout=60)[0])
        self.assertEqual((load.returncode, report["ok"], report["errors"]["total"]), (0, 1000, 0))
        self.assertGreater(report["awaited"]["refused"], 4)
        self.assertGreater(report["awaited"]["seconds"], 0.1)

    def test_a_server_that_does_not_start_in_time_is_a_failure_that_names_the_url(self):
        url = f"http://127.0.0.1:{free_port()}"
        done = run_keymill("bench", url, "--await", "200ms", cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"{url}: nobody listens there", done.stderr)

    def test_failures_are_counted_by_status(self):
        with Server(self.directory) as server:
            code, report, said = bench(self.directory, f"http://127.0.0.1:{server.port}/nowhere",
                                       "-n", 100)
        self.assertEqual((code, report["ok"], report["errors"]["kinds"]), (1, 0, {"404": 100}))
        self.assertIn("no request succeeded", said)

    def test_what_is_no_http_is_malformed(self):
        with CannedServer(b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as url:
            code, report, _ = bench(self.directory, url, "-n", 4, "-c", 2)
        self.assertEqual(code, 1)
        self.assertEqual(report["errors"]["kinds"]["malformed answer"], 4)

    def test_broken_connections_are_made_again_and_counted(self):
        whole = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nk"
        with CannedServer(whole[:-3]) as url:
            code, report, _ = bench(self.directory, url, "-n", 6, "-c", 2)
        self.assertEqual(code, 1)
        self.assertEqual(report["errors"]["kinds"]["connection lost"], 6)
        with CannedServer(whole.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as url:
            code, report, _ = bench(self.directory, url, "-n", 6, "-c", 2)
        self.assertEqual((report["ok"], report["errors"]["total"]), (6, 0))
        self.assertEqual(report["duplicates"]["count"], 5)

    # The clock of an open loop goes on while a server stands still.
    def test_latency_counts_from_the_time_a_request_was_due(self):
        with Server(self.directory) as server:
            def pause():
                time.sleep(0.5)
                os.kill(server.pid, signal.SIGSTOP)
                time.sleep(0.7)
                os.kill(server.pid, signal.SIGCONT)
            stopper = threading.Thread(target=pause)
            stopper.start()
            code, report, _ = bench(self.directory, f"http://127.0.0.1:{server.port}", "-c", 4,
                                    "--rate", 1000, "--duration", "2s")
            stopper.join()
        self.assertEqual((code, report["ok"]), (0, 2000))
        # A third of all requests were due while it stood still.
        self.assertGreater(report["latency_ms"]["p90"], 300)

    def test_bad_input_is_a_usage_error_that_says_what_is_wrong(self):
        for arguments, words in (
                (["ftp://x"], "ftp is not spoken here"),
                (["http://h:99999"], "port"),
                (["--duration", "ten"], "10s"),
                (["--await", "soon"], "--await"),
                (["--rate", "0"], "--rate"),
                (["--stages", "10s"], "DURATION:RATE"),
                (["--stages", "1s:5", "--rate", "5"], "excludes"),
                (["--fail-if", "p99=5"], "p99>5ms"),
                (["--fail-if", "duplicates>0", "--no-check"], "--no-check"),
                (["--memory", "lots"], "256M"),
                (["--memory", "900000G"], "more than this machine has"),
                (["--count", "5"], "--keyspace"),
                (["--connections", "0"], "--connections"),
                (["-c", "1", "http://a", "http://b"], "2 URLs"),
                (["--conections", "5"], "--connections")):
            done = run_keymill("bench", *arguments, cwd=self.directory)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertIn(words, done.stderr)

    def test_a_file_that_cannot_be_written_is_said_before_the_load(self):
        with RepeatingServer(0) as server:
            done = run_keymill("bench", server.url, "--save", "nowhere/x", cwd=self.directory)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("nowhere/x", done.stderr)


if __name__ == "__main__":
    unittest.main()
