# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Starts the real program, speaks to it from outside, and ends it by its process id.

The program is $MILL_BIN, the load client $MILL_LOAD_CLIENT; without the latter it is
built beside the program.
"""

import contextlib
import fcntl
import functools
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import sqlite3
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 60
STOP_SECONDS = 60
SANITIZER_REPORT = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error: ")


def keymill_bin():
    return pathlib.Path(os.environ.get("MILL_BIN", ROOT / "build/release/keymill"))


@functools.lru_cache
def build_target(name):
    """Builds a target beside the program under test, and returns the build directory."""
    build = keymill_bin().resolve().parent
    # ./dev locks all that is in build/ with one file.
    locked = build.parent if build.parent == ROOT / "build" else build
    with open(locked / ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["cmake", "--build", str(build), "--target", name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"building {name} failed:\n{done.stdout.decode(errors='replace')}")
    return build


def build_program(name):
    """Builds a program of tests/ or bench/ beside the one under test, and returns its path."""
    build = build_target(name)
    for folder in ("tests/proofs", "tests/support", "bench"):
        program = build / folder / name
        if program.exists():
            return program
    raise RuntimeError(f"{name} was built, but lies neither in {build}/tests nor in bench")


def load_client():
    path = os.environ.get("MILL_LOAD_CLIENT")
    return pathlib.Path(path) if path else build_program("load_client")


def test_scale():
    """1 for a release build; less where a sanitizer makes everything slower."""
    return float(os.environ.get("MILL_TEST_SCALE", "1"))


def scaled(count, least=1):
    return max(least, int(count * test_scale()))


def clean_environment(extra=None):
    """The environment without anything that the program would read as a setting."""
    legacy = ("PORT", "RANGE_SIZE", "DEBUG_ENABLED", "CONFIG_PATH")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("KEYMILL_") and name not in legacy}
    environment.update(extra or {})
    return environment


def await_that(condition, what, seconds=START_SECONDS):
    """Comes back as soon as condition() holds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds} s in vain until {what}")
        time.sleep(0.01)


_claims = []  # Keeps the names of our ports taken until this process ends.


def claim_port(port):
    """Whether no test on this machine has been given `port`. The name of a socket says so: it
    belongs to one process of a network, as the port does, and goes with that process."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0keymill-test-port-{port}")
    except OSError:
        claim.close()
        return False
    _claims.append(claim)
    return True


def free_port():
    """A port that nobody has, that no other test is given, and that the system gives to nobody
    who only connects: those are higher, and one of them may be taken again before a server is
    there to take it."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if claim_port(port):
                return port


def run_keymill(*arguments, cwd, env=None, stdin=None, timeout=120, stdout=subprocess.PIPE):
    """Runs a verb to its end; .returncode, .stdout and .stderr are what it left (as text)."""
    done = subprocess.run([str(keymill_bin()), *map(str, arguments)], cwd=cwd, input=stdin,
                          env=clean_environment(env), stdout=stdout, stderr=subprocess.PIPE,
                          text=True, timeout=timeout, check=False)
    refuse_reports(done.stderr)
    return done


def built_stores():
    """The stores that this program was built with, by the schemes of their URLs."""
    return json.loads(run_keymill("version", "-o", "json", cwd="/").stdout)["stores"]


def refuse_reports(log):
    """A sanitizer's report is a failure, whatever the test was about."""
    if SANITIZER_REPORT.search(log):
        raise AssertionError(f"a sanitizer has something to say:\n{log}")


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


def ask(port, method, path, body=None, headers=None, timeout=30):
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        return ask_on(connection, method, path, body, headers)
    finally:
        connection.close()


def ask_on(connection, method, path, body=None, headers=None):
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
        headers = {"Content-Type": "application/json", **(headers or {})}
    connection.request(method, path, body=body, headers=headers or {})
    answer = connection.getresponse()
    return Answer(answer.status, answer.headers, answer.read())


class RawConnection:
    """Bytes on a socket, for what no client library would send."""

    def __init__(self, port, timeout=30):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _more(self):
        try:
            piece = self.socket.recv(65536)
        except ConnectionResetError:
            piece = b""
        self.buffer += piece
        return bool(piece)

    def read_answer(self):
        """The next answer with a Content-Length; None when the connection ends first."""
        while b"\r\n\r\n" not in self.buffer:
            if not self._more():
                return None
        head, rest = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().title()] = value.strip()
        status = int(lines[0].split(" ")[1])
        length = 0 if status == 100 else int(headers.get("Content-Length", 0))
        self.buffer = rest
        while len(self.buffer) < length:
            if not self._more():
                return None
        body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Answer(status, headers, body)

    def closed(self):
        """Whether the other side ends the connection, without further bytes, in time."""
        if self.buffer:
            return False
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


class Server:
    """`keymill serve` in `directory`. Use as a context manager: nothing is left running."""

    def __init__(self, directory, *flags, env=None, command=None, port=None, config=None,
                 listen="127.0.0.1:0", resp=""):
        """`port` is told as $PORT. `listen` is a flag, unless it is None or there is a port.

        `resp` is where RESP is spoken: nowhere, so that servers do not meet; None: as configured.
        """
        self.directory = pathlib.Path(directory)
        self.flags = [str(flag) for flag in flags]
        self.env = dict(env or {})
        self.command = command or [str(keymill_bin()), "serve"]
        self.port = port
        self.resp_port = None
        self.links_port = None
        self.ports = {}  # All of them, by front end, once it is ready.
        if resp is not None:
            self.env.setdefault("KEYMILL_LISTEN_RESP", resp)
        if port is not None:
            self.env["PORT"] = str(port)
        elif listen is not None and not any(flag.split("=")[0] in ("--listen", "--listen-http")
                                            for flag in self.flags):
            self.flags += ["--listen", listen]
        self.process = None
        self.log_path = self.directory / f"serve-{id(self):x}.log"
        self.ports_path = self.directory / f"ports-{id(self):x}.json"
        if config is not None:
            (self.directory / "keymill.yml").write_text(config, encoding="utf-8")

    def launch(self):
        """Starts the process without waiting for it to be ready."""
        self.ports_path.unlink(missing_ok=True)
        arguments = [*self.command, "--print-ports", str(self.ports_path), *self.flags]
        with open(self.log_path, "ab") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(arguments, cwd=self.directory, stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL,
                                            env=clean_environment(self.env))
        return self

    def await_ready(self, seconds=START_SECONDS):
        end = time.monotonic() + seconds
        while not self.ports_path.exists():
            if self.process.poll() is not None:
                code = self.process.returncode
                raise RuntimeError(f"the server ended with {code}:\n{self.log()}")
            if time.monotonic() > end:
                raise RuntimeError(f"the server is not ready after {seconds} s:\n{self.log()}")
            time.sleep(0.005)
        ports = json.loads(self.ports_path.read_text(encoding="utf-8"))
        self.port = ports.get("http")
        self.resp_port = ports.get("resp")
        self.links_port = ports.get("links")
        self.ports = ports
        return self

    def start(self):
        return self.launch().await_ready()

    def __enter__(self):
        if self.process is None:
            self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def pid(self):
        return self.process.pid

    def running(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def terminate(self):
        self.signal(signal.SIGTERM)

    def wait(self, seconds=STOP_SECONDS):
        return self.process.wait(timeout=seconds)

    def stop(self):
        """A clean stop; returns the exit code."""
        self.terminate()
        return self.wait()

    def kill(self):
        """kill -9, if it runs."""
        if self.running():
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()
        refuse_reports(self.log())

    def ask(self, method, path, body=None, headers=None, timeout=30):
        return ask(self.port, method, path, body, headers, timeout)

    def mint(self, keyspace="default", count=1):
        """`count` keys in one answer."""
        answer = self.ask("POST", f"/v1/keyspaces/{keyspace}/keys?count={count}")
        if answer.status != 200:
            raise RuntimeError(f"minting {count} of {keyspace}: {answer}\n{self.log()}")
        return answer.json["keys"]

    def await_key(self):
        """The next key, when there is one again."""
        answers = []
        await_that(lambda: answers.append(self.ask("GET", "/get-key")) or
                   answers[-1].status == 200, "there are keys again")
        return answers[-1].text

    def metric(self, name, **labels):
        """The sum of the samples of this name that have these labels; 0 if there is none."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        total = 0.0
        for line in self.ask("GET", "/metrics").text.splitlines():
            found = re.match(r"([a-zA-Z_:]+)(\{.*\})? (\S+)$", line)
            if found and found[1] == name and all(each in (found[2] or "") for each in wanted):
                total += float(found[3])
        return total

    def unknown_outcomes(self):
        """Reservations of which it has said that their outcome is unknown."""
        return int(self.metric("keymill_store_operation_duration_seconds_count",
                               operation="reserve", outcome="unknown"))

    def held(self, keyspace="default"):
        """Numbers in this instance's reservoir. Asks again while the store is busy."""
        end = time.monotonic() + START_SECONDS
        while True:
            answer = self.ask("GET", f"/v1/keyspaces/{keyspace}")
            if answer.status == 200:
                return int(answer.json["instance"]["held"])
            if answer.status != 503 or time.monotonic() > end:
                raise RuntimeError(f"looking at {keyspace}: {answer}\n{self.log()}")
            time.sleep(0.1)


class Load:
    """The load client, running beside the test."""

    def __init__(self, ports, keys_out, *, connections=64, requests=None, duration=None,
                 rate=None, path="/get-key", method="GET", reconnect=False, threads=1):
        urls = ",".join(f"127.0.0.1:{port}" for port in ports)
        arguments = [str(load_client()), "--urls", urls, "--connections", str(connections),
                     "--path", path, "--method", method, "--keys-out", str(keys_out),
                     "--threads", str(threads)]
        for flag, value in (("--requests", requests), ("--duration", duration),
                            ("--rate", rate)):
            if value is not None:
                arguments += [flag, str(value)]
        if reconnect:
            arguments.append("--reconnect")
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self):
        """Ends it before its time is over, and returns its figures."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.finish()

    def finish(self, seconds=3600):
        """Waits for its end and returns its figures."""
        output, complaints = self.process.communicate(timeout=seconds)
        if self.process.returncode != 0:
            raise RuntimeError(f"load_client ended with {self.process.returncode}: {complaints}")
        return json.loads(output)


def duplicates(*files):
    """What `keymill verify` says about files of keys, as a dictionary."""
    done = run_keymill("verify", "-o", "json", *files, cwd="/", timeout=3600)
    if done.returncode not in (0, 1) or not done.stdout:
        raise RuntimeError(f"keymill verify ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def read_database(path, query, *values):
    """Rows of the store, read with SQLite itself rather than through the program."""
    connection = sqlite3.connect(path, timeout=30)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


def ledger(path, keyspace):
    """The rows (first, count, state) of a keyspace, in order."""
    return read_database(
        path, "SELECT l.first_number, number_count, l.state FROM keymill_ledger l JOIN "
        "keymill_keyspaces k ON k.id = l.keyspace_id WHERE k.name = ? ORDER BY l.first_number",
        keyspace)


class DatabaseLock:
    """Another program that keeps the database to itself for a while."""

    def __init__(self, path):
        self.path = path
        self.connection = None

    def __enter__(self):
        self.connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self.connection.execute("BEGIN EXCLUSIVE")
        return self

    def __exit__(self, *_):
        self.release()

    def release(self):
        if self.connection is not None:
            self.connection.execute("ROLLBACK")
            self.connection.close()
            self.connection = None
