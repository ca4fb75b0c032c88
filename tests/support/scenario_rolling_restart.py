# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Two instances behind nginx, restarted in turn with SIGTERM while clients mint through it."""

import contextlib
import os
import pathlib
import re
import subprocess
import time

from keymill_process import ROOT, Load, Server, ask, await_that, duplicates, free_port, ledger

EXAMPLE = ROOT / "examples/nginx.conf"
NGINX = pathlib.Path("/usr/sbin/nginx")
MINT = "/v1/keyspaces/default/keys"
RETRY = "proxy_next_upstream error timeout http_503 non_idempotent;"
AROUND = """\
worker_processes 1;
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi; uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
{example}
}}
"""


def nginx_config(directory, port, upstream_ports, retry):
    """The example as it is shipped, with the ports of this run."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for wanted, shown in ((upstream_ports[0], 8080), (upstream_ports[1], 8081)):
        text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{wanted}")
    text = re.sub(r"listen 80;", f"listen 127.0.0.1:{port};", text)
    if RETRY not in text:
        raise RuntimeError(f"{EXAMPLE} does not say {RETRY}")
    if not retry:
        text = text.replace(RETRY, "")
    return AROUND.format(dir=directory, example=text)


class Nginx:
    """nginx with a configuration and a directory of its own, ended by its id."""

    def __init__(self, directory, upstream_ports, *, retry, keepalive=None):
        self.directory = directory
        self.directory.mkdir()
        os.chmod(directory, 0o755)
        self.port = free_port()
        config = directory / "nginx.conf"
        text = nginx_config(directory, self.port, upstream_ports, retry)
        if keepalive is not None:
            text = re.sub(r"keepalive \d+;", f"keepalive {keepalive};", text)
        config.write_text(text, encoding="utf-8")
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([str(NGINX), "-c", str(config), "-p", str(directory), "-e",
                                         str(directory / "start.log")],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        await_that(self._answers, "nginx answers")
        return self

    def _answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"nginx ended with {self.process.returncode}:\n{self.log()}")
        try:
            return ask(self.port, "GET", "/livez").status == 200
        except OSError:
            return False

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    def log(self):
        return "".join(path.read_text(encoding="utf-8", errors="replace")
                       for path in self.directory.glob("*.log"))

    def said(self):
        """What went wrong, by its kind, with how often."""
        kinds = {}
        for line in self.log().splitlines():
            match = re.search(r"\*\d+ (.*?),? (?:while|client:)(.*?)(?:, client|$)", line)
            if match:
                what = re.sub(r"^upstream ", "", match.group(1)) + match.group(2)
                kinds[what] = kinds.get(what, 0) + 1
        return kinds


def settled(checks, directory, figures, *, exact):
    """No key came twice, and no number is missing; returns how many nobody got."""
    found = duplicates(*directory.glob("keys*"))
    checks.that(found["keys"] == figures["keys"] and found["duplicate_keys"] == 0,
                f"{found['keys']:,} keys, {found['duplicate_keys']} duplicates")
    rows = ledger(directory / "data/keymill.db", "default")
    spent = sum(count for _, count, state in rows if state == "spent")
    states = {state for _, _, state in rows}
    lost = spent - figures["keys"]
    checks.that(states <= {"spent", "returned"} and (lost == 0 if exact else lost >= 0),
                f"{spent:,} numbers were spent, {lost} of them on keys that nobody got; all "
                f"others went back")
    return lost


def behind_nginx(stack, directory, *, retry, keepalive=None):
    """Two instances on one database, and nginx in front of them."""
    servers = [Server(directory, port=free_port()) for _ in range(2)]
    for server in servers:
        stack.enter_context(server)
    ports = [server.port for server in servers]
    return servers, stack.enter_context(
        Nginx(directory / "nginx", ports, retry=retry, keepalive=keepalive))


def failed_count(figures):
    return sum(figures["failures"].values()) + figures["unknown"]


def report(checks, nginx):
    for complaint, count in sorted(nginx.said().items()):
        checks.note(f"nginx, {count} times: {complaint}")


def rolling_restart(checks, directory, *, restarts, rate=2000, connections=64, retry=False,
                    settle=0.3):
    """Under a steady load no request is lost, no key repeats, no number goes missing."""
    what = "with retries" if retry else "without retries"
    stops = []
    with contextlib.ExitStack() as stack:
        servers, nginx = behind_nginx(stack, directory, retry=retry)
        load = stack.enter_context(Load([nginx.port], directory / "keys", rate=rate,
                                        connections=connections, path=MINT, method="POST",
                                        duration=3600))
        time.sleep(settle)
        for server in servers * restarts:
            began = time.monotonic()
            stops.append((server.stop(), time.monotonic() - began))
            server.start()
            time.sleep(settle)
        under_load = load.process.poll() is None
        figures = load.end()
        stops += [(server.stop(), 0) for server in servers]
        report(checks, nginx)
    checks.that(under_load, f"{what}: {2 * restarts} restarts under {rate:,} requests/s")
    checks.that({code for code, _ in stops} == {0}, "every stop ended with 0, the slowest after "
                f"{max(seconds for _, seconds in stops):.1f} s")
    failed = failed_count(figures)
    checks.that(failed == 0 and figures["ok"] > 0,
                f"{figures['ok']:,} requests answered with 200, {failed} failed "
                f"{figures['failures'] or ''}; p99 {figures['p99_ms']:.1f} ms, slowest "
                f"{figures['max_ms']:.0f} ms")
    lost = settled(checks, directory, figures, exact=not retry)
    return (f"{what}: {2 * restarts} restarts, {figures['ok']:,} requests, {failed} failed, "
            f"0 duplicates, {lost} numbers lost, slowest {figures['max_ms']:.0f} ms")


def idle_pool(checks, directory, *, stops, pool=800, rate=600):
    """The hard case: nginx has a pool of idle connections when an instance stops, and asks on.

    Whoever closes an idle connection may cross a request on its way; nginx does not send a POST
    again. Nobody can rule that out, but it has to be so rare that it does not show here.
    """
    totals = {"keys": 0, "ok": 0, "failed": 0}
    open_at_stop = 0
    with contextlib.ExitStack() as stack:
        servers, nginx = behind_nginx(stack, directory, retry=False, keepalive=4 * pool)

        def add(load):
            figures = load.finish()
            totals["keys"] += figures["keys"]
            totals["ok"] += figures["ok"]
            totals["failed"] += failed_count(figures)

        for turn in range(stops):
            server = servers[turn % 2]
            with Load([nginx.port], directory / f"keys-{turn}-filling", connections=pool,
                      requests=10 * pool, path=MINT, method="POST") as load:
                add(load)
            with Load([nginx.port], directory / f"keys-{turn}", connections=64, rate=rate,
                      duration=1.6, path=MINT, method="POST") as load:
                time.sleep(0.05)
                checks.that(server.stop() == 0, f"stop {turn + 1} ended with 0")
                add(load)
            open_at_stop += int(re.findall(r"stopping \((\d+) conn", server.log())[-1])
            server.start()
        for server in servers:
            checks.that(server.stop() == 0, "and the last one")
        report(checks, nginx)
    checks.that(totals["failed"] == 0, f"{stops} stops with {open_at_stop / stops:.0f} "
                f"connections on average, most of them idle: {totals['ok']:,} requests answered "
                f"with 200, {totals['failed']} failed")
    lost = settled(checks, directory, totals, exact=totals["failed"] == 0)
    return (f"idle pool: {stops} stops with {open_at_stop / stops:.0f} connections, "
            f"{totals['ok']:,} requests, {totals['failed']} failed, {lost} numbers lost")
