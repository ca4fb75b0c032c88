# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Whether a process that was frozen waits for an answer of its store."""

import os
import pathlib
import struct

# Numbers of poll and ppoll.
POLL = {"x86_64": (7, 271), "aarch64": (73,)}[os.uname().machine]
POLLIN = 1


def store_thread(pid):
    """The thread that alone reserves blocks."""
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "keymill-refill":
            return task
    return None


def polled_descriptor(task):
    """The one that this thread polls for input; None when it does something else."""
    words = (task / "syscall").read_text().split()
    if words[0] == "running" or int(words[0]) not in POLL or int(words[2], 16) != 1:
        return None
    with open(task / "mem", "rb", buffering=0) as memory:
        memory.seek(int(words[1], 16))
        descriptor, events = struct.unpack("ih", memory.read(6))
    return descriptor if events & POLLIN else None


def remote_port(pid, descriptor):
    """Of a socket over IPv4; None of anything else."""
    try:
        name = os.readlink(f"/proc/{pid}/fd/{descriptor}")
    except FileNotFoundError:
        return None
    if not name.startswith("socket:["):
        return None
    inode = name[len("socket:["):-1]
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[9] == inode:
            return int(words[2].rpartition(":")[2], 16)
    return None


def awaits_store(pid, ports):
    """Whether the thread that reserves has asked a server at one of `ports` and has no answer.

    The process is frozen. With blocks so small that they never suffice that is a reservation:
    the look at the store every three seconds takes no longer than one of hundreds.
    """
    task = store_thread(pid)
    descriptor = None if task is None else polled_descriptor(task)
    return descriptor is not None and remote_port(pid, descriptor) in ports
