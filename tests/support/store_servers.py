# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Real database servers for tests: each in a directory of its own, on a free loopback port.

start_server(name, directory) gives a running StoreServer. One module for each kind of server
(server_NAME.py) has a class that says how to make, start and reach it; what a test does with a
server, of whatever kind, is here.
"""

import importlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

from keymill_process import await_that, free_port


def start_server(name, directory, **options):
    """A running server of this kind, in `directory`. Use as a context manager."""
    module = importlib.import_module(f"server_{name}")
    server = module.SERVER(pathlib.Path(directory), **options)
    try:
        server.make()
        server.start()
    except BaseException:
        server.kill()
        raise
    return server


def server_user(name):
    """For servers that refuse to run as root: keyword arguments for Popen, if we are root.

    The directory must be given to that user by the caller (give_to).
    """
    if os.geteuid() != 0:
        return {}
    found = pwd.getpwnam(name)
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


def give_to(name, path):
    if os.geteuid() == 0:
        shutil.chown(path, name, name)


class StoreServer:
    """One server, or one cluster of them. Its data lies in `directory`/data."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "data"
        self.port = free_port()
        self.process = None

    # What a kind of server says.

    def make(self):
        """Makes the empty data directory, once."""
        raise NotImplementedError

    def command(self):
        """The command line that runs it in the foreground."""
        raise NotImplementedError

    def popen_options(self):
        return {}

    def answers(self):
        """Whether it answers queries now. Must not raise, and must not wait for long."""
        raise NotImplementedError

    def url(self, namespace):
        """Keymill's URL of a store of this name in it; `{}` stays as it is."""
        raise NotImplementedError

    stop_signal = signal.SIGTERM

    # What tests do.

    def start(self):
        """Starts it on the data that is there, and returns when it answers."""
        with open(self.directory / "server.log", "ab") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(
                [str(word) for word in self.command()], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True, **self.popen_options())
        await_that(lambda: self.process.poll() is not None or self.answers(),
                   "the server answers")
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.log()}")
        return self

    def stop(self):
        """A clean stop."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            self.process.wait(60)

    def kill(self):
        """kill -9 of all its processes."""
        self._signal_all(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
            await_that(lambda: not self._group(), "its children are gone", 30)

    def freeze(self):
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def copy_data(self, to):
        """A copy of the data of a server that is stopped."""
        shutil.copytree(self.data, to, symlinks=True, copy_function=_copy_with_owner)
        _own_like(self.data, to)

    def restore_data(self, copy):
        """Puts a copy back in place of what is there; the server is stopped."""
        shutil.rmtree(self.data)
        shutil.copytree(copy, self.data, symlinks=True, copy_function=_copy_with_owner)
        _own_like(copy, self.data)

    def log(self):
        path = self.directory / "server.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _group(self):
        """Processes of the session that this server began, and children with sessions of their own
        (PostgreSQL's)."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            except OSError:
                continue
            if self.process.pid in (int(fields[1]), int(fields[3])) and fields[0] != "Z":
                found.append(int(entry.name))
        return found

    def _signal_all(self, number):
        if self.process is None:
            return
        for pid in self._group():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def _copy_with_owner(source, target):
    shutil.copy2(source, target)
    seen = os.stat(source)
    if os.geteuid() == 0:
        os.chown(target, seen.st_uid, seen.st_gid)
    return target


def _own_like(source, target):
    """Directories get the owners that copytree does not copy."""
    if os.geteuid() != 0:
        return
    for folder, _, _ in os.walk(source):
        seen = os.stat(folder)
        twin = pathlib.Path(target) / pathlib.Path(folder).relative_to(source)
        os.chown(twin, seen.st_uid, seen.st_gid)


def await_seconds(condition, seconds):
    """How long it took until condition() held; None when it did not in time."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            return None
        time.sleep(0.01)
    return time.monotonic() - began
