# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Servers that could lose an acknowledged block: refused, unless somebody says why not.

Each server is made unsafe in one way. `keymill doctor` finds it, `keymill serve` ends with 78 and
says the command that mends it; that very command is then run, and serve starts.
"""

import contextlib
import json
import subprocess
import time

from keymill_process import Server, await_that, free_port, run_keymill
from server_postgres import PostgresServer
from server_redis import RedisServer
from store_fleet import BUSY, make_folder, start_store, store_url

REFUSED = 78
REASON = "a test that loses nothing of value"
GALERA = "/usr/lib/galera/libgalera_smm.so"
SECONDS = 20  # For a server to follow its new settings.
LOOK_SECONDS = 90  # An instance looks at them every minute.


class Case:
    """One way of being unsafe: what doctor calls it, how it comes about, how it is mended."""

    def __init__(self, check, spoil, mend):
        self.check = check
        self.spoil = spoil
        self.mend = mend  # Gets the command that was told.


def doctor(directory, url):
    """(exit code, {check: finding})"""
    done = run_keymill("doctor", "-o", "json", cwd=directory, env={"KEYMILL_STORE": url})
    checks = json.loads(done.stdout)["checks"]
    return done.returncode, {found["check"].removeprefix("store "): found for found in checks}


def problems(findings):
    return {name for name, found in findings.items() if found["severity"] == "problem"}


def await_finding(directory, url, check):
    """What doctor says when it finds that, and that alone."""
    answers = []
    await_that(lambda: answers.append(doctor(directory, url)) or check in problems(answers[-1][1]),
               f"doctor finds {check}", SECONDS)
    return answers[-1]


def await_health(directory, url):
    answers = []
    await_that(lambda: answers.append(doctor(directory, url)) or answers[-1][0] == 0 or
               time.sleep(0.2), "doctor finds nothing wrong", SECONDS)
    return answers[-1]


def told(text, log):
    """Whether the log says that, as it is or inside of JSON."""
    return text in log or json.dumps(text, ensure_ascii=False)[1:-1] in log


def serve(directory, url, *flags):
    server = Server(directory, *flags, env={"KEYMILL_STORE": url})
    server.log_path.unlink(missing_ok=True)  # What an earlier one said proves nothing.
    return server


def check_refusal(checks, directory, url, case, finding):
    with contextlib.ExitStack() as stack:
        server = serve(directory, url).launch()
        stack.callback(server.kill)
        code = server.wait()
        checks.that(code == REFUSED and told(finding["fix"], server.log()),
                    f"{case.check}: serve ends with {code} and says: {finding['fix']}")


def check_empty_place(checks, directory, url, case, finding):
    """A store that is yet to be made is refused before anything is."""
    folder = make_folder(directory, f"empty-{case.check}")
    check_refusal(checks, folder, url, case, finding)
    _, findings = doctor(folder, url)
    checks.that("holds no store of Keymill yet" in findings["store"]["says"],
                f"{case.check}: and makes nothing: {findings['store']['says']}")


def check_override(checks, directory, url, case):
    with serve(directory, url, "--accept-unsafe-store", REASON) as server:
        key = server.await_key()  # After another start of the store's server, in some seconds.
        ready = server.ask("GET", "/readyz?verbose").text
        checks.that(key and f"store unsafe, accepted: {REASON}" in ready,
                    f"{case.check}: accepted, it serves, and /readyz?verbose says so")
        seen = [server.metric(f"keymill_store_unsafe{each}") for each in ("", "_accepted")]
        lines = [line for line in server.log().splitlines() if told(REASON, line)]
        checks.that(seen == [1, 1] and lines, f"keymill_store_unsafe and …_accepted are {seen}, "
                    f"{len(lines)} lines of the log give the reason")
        checks.that(server.stop() == 0, "it stops cleanly")


def check_mended(checks, directory, url, case):
    code, findings = await_health(directory, url)
    with serve(directory, url) as server:
        key = server.await_key()
        ready = server.ask("GET", "/readyz?verbose").text
        seen = [server.metric(f"keymill_store_unsafe{each}") for each in ("", "_accepted")]
        checks.that(code == 0 and case.check not in problems(findings) and key and
                    "unsafe" not in ready and seen == [0, 0] and server.stop() == 0,
                    f"{case.check}: mended by that command, serve starts")


def unsafe_server(checks, directory, server, cases):
    """One case after the other; each leaves the server as safe as it was."""
    url = store_url(server)
    host = make_folder(directory, "host")
    with serve(host, url) as first:  # Doctor examines what is there.
        first.stop()
    for case in cases:
        await_health(host, url)
        case.spoil()
        code, findings = await_finding(host, url, case.check)
        finding = findings[case.check]
        checks.that(code == 1 and bool(finding["fix"]),
                    f"doctor ends with {code}: {case.check}: {finding['says']}")
        check_refusal(checks, host, url, case, finding)
        check_empty_place(checks, directory, server.url("empty"), case, finding)
        check_override(checks, host, url, case)
        case.mend(finding["fix"])
        check_mended(checks, host, url, case)


def postgres_cases(stack, directory, server):
    def set_to(name, value):
        return lambda: server.script(f"ALTER SYSTEM SET {name} = {value}; SELECT pg_reload_conf();")

    def add_standby():
        standby = PostgresServer(make_folder(directory, "standby"), primary=server)
        stack.callback(standby.kill)
        standby.make()
        standby.start()

    return [Case("fsync", set_to("fsync", "off"), server.shell),
            Case("synchronous_commit", set_to("synchronous_commit", "off"), server.shell),
            Case("standbys", add_standby, server.shell)]


def redis_cases(stack, directory, server):
    def run(command):
        """In a shell, as it was told; what follows a semicolon is advice."""
        command = command.partition(";")[0]
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
        if "ERR" in done.stdout:
            raise RuntimeError(f"{command}: {done.stdout}")

    def set_to(name, value):
        return lambda: server.ask("CONFIG", "SET", name, value)

    def add_replica():
        replica = RedisServer(make_folder(directory, "replica"),
                              settings=["--replicaof", "127.0.0.1", server.port])
        stack.callback(replica.kill)
        replica.make()
        replica.start()

    return [Case("appendfsync", set_to("appendfsync", "everysec"), run),
            Case("appendonly", set_to("appendonly", "no"), run),
            Case("replicas", add_replica, run)]


def mariadb_cases(_stack, _directory, server):
    def run(command):
        # What it says of my.cnf is for the next start.
        server.query(command.partition("; and in my.cnf")[0])

    def set_to(name, value):
        return lambda: server.query(f"SET GLOBAL {name} = {value}")

    name = "innodb_flush_log_at_trx_commit"
    return [Case(name, set_to(name, 0), run), Case("sync_binlog", set_to("sync_binlog", 0), run)]


def galera_settings(directory):
    """Of a cluster with one member."""
    port = free_port()
    return ["wsrep_on=ON", f"wsrep_provider={GALERA}", "wsrep_cluster_address=gcomm://",
            "wsrep_cluster_name=keymill-test", "wsrep_node_address=127.0.0.1",
            f"wsrep_provider_options=base_host=127.0.0.1;base_port={port};gmcast.listen_addr="
            f"tcp://127.0.0.1:{port};gcache.size=8M;gcache.dir={directory}",
            "wsrep-new-cluster", "binlog_format=ROW", "innodb_autoinc_lock_mode=2"]


def galera_cases(_stack, _directory, server):
    def restart(settings):
        server.stop()
        server.settings = settings
        server.start()

    def run(command):
        # "… to turn it off: [mariadbd] NAME = VALUE", in the file that it starts with.
        name, value = command.rpartition("[mariadbd] ")[2].split(" = ")
        restart([f"{name}={value}"])

    def join_cluster():
        restart(galera_settings(server.directory))
        status = dict(server.query("SHOW GLOBAL STATUS LIKE 'wsrep_%'"))
        if status["wsrep_ready"] != "ON" or status["wsrep_cluster_size"] != "1":
            raise RuntimeError(f"this is no Galera cluster: {status}")

    return [Case("wsrep_on", join_cluster, run)]


# (kind of server, its options, its cases)
KINDS = {"postgres": ("postgres", {}, postgres_cases),
         "redis": ("redis", {}, redis_cases),
         "mariadb": ("mariadb", {"settings": ["log-bin", "sync_binlog=1"]}, mariadb_cases),
         "galera": ("mariadb", {}, galera_cases)}


def unsafe_store(checks, directory, *, kind):
    """Every way of a kind of server."""
    store, options, cases_of = KINDS[kind]
    with contextlib.ExitStack() as stack:
        server = start_store(stack, directory, store, **options)
        cases = cases_of(stack, directory, server)
        unsafe_server(checks, directory, server, cases)
    return f"{kind}: {', '.join(case.check for case in cases)}"


def unsafe_later(checks, directory):
    """A server that becomes unsafe under an instance that runs: it reserves no more, until the
    server is mended. All kinds at once, for each look takes a minute."""
    with contextlib.ExitStack() as stack:
        watched = []
        for kind in ("postgres", "redis", "mariadb"):
            store, options, cases_of = KINDS[kind]
            folder = make_folder(directory, kind)
            server = start_store(stack, folder, store, **options)
            host = make_folder(folder, "host")
            instance = stack.enter_context(Server(host, env={
                **BUSY, "KEYMILL_STORE": store_url(server)}))
            watched.append((kind, host, store_url(server), cases_of(stack, folder, server)[0],
                            instance))
        for _, _, _, case, _ in watched:
            case.spoil()
        for kind, host, url, case, instance in watched:
            await_that(lambda: instance.metric("keymill_store_unsafe") == 1, "it notices",
                       LOOK_SECONDS)
            status = dry_status(instance)
            checks.that(status == 503, f"{kind}: {case.check} changed under an instance that "
                        f"runs: {status} when it has given what it had")
            case.mend(await_finding(host, url, case.check)[1][case.check]["fix"])
        for kind, _, _, case, instance in watched:
            await_that(lambda: instance.metric("keymill_store_unsafe") == 0, "it notices",
                       LOOK_SECONDS)
            checks.that(instance.await_key() and instance.stop() == 0,
                        f"{kind}: mended, and it goes on")
    return f"noticed while running: {', '.join(case.check for _, _, _, case, _ in watched)}"


def dry_status(server):
    """What it answers when its reservoir is empty; 200 if it never is."""
    status = 200
    for _ in range(200):
        status = server.ask("POST", "/v1/keyspaces/default/keys?count=100").status
        if status != 200:
            break
    return status


def unsafe_stores(checks, directory, *, later):
    figures = [unsafe_store(checks, make_folder(directory, kind), kind=kind) for kind in KINDS]
    if later:
        figures.append(unsafe_later(checks, make_folder(directory, "later")))
    return "refused and mended: " + "; ".join(figures)
