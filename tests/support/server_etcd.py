# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""An etcd cluster for tests: one process and one directory for each member."""

import base64
import http.client
import json
import os
import signal
import ssl
import subprocess

from certificates import make_certificate
from keymill_process import await_that, free_port
from store_servers import StoreServer


class Member:
    """One etcd process."""

    def __init__(self, cluster, number):
        self.cluster = cluster
        self.name = f"m{number}"
        self.data = cluster.data / self.name
        self.port = free_port()
        self.peer_port = free_port()
        self.process = None

    def command(self):
        client = f"{'https' if self.cluster.tls else 'http'}://127.0.0.1:{self.port}"
        peer = f"http://127.0.0.1:{self.peer_port}"
        members = ",".join(f"{member.name}=http://127.0.0.1:{member.peer_port}"
                           for member in self.cluster.members)
        return ["etcd", "--name", self.name, "--data-dir", self.data,
                "--listen-client-urls", client, "--advertise-client-urls", client,
                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                "--initial-cluster", members, "--initial-cluster-token", "keymill-test",
                "--heartbeat-interval", "50", "--election-timeout", "500",
                *self.cluster.flags]

    def launch(self):
        # Settings of a service on this machine are none of ours.
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("ETCD")}
        with open(self.cluster.directory / "server.log", "ab") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(
                [str(word) for word in self.command()], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env=environment, start_new_session=True)

    def start(self):
        """Starts it again, and returns when it answers."""
        self.launch()
        await_that(lambda: self.process.poll() is not None or self.answers(), "the member answers")
        return self

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.running():
            self.process.send_signal(number)

    def stop(self):
        self.signal(signal.SIGTERM)
        self.wait()

    def kill(self):
        # One that is stopped dies of SIGKILL as well.
        self.signal(signal.SIGKILL)
        self.wait()

    def wait(self):
        if self.process is not None:
            self.process.wait(60)

    def connect(self, seconds):
        if not self.cluster.tls:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        # pylint: disable=protected-access
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=seconds,
                                           context=ssl._create_unverified_context())

    def ask(self, path, body=None, token=None, seconds=2):
        """The JSON gateway's answer; raises OSError when there is none, and when it is an error."""
        connection = self.connect(seconds)
        try:
            connection.request("POST", path, json.dumps(body or {}),
                               {"Authorization": token} if token else {})
            answer = connection.getresponse()
            text = answer.read()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"{path}: {answer.status} {text!r}")
        return json.loads(text)

    def answers(self):
        """Whether it reads through the leader now."""
        try:
            self.ask("/v3/kv/range", {"key": base64.b64encode(b"x").decode()}, seconds=1)
        except OSError as error:
            # With authentication on, being refused is an answer.
            return "user name is empty" in str(error)
        return True


def enable_auth(cluster, user, password, prefix):
    """Switches authentication on, with one user that may do anything below `prefix`."""
    def encoded(text):
        return base64.b64encode(text.encode()).decode()
    member = cluster.members[0]
    member.ask("/v3/auth/user/add", {"name": "root", "password": "rootpw"})
    member.ask("/v3/auth/role/add", {"name": "root"})
    member.ask("/v3/auth/user/grant", {"user": "root", "role": "root"})
    member.ask("/v3/auth/user/add", {"name": user, "password": password})
    member.ask("/v3/auth/role/add", {"name": user})
    # "0" follows "/".
    member.ask("/v3/auth/role/grant", {"name": user, "perm": {
        "permType": "READWRITE", "key": encoded(prefix + "/"), "range_end": encoded(prefix + "0")}})
    member.ask("/v3/auth/user/grant", {"user": user, "role": user})
    member.ask("/v3/auth/enable")


class EtcdCluster(StoreServer):
    """`members` of them, all with these additional flags; `tls` speaks it to clients."""

    def __init__(self, directory, members=3, flags=(), tls=False):
        super().__init__(directory)
        self.tls = tls
        self.flags = list(flags)
        if tls:
            self.flags += ["--cert-file", self.directory / "cert.pem",
                           "--key-file", self.directory / "key.pem"]
        self.members = [Member(self, number) for number in range(members)]

    def make(self):
        self.data.mkdir()
        if self.tls:
            make_certificate(self.directory / "cert.pem", self.directory / "key.pem")

    def command(self):
        raise NotImplementedError("each member has its own")

    def url(self, namespace, user=""):
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in self.members)
        return f"etcd://{user}{hosts}/{namespace}"

    def answers(self):
        return all(member.answers() for member in self.members)

    def start(self):
        for member in self.members:
            member.launch()
        await_that(lambda: self.ended() or self.answers(), "the cluster answers")
        if self.ended():
            raise RuntimeError(f"a member has ended:\n{self.log()[-5000:]}")
        return self

    def ended(self):
        return any(not member.running() for member in self.members)

    def stop(self):
        for member in self.members:
            member.signal(signal.SIGTERM)
        for member in self.members:
            member.wait()

    def kill(self):
        for member in self.members:
            member.kill()

    def freeze(self):
        for member in self.members:
            member.signal(signal.SIGSTOP)

    def thaw(self):
        for member in self.members:
            member.signal(signal.SIGCONT)

    def leader(self):
        """The member that leads now; waits for an election to end."""
        found = []
        await_that(lambda: found.extend(self._leaders()) or found, "there is a leader")
        return found[0]

    def _leaders(self):
        for member in self.members:
            try:
                status = member.ask("/v3/maintenance/status", seconds=1)
            except OSError:
                continue
            if status.get("leader") == status["header"]["member_id"]:
                yield member

    def kill_leader(self):
        """kill -9 of the leader, which is returned."""
        leader = self.leader()
        leader.kill()
        return leader


SERVER = EtcdCluster
