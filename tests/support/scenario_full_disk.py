# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A disk that fills up under a running server."""

import contextlib
import errno
import os
import pathlib
import subprocess
import time

from keymill_process import Server, keymill_bin, ledger, read_database, run_keymill

DISK_KIB = 2048
REQUEST_TIMEOUT = 0.3
REQUESTS_MAX = 2000
# What is left when the disk is "full": nothing, or too little for the one file or the other.
ROOM_LEFT_KIB = (0, 4, 8, 12)


def private_mounts():
    """What runs a command with mounts of its own: as root, as root in a chroot, as anybody."""
    commands = (["unshare", "--mount"], ["unshare", "--mount", "--propagation", "unchanged"],
                ["unshare", "--user", "--map-root-user", "--mount"])
    for command in commands:
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    raise RuntimeError("a small disk needs root, or namespaces for users: unshare(1) refuses")


class SmallDiskServer(Server):
    """A server whose data directory is a file system of its own. It vanishes with the server."""

    def __init__(self, directory, *flags):
        mount = f"mount -t tmpfs -o size={DISK_KIB}k tmpfs data && exec \"$@\""
        super().__init__(directory, *flags, *accept_memory(directory),
                         command=[*private_mounts(), "sh", "-c", mount, "sh", str(keymill_bin()),
                                  "serve"])
        (self.directory / "data").mkdir()

    @property
    def data(self):
        """The data directory as this server sees it."""
        return pathlib.Path(f"/proc/{self.pid}/root{(self.directory / 'data').resolve()}")

    @contextlib.contextmanager
    def kept_data(self):
        """A descriptor of the data directory, which lives on when the server has ended."""
        descriptor = os.open(self.data, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def fill(self, room_kib):
        """Leaves so little room, whatever there was."""
        self.free()
        with open(self.data / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1024))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            filler.truncate(max(0, filler.tell() - room_kib * 1024))

    def free(self):
        (self.data / "filler").unlink(missing_ok=True)


def accept_memory(directory):
    """A database in memory may have to be accepted: it does not outlive its host."""
    usage = run_keymill("serve", "--help", cwd=directory).stdout
    flag = "--accept-unsafe-store"
    return (flag, "a small disk for a test") if flag in usage else ()


def ask_until_refused(server):
    """Keys, the last answer, and the longest that one took."""
    keys, slowest = [], 0
    while True:
        began = time.monotonic()
        answer = server.ask("GET", "/get-key")
        slowest = max(slowest, time.monotonic() - began)
        if answer.status != 200 or len(keys) == REQUESTS_MAX:
            return keys, answer, slowest
        keys.append(answer.text)


def full_disk(checks, directory, *, rounds, slack=1.0):
    """The reservoir lasts, then 503; never a key twice; and service when there is room."""
    keys, worst = [], 0
    with SmallDiskServer(directory, "--block-size", 50, "--block-growth", "off",
                         "--runway-target", "1s", "--request-timeout",
                         f"{REQUEST_TIMEOUT:g}s") as server:
        keys += server.mint(count=10)
        for number in range(rounds):
            room = ROOM_LEFT_KIB[number % len(ROOM_LEFT_KIB)]
            server.fill(room)
            if room == 0:
                checks.that(os.statvfs(server.data).f_bavail == 0, "the disk is full")
            fresh, answer, slowest = ask_until_refused(server)
            keys += fresh
            livez = server.ask("GET", "/livez").status
            checks.that(answer.status == 503 and int(answer.headers.get("Retry-After", 0)) > 0 and
                        slowest <= REQUEST_TIMEOUT + slack and livez == 200,
                        f"{room} KiB left: {len(fresh)} keys, then {answer.status} with "
                        f"Retry-After {answer.headers.get('Retry-After')}, the slowest after "
                        f"{slowest:.2f} s; /livez says {livez}")
            server.free()
            began = time.monotonic()
            keys.append(server.await_key())
            back = time.monotonic() - began
            worst = max(worst, back)
            checks.that(back < 5, f"service is back {back:.2f} s after there is room")
            keys += server.mint(count=120)  # More than a block.
        repeated = len(keys) - len(set(keys))
        checks.that(repeated == 0, f"{len(keys):,} keys, {repeated} duplicates")
        with server.kept_data() as data:
            checks.that(server.stop() == 0, "and stops cleanly")
            with open("keymill.db", "rb", opener=lambda name, flags: os.open(
                    name, flags, dir_fd=data)) as database:
                (directory / "copy.db").write_bytes(database.read())
    sound = read_database(directory / "copy.db", "PRAGMA integrity_check")
    rows = ledger(directory / "copy.db", "default")
    checks.that(sound == [("ok",)] and rows, f"SQLite finds the database sound: {sound}, "
                f"{len(rows)} rows in the ledger")
    return (f"{rounds} times a full disk: {len(keys):,} keys, {repeated} duplicates, back after "
            f"{worst:.2f} s at most")
