# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Short links: made over the API, followed at their own listener, whatever happens in between."""

import contextlib
import random
import statistics
import subprocess
import threading
import time

from keymill_process import Server, ask, await_that
from store_fleet import make_folder, start_store, store_url

# A deletion is heeded elsewhere within this time, and hits are written down within it.
SOON_SECONDS = 10
NOWHERE = ("/", "/abcdefg", "/nobody-s", "/favicon.ico", "/a/b", "/%2e%2e", "/" + "x" * 300)


def location(server, key, method="GET"):
    """Where a key leads at this instance: the URL, or the status of another answer."""
    answer = ask(server.links_port, method, f"/{key}")
    return answer.headers["Location"] if answer.status == 302 else answer.status


def make(server, url, **more):
    return server.ask("POST", "/v1/links", {"url": url, **more})


def start_servers(stack, directory, store, instances):
    if store == "sqlite":
        url = f"sqlite:{directory}/keymill.db"
    else:
        url = store_url(start_store(stack, directory, store))
    return [stack.enter_context(Server(make_folder(directory, f"i{number}"), "--store", url,
                                       "--listen-links", "127.0.0.1:0"))
            for number in range(instances)]


def followed(checks, servers, count, label):
    """Links of one instance are followed at all of them."""
    made = {}
    for number in range(count):
        url = f"https://example.com/{number}?x=%20y"
        answer = make(servers[number % len(servers)], url)
        if answer.status == 201:
            made[answer.json["key"]] = url
    checks.that(len(made) == count, f"{label}: {len(made):,} links have keys of their own")
    right = sum(location(server, key) == url for key, url in made.items() for server in servers)
    checks.that(right == count * len(servers),
                f"{label}: {right:,} redirects at {len(servers)} instances lead where they should")
    found = sum(location(server, path[1:], method) == 404
                for path in NOWHERE for server in servers for method in ("GET", "HEAD"))
    checks.that(found == len(NOWHERE) * len(servers) * 2,
                f"{label}: {found} requests for unknown keys are answered with 404")
    return made


def ended(checks, servers, key, label):
    """A link that is deleted at one instance ends everywhere, and its hits were counted."""
    first, others = servers[0], servers[1:]
    before = first.ask("GET", f"/v1/links/{key}").json["hits"]

    def hits():
        return first.ask("GET", f"/v1/links/{key}").json["hits"]
    for server in servers:
        for _ in range(5):
            location(server, key)
        location(server, key, "HEAD")
    await_that(lambda: hits() >= before + 5 * len(servers), "hits are written down", SOON_SECONDS)
    # Those of before may have been on their way.
    checks.that(hits() <= before + 6 * len(servers), f"{label}: {hits()} hits are counted")
    deleted = first.ask("DELETE", f"/v1/links/{key}").status
    checks.that((deleted, location(first, key)) == (204, 404), f"{label}: a deleted link has ended")
    began = time.monotonic()
    await_that(lambda: all(location(server, key) == 404 for server in others),
               "other instances have heard of it", 2 * SOON_SECONDS)
    seconds = time.monotonic() - began
    checks.that(seconds <= SOON_SECONDS, f"{label}: at the others after {seconds:.1f} s")


def raced(checks, servers, claims, rounds, label):
    """Many who want one alias for their own URL at once."""
    one_winner = agreed = 0
    for number in range(rounds):
        answers = {}
        together = threading.Barrier(claims)

        def claim(who, alias=f"race-{number}", answers=answers, together=together):
            together.wait()
            url = f"https://example.com/{who}"
            while True:
                answer = make(servers[who % len(servers)], url, alias=alias)
                if answer.status != 503:
                    break
            answers[url] = answer.status
        threads = [threading.Thread(target=claim, args=(who,)) for who in range(claims)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [url for url, status in answers.items() if status == 201]
        lost = sum(status == 409 for status in answers.values())
        one_winner += len(winners) == 1 and lost == claims - 1
        agreed += {location(server, f"race-{number}") for server in servers} == set(winners)
    checks.that(one_winner == rounds, f"{label}: {claims} links with one alias over {len(servers)} "
                f"instances have one winner, {one_winner} times of {rounds}")
    checks.that(agreed == rounds,
                f"{label}: it leads to the winner's URL everywhere, {agreed} times")


def links(checks, directory, *, store, count, claims, rounds, instances=4):
    """What links promise, on one store."""
    with contextlib.ExitStack() as stack:
        servers = start_servers(stack, directory, store, instances)
        made = followed(checks, servers, count, store)
        ended(checks, servers, next(iter(made)), store)
        raced(checks, servers, claims, rounds, store)
        again = [make(server, "https://example.com/same", dedupe=True) for server in servers]
        checks.that(sorted(answer.status for answer in again) == [200] * (instances - 1) + [201] and
                    len({answer.json["key"] for answer in again}) == 1,
                    f"{store}: with dedupe, {instances} instances make one link")
        for server in servers:
            checks.that(server.stop() == 0, f"{store}: a clean stop")
    return f"{store}: {count * instances:,} redirects, {rounds} × one winner of {claims}"


def killed(checks, directory, *, store, kills, seconds=0.3, makers=4):
    """Links are made while their server is killed and started again: none that was acknowledged is
    lost, and none of them has the key of another."""
    made, twice = {}, []
    lock = threading.Lock()
    done = threading.Event()
    with contextlib.ExitStack() as stack:
        [server] = start_servers(stack, directory, store, 1)

        def keep_making(maker):
            number = 0
            while not done.is_set():
                number += 1
                url = f"https://example.com/{maker}/{number}"
                alias = {"alias": f"alias-{maker}-{number}"} if number % 3 == 0 else {}
                try:
                    answer = make(server, url, **alias)
                except OSError:
                    time.sleep(0.01)
                    continue
                if answer.status != 201:
                    continue
                with lock:
                    if answer.json["key"] in made:
                        twice.append(answer.json["key"])
                    made[answer.json["key"]] = url
        threads = [threading.Thread(target=keep_making, args=(maker,)) for maker in range(makers)]
        for thread in threads:
            thread.start()
        for _ in range(kills):
            time.sleep(random.uniform(0.3, 1.7) * seconds)
            server.kill()
            server.start()
        done.set()
        for thread in threads:
            thread.join()
        lost = [key for key, url in made.items() if location(server, key) != url]
        listed, cursor = set(), ""
        while True:
            page = server.ask("GET", f"/v1/links?limit=500&cursor={cursor}").json
            listed |= {link["key"] for link in page["links"]}
            cursor = page.get("cursor", "").replace(" ", "%20")
            if not cursor:
                break
        checks.that(server.stop() == 0, f"{store}: a clean stop")
    checks.that(len(made) >= kills, f"{store}: {len(made):,} links over {kills} kills")
    checks.that(not lost, f"{store}: {len(lost)} of them are lost")
    checks.that(not twice, f"{store}: {len(twice)} keys came twice")
    checks.that(set(made) <= listed, f"{store}: all of them are on the list")
    return f"{store}: {len(made):,} links over {kills} kills, {len(lost)} lost"


def cpu_per_request(server, port, path, connections, seconds, cpu_of):
    """Microseconds of the server's CPU time for one request."""
    with cpu_of(server.pid) as cpu:
        done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s",
                               f"http://127.0.0.1:{port}{path}"],
                              stdout=subprocess.PIPE, text=True, check=True)
    requests = next(int(line.split()[0]) for line in done.stdout.splitlines()
                    if "requests in" in line)
    return cpu.seconds / requests * 1e6


def redirect_cost(checks, directory, *, rounds, seconds, bar, cpu_of, connections=64):
    """A redirect from memory beside GET /get-key, by the same client in turns."""
    with Server(directory, "--threads", "1", "--listen-links", "127.0.0.1:0") as server:
        key = make(server, "https://example.com/shop/items/7?ref=mail").json["key"]
        location(server, key)
        ratios = []
        for _ in range(rounds):
            theirs = cpu_per_request(server, server.port, "/get-key", connections, seconds, cpu_of)
            ours = cpu_per_request(server, server.links_port, f"/{key}", connections, seconds,
                                   cpu_of)
            ratios.append(ours / theirs)
        checks.that(server.stop() == 0, "a clean stop")
    median = statistics.median(ratios)
    checks.that(median <= bar, f"a redirect takes {median:.2f} of the CPU time of /get-key "
                f"({min(ratios):.2f} to {max(ratios):.2f}), at most {bar}")
    return f"{median:.2f} of the CPU of /get-key"
