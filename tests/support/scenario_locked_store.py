# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A database that another program locks: for a while, and for good."""

import concurrent.futures
import time

from keymill_process import DatabaseLock, Load, Server, duplicates

REQUEST_TIMEOUT = 1.0


def locked_for_a_while(checks, directory, *, rate, seconds, connections=100):
    """The runway outlasts the lock: nobody notices."""
    keys = directory / "keys"
    with Server(directory) as server:
        # Warm-up ends when the reservoir would last: that is what the runway is for.
        with Load([server.port], keys, connections=connections, rate=rate,
                  duration=seconds + 120) as load:
            began = time.monotonic()
            while server.held() < 1.5 * rate * seconds:
                if time.monotonic() - began > 90 or load.process.poll() is not None:
                    break
                time.sleep(0.2)
            runway = server.held() / rate
            checks.that(runway > seconds, f"warm after {time.monotonic() - began:.1f} s: the "
                        f"reservoir lasts {runway:.0f} s at {rate:,} keys/s")
        # The load of the record begins here, warm.
        with Load([server.port], keys, connections=connections, rate=rate,
                  duration=seconds + 2) as load:
            time.sleep(1)
            with DatabaseLock(directory / "data/keymill.db"):
                time.sleep(seconds)
            figures = load.finish()
        server.stop()
    failures = sum(figures["failures"].values()) + figures["unknown"]
    reached = figures["ok"] / figures["seconds"]
    checks.that(failures == 0, f"locked for {seconds} s at {reached:,.0f} keys/s: "
                f"{figures['ok']:,} answers, {failures} failures {figures['failures'] or ''}, "
                f"slowest {figures['max_ms']:.0f} ms")
    checks.that(reached > 0.9 * rate, f"the load was {reached:,.0f} of {rate:,} keys/s")
    found = duplicates(keys)
    checks.that(found["duplicate_keys"] == 0, f"{found['duplicate_keys']} duplicates")
    return f"locked {seconds} s at {reached:,.0f} keys/s: {failures} failures"


def timed(server, path, timeout=30):
    began = time.monotonic()
    answer = server.ask("GET", path, timeout=timeout)
    return answer, time.monotonic() - began


def locked_for_good(checks, directory, *, slack=0.5, clients=50):
    """The reservoir runs dry: 503 in time, never a hang, and it recovers."""
    server = Server(directory, "--block-size", 50, "--block-growth", "off", "--runway-target",
                    "1s", "--request-timeout", f"{REQUEST_TIMEOUT:g}s")
    with server, DatabaseLock(directory / "data/keymill.db") as lock:
        served = 0
        answer, seconds = timed(server, "/get-key")
        while answer.status == 200 and served < 20_000:
            served += 1
            answer, seconds = timed(server, "/get-key")
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            together = list(pool.map(lambda _: timed(server, "/get-key"), range(clients)))
        together.append((answer, seconds))
        refused = [each for each, _ in together if each.status == 503 and
                   int(each.headers.get("Retry-After", 0)) > 0]
        slowest = max(seconds for _, seconds in together)
        checks.that(len(refused) == len(together), f"dry after {served} keys: {len(refused)} of "
                    f"{len(together)} requests get 503 with Retry-After")
        checks.that(slowest <= REQUEST_TIMEOUT + slack, f"the slowest after {slowest:.2f} s, with "
                    f"a request_timeout of {REQUEST_TIMEOUT:g} s")
        alive, seconds = timed(server, "/livez")
        checks.that(alive.status == 200,
                    f"/livez says {alive.status} after {seconds * 1000:.0f} ms")
        lock.release()
        began = time.monotonic()
        while server.ask("GET", "/get-key").status != 200 and time.monotonic() < began + 30:
            pass
        back = time.monotonic() - began
        checks.that(back <= 0.5 + slack, f"service is back {back:.2f} s after the lock is gone")
        server.stop()
    return f"locked for good: 503 within {slowest:.2f} s, back after {back:.2f} s"


def start_while_locked(checks, directory):
    """A server that starts before it can reach its store says so, and recovers."""
    with Server(directory) as server:
        before = server.mint(count=100)
        server.stop()
    with DatabaseLock(directory / "data/keymill.db") as lock:
        port_flag = ("--listen", f"127.0.0.1:{server.port}")
        late = Server(directory, *port_flag).launch()
        with late:
            late.port = server.port
            await_listening(late)
            answer = late.ask("GET", "/get-key")
            checks.that(answer.status == 503 and "Retry-After" in answer.headers,
                        f"started beside a locked database it answers {answer.status}")
            checks.that(late.ask("GET", "/readyz").status == 503, "/readyz says 503")
            checks.that(late.ask("GET", "/livez").status == 200, "/livez says 200")
            lock.release()
            late.await_ready()
            keys = late.mint(count=100)
            checks.that(not set(keys) & set(before), "and serves fresh keys when the lock is gone")
            checks.that(late.stop() == 0, "and stops cleanly")


def await_listening(server, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            return server.ask("GET", "/livez")
        except OSError:
            if time.monotonic() > end or not server.running():
                raise
            time.sleep(0.02)
