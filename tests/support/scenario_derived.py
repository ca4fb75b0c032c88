# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Keys from content, in a keyspace that is nearly full: instances that derive at once agree."""

import contextlib
import subprocess

from keymill_process import clean_environment, keymill_bin, run_keymill
from store_fleet import built_stores, make_folder, start_store, store_url

STORES = ("sqlite", "postgres", "mariadb", "redis")
RECIPE = ("--kind", "derived", "--alphabet", "base36", "--length", "2")
CAPACITY = 36 ** 2
INSTANCES = 4
SECONDS = 1200


def carried_stores():
    return [store for store in STORES if store in built_stores()]


class Host:
    """One host's view of the store: where the witness of its instances lies."""

    def __init__(self, directory, url):
        self.directory = directory
        self.env = {"KEYMILL_STORE": url, "KEYMILL_KEYSPACES": "{}", "KEYMILL_DATA_DIR": "data"}

    def keymill(self, *arguments):
        done = run_keymill(*arguments, cwd=self.directory, env=self.env)
        if done.returncode != 0:
            raise RuntimeError(f"keymill {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def begin(self, contents):
        """A process that derives them, one after the other."""
        # pylint: disable=consider-using-with
        process = subprocess.Popen([str(keymill_bin()), "derive", "pages", "-"],
                                   cwd=self.directory, env=clean_environment(self.env),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        # Small enough for the pipe: nobody waits for anybody.
        process.stdin.write("".join(f"{content}\n" for content in contents))
        process.stdin.close()
        process.stdin = None
        return process


def derive_at_once(hosts, orders):
    """Each host derives its contents while the others do; content -> the keys that it got."""
    running = [(order, host.begin(order)) for host, order in zip(hosts, orders)]
    keys, failures = {}, []
    for order, process in running:
        out, said = process.communicate(timeout=SECONDS)
        lines = out.splitlines()
        if process.returncode != 0 or len(lines) != len(order):
            failures.append(f"exit {process.returncode}, {len(lines)} of {len(order)} keys: "
                            f"{said.strip()}")
        for content, key in zip(order, lines):
            keys.setdefault(content, set()).add(key)
    return keys, failures


def place(store, directory, stack):
    """The URL of each instance's store, and the directory of each instance."""
    if store == "sqlite":  # On one host: a file, and one directory for all.
        return [("sqlite:keymill.db", make_folder(directory, "host"))] * INSTANCES
    url = store_url(start_store(stack, directory, store))
    return [(url, make_folder(directory, f"host{number}")) for number in range(INSTANCES)]


def one_store(checks, directory, *, store, contents):
    with contextlib.ExitStack() as stack:
        hosts = [Host(folder, url) for url, folder in place(store, directory, stack)]
        hosts[0].keymill("keyspace", "create", "pages", *RECIPE)
        names = [f"https://example.com/{number}" for number in range(contents)]
        # All of them want every content, each beginning elsewhere.
        orders = [names[start:] + names[:start]
                  for start in (number * contents // INSTANCES for number in range(INSTANCES))]
        first, failures = derive_at_once(hosts, orders)
        checks.that(not failures, f"{store}: {INSTANCES} instances derived {contents} contents "
                    f"each at once {failures or ''}")
        agreed = [keys for keys in first.values() if len(keys) == 1]
        checks.that(len(agreed) == contents, f"{store}: {len(agreed)} of {contents} contents have "
                    "the same key on every instance")
        distinct = {key for keys in first.values() for key in keys}
        checks.that(len(distinct) == contents and all(len(key) == 2 for key in distinct),
                    f"{store}: {len(distinct)} distinct keys of {CAPACITY} that there are")
        # Other processes, in another order.
        second, failures = derive_at_once(hosts[:1], [list(reversed(names))])
        checks.that(not failures and second == first,
                    f"{store}: a second pass in another process gave the same keys "
                    f"{failures or ''}")
        hosts[0].keymill("keyspace", "create", "pairs", "--kind", "derived")
        keys = {hosts[0].keymill("derive", "pairs", content, "--salt", salt)
                for content, salt in (("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"))}
        checks.that(len(keys) == 4, f"{store}: (ab,c), (a,bc), (abc,) and (,abc) have {len(keys)} "
                    "keys")
    return f"{store} {len(distinct)}"


def derived(checks, directory, *, contents, stores=None):
    figures = [one_store(checks, make_folder(directory, store), store=store, contents=contents)
               for store in stores or carried_stores()]
    return (f"{contents} contents from {INSTANCES} instances at once, distinct keys and the same "
            f"ones again: {', '.join(figures)}")
