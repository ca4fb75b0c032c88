# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""What a new user types in the first ten minutes, and every answer, as one session.

The session is kept in tests/golden/first-ten-minutes.txt. Only what must vary is replaced: a key
by KEY0001 and so on, the same one wherever it shows up; the directory by $DIR; the port by 8080;
times, versions, process ids, and the limits of this machine.
"""

import difflib
import os
import pty
import random
import re
import shlex
import signal
import socket
import subprocess
import threading
import time

from keymill_process import (ROOT, STOP_SECONDS, await_that, clean_environment, keymill_bin,
                             refuse_reports)

GOLDEN = ROOT / "tests/golden/first-ten-minutes.txt"
BANNER_LINES_MAX = 12
TRY = re.compile(r"^ +try +(.*)$", re.MULTILINE)
KEY = r"\b[0-9A-Za-z]{7}\b"
VARIES = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "2026-01-01T00:00:00Z"),
    (re.compile(r"(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+[+-]\d\d:\d\d"),
     "2026-01-01T00:00:00.000+00:00"),
    (re.compile(r'"ts":[0-9.]+'), '"ts":0.000'),
    (re.compile(r"keymill \d+\.\d+\.\d+\S*"), "keymill VERSION"),
    (re.compile(r"(?m)^(block +)[0-9a-f]{32}"), r"\1BLOCK"),
    (re.compile(r"(?m)^(instance +).*$"), r"\1HOST/PID/INSTANCE"),
    (re.compile(r"(?m)^.*file limit raised from .*\n"), ""),
    (re.compile(r"stopping \(\d+ connections?\)"), "stopping (0 connections)"),
    (re.compile(r"its number, \d+, is"), "its number, 2613741838555, is"),
    (re.compile(r"position \d+ that is not in the alphabet decimal"),
     "position 1 that is not in the alphabet decimal"),
    (re.compile(r"makes ids as worker \d+"), "makes ids as worker 17"),
    (re.compile(r"(?m)^(ids +snowflake open) +\S+% +\d+"),
     r"\1            2.69%   8975417712876453887"),
    # What a key looks like depends on its symbols.
    (re.compile(r"(?m)^(possible|unlikely)  base\d+(url)?: .*\n"), ""),
)


def free_short_port():
    """One of four digits, so that tables are as wide as with 8080."""
    for port in random.sample(range(8100, 9999), 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port of four digits is free")


class Terminal:
    """A command that goes on running on a terminal of its own, and what it has written there."""

    def __init__(self, command, cwd, env):
        self.text = b""
        self.shown = 0
        self.master, slave = pty.openpty()
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=cwd, env=env,
                                        stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while True:
            try:
                piece = os.read(self.master, 65536)
            except OSError:  # Nobody has the other end open any more.
                return
            if not piece:
                return
            self.text += piece

    def all(self):
        return self.text.decode(errors="replace").replace("\r\n", "\n")

    def news(self):
        """What was not shown before."""
        text = self.all()
        fresh, self.shown = text[self.shown:], len(text)
        return fresh

    def end(self, number):
        """Signals it, if it still runs, and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(STOP_SECONDS)
        self.reader.join(STOP_SECONDS)
        return code


class Session:
    """Runs commands one after the other and writes down what a reader would see."""

    def __init__(self, directory):
        self.directory = directory.resolve() / "demo"
        self.directory.mkdir()
        # On a terminal curl shows an answer only; here it would show its progress as well.
        (directory / ".curlrc").write_text("silent\nshow-error\n", encoding="utf-8")
        self.port = free_short_port()
        self.keys = []
        self.lines = []
        self.steps = 0
        self.server = None
        self.cwd = self.directory
        self.env = clean_environment({
            "PATH": f"{keymill_bin().resolve().parent}:{os.environ['PATH']}",
            "PORT": str(self.port), "LC_ALL": "C.UTF-8", "TERM": "dumb",
            "CURL_HOME": str(directory.resolve())})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server is not None:
            self.server.end(signal.SIGKILL)

    def real(self, command):
        """The command as it is run: with the keys and the port of this run."""
        for number, key in enumerate(self.keys, 1):
            command = command.replace(f"KEY{number:04}", key)
        return command.replace("8080", str(self.port))

    def plain(self, text):
        """The text as it is written down."""
        for number, key in enumerate(self.keys, 1):
            text = re.sub(rf"\b{re.escape(key)}\b", f"KEY{number:04}", text)
        text = text.replace(str(self.directory), "$DIR").replace(str(self.port), "8080")
        for varying, steady in VARIES:
            text = varying.sub(steady, text)
        return text

    def learn(self, text, keys):
        """Remembers the keys where the pattern `keys` says that they are; none may be old."""
        for place in re.findall(keys, text, re.MULTILINE):
            for key in re.findall(KEY, place):
                if key in self.keys:
                    raise AssertionError(f"{key} was handed out twice")
                self.keys.append(key)

    def write(self, text, code=0):
        text = self.plain(text)
        if text and not text.endswith("\n"):
            text += "\n"  # As a prompt that begins a line of its own would have it.
        self.lines += [line.rstrip() for line in text.splitlines()]
        if code != 0:
            self.lines.append(f"[exit {code}]")

    def say(self, title):
        self.lines += ["", f"# {title}", ""]

    def prompt(self, command):
        self.steps += 1
        self.lines.append(f"$ {self.plain(command)}")

    def run(self, command, keys=None, env=None):
        """Runs one command to its end. `keys` is a pattern for where its answer holds keys."""
        self.prompt(command)
        done = subprocess.run(["bash", "-c", self.real(command)], cwd=self.cwd,
                              env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
        refuse_reports(done.stdout)
        if keys:
            self.learn(done.stdout, keys)
        self.write(done.stdout, done.returncode)
        return done

    def edit(self, name, text):
        """Writes a file, as an editor would."""
        (self.cwd / name).write_text(text, encoding="utf-8")
        self.prompt(f"cat {name}")
        self.write(text)

    def change_to(self, name):
        self.prompt(f"cd {name}")
        self.cwd = (self.cwd / name).resolve()
        self.cwd.mkdir(exist_ok=True)

    def serve(self, command="keymill serve", ready=TRY):
        """Starts a server on a terminal and returns the line that it says to try."""
        self.prompt(command)
        self.server = Terminal(self.real(command), self.cwd, self.env)
        await_that(lambda: ready.search(self.server.all()) or
                   self.server.process.poll() is not None, "the server says that it is ready")
        text = self.server.news()
        if len(text.splitlines()) > BANNER_LINES_MAX:
            raise AssertionError(f"more than {BANNER_LINES_MAX} lines at the start:\n{text}")
        self.write(text)
        match = ready.search(text)
        if not match:
            raise AssertionError(f"the server did not start:\n{text}")
        return match.group(1)

    def interrupt(self):
        """Ctrl-C in the server's terminal."""
        self.steps += 1
        code = self.server.end(signal.SIGINT)
        self.lines.append("^C")
        text = self.server.news()
        refuse_reports(text)
        self.write(text, code)
        self.server = None


def look_around(user):
    user.say("What is this?")
    user.run("keymill")
    user.run("keymill --help")
    user.run("keymill help version")
    user.run("keymill version")
    user.run("keymill srve")
    user.run("keymill serve --prot 80")
    user.run("keymill serve --port 8080")
    user.run("keymill healthcheck")


def first_server(user):
    user.say("A server, on a terminal")
    paste = user.serve()
    user.say("In another terminal, in the same directory: what it says to try")
    user.run(paste, keys=".*")
    user.run("curl localhost:8080/")
    user.run("curl localhost:8080/get-key", keys=".*")
    user.run("curl -X POST 'localhost:8080/v1/keyspaces/default/keys?count=3'",
             keys=r'"keys":\[(.*)\]')
    user.run("curl localhost:8080/v1/keyspaces/default/keys")
    user.run("curl -X POST localhost:8080/v1/keyspaces/nope/keys")
    user.run("curl -X POST 'localhost:8080/v1/keyspaces/default/keys?count=many'")
    user.run("curl localhost:8080/keys")
    user.run("curl 'localhost:8080/readyz?verbose'")
    user.run("keymill healthcheck")
    user.run("keymill serve")


def beside_the_server(user):
    user.say("Verbs that need no server, beside one")
    minted = user.run("keymill mint -n 2", keys=".*")
    user.run(f"keymill explain {minted.stdout.split()[0]}")
    user.run("keymill explain KEY0001")
    user.run("keymill explain hello")
    user.run("keymill explain zzzzzz!")
    user.run("keymill mint --server http://localhost:8080", keys=".*")
    user.run("keymill mint nope")
    user.run("keymill keyspace")
    user.run("keymill keyspace create orders --kind sequence --alphabet decimal --prefix ord_ "
             "--length 8")
    user.run("keymill keyspace create orders --kind sequence --alphabet hex")
    user.run("keymill keyspace show order")
    user.run("keymill keyspace list")
    user.run("keymill mint orders -n 2")
    user.run("keymill explain ord_00000002")
    user.run("keymill explain ord_00000009")
    user.run("curl -X POST localhost:8080/v1/keyspaces/orders/keys")


def stop_and_go_on(user):
    user.say("Ctrl-C in the first terminal, and a second start")
    user.interrupt()
    paste = user.serve()
    user.run(paste, keys=".*")
    user.interrupt()
    user.say("A start from another directory has a store of its own")
    user.change_to("elsewhere")
    user.serve()
    user.run("keymill explain KEY0001")
    user.interrupt()
    user.run("keymill serve --store-create never --data-dir nowhere")
    user.run("keymill mint --store-create never --data-dir nowhere")
    user.change_to("..")
    user.say("Not on a terminal, the log is JSON")
    user.run("keymill serve 2>log & until grep -qs ready log; do sleep 0.1; done; "
             "kill $!; wait $!; cat log")


def settings(user):
    user.say("Settings")
    user.run("keymill config show --origin")
    user.run("KEYMILL_BLOK_SIZE=5000 keymill serve")
    user.run("KEYMILL_BLOCK_SIZE=many keymill serve")
    user.run("keymill serve --block-size 0")
    user.edit("keymill.yml", "data_dir: data\nblok_size: 5000\n")
    user.run("keymill serve")
    user.edit("keymill.yml", "data_dir: data\nblock_size: lots\n")
    user.run("keymill serve")
    user.run("keymill config check")
    user.edit("keymill.yml",
              "keyspaces:\n  default: {kind: shuffled, alphabet: base62, length: 8}\n")
    user.run("keymill config check")
    user.run("keymill serve")
    user.run("keymill mint")
    user.run("rm keymill.yml")
    user.run("keymill serve --listen 0.0.0.0:8080")


def odds_and_ends(user):
    user.say("Plans, checks, completion")
    user.run("keymill plan --length 6 --rate 5/s")
    user.run("keymill plan --length six")
    user.run(f"printf '%s\\n' {' '.join(map(shlex.quote, (*user.keys[:3], user.keys[0])))} >keys")
    user.run("keymill verify keys")
    user.run("keymill verify kyes")
    user.run("keymill completion bash | head -3", keys=None)


def play(directory):
    """Plays the whole session; returns its text and the number of its steps."""
    with Session(directory) as user:
        user.lines = ["# The first ten minutes with Keymill. KEY0001 and so on stand for keys.", ""]
        user.prompt("export PORT=8080")
        for part in (look_around, first_server, beside_the_server, stop_and_go_on, settings,
                     odds_and_ends):
            part(user)
        return "\n".join(user.lines) + "\n", user.steps


def first_ten_minutes(checks, directory, update=False):
    """Plays the session and compares it with the one that is kept."""
    began = time.monotonic()
    played, steps = play(directory)
    if update:
        GOLDEN.write_text(played, encoding="utf-8")
    kept = GOLDEN.read_text(encoding="utf-8")
    difference = "\n".join(difflib.unified_diff(
        kept.splitlines(), played.splitlines(), GOLDEN.name, "this run", lineterm=""))
    checks.that(played == kept, f"{steps} steps answer as {GOLDEN.name} says" + (
        f"; if this is better, `./dev prove first-ten-minutes --update` keeps it:\n{difference}"
        if difference else ""))
    return f"{steps} steps in {time.monotonic() - began:.1f} s, every answer as in {GOLDEN.name}"
