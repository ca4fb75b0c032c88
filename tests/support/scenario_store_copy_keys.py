# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Keys that a store remembers one by one, while it moves: of a pool, aliases, and of content."""

from keymill_process import await_that

POOL_DIGITS = 3  # Of base36: so few keys that a fill draws many that were there before.
FILL = 2000
PER_HOP = 200
TAKEN = 409


class RememberedKeys:
    """Made before the first move, asked for and added to after each."""

    def __init__(self, checks, move):
        self.checks = checks
        self.move = move
        self.codes = set()
        self.twice = 0
        self.claims = {}  # alias: owner
        self.pages = {}  # content: key
        self.hops = 0

    def keymill(self, *words):
        done = self.move.keymill(*words, "--store", self.move.place.url)
        if done.returncode != 0:
            raise RuntimeError(f"keymill {words}: {done.stderr}")
        return done.stdout

    def begin(self):
        self.keymill("keyspace", "create", "codes", "--kind", "pool", "--alphabet", "base36",
                     "--length", POOL_DIGITS)
        self.keymill("keyspace", "create", "pages", "--kind", "derived", "--length", 7)
        self.add()

    def add(self):
        """New ones, from all instances."""
        self.keymill("pool", "fill", "codes", "-n", FILL)
        for number, server in enumerate(self.move.fleet.servers):
            await_that(lambda server=server: self.take(server), "there are keys of the pool")
            alias, owner = f"sale-{self.hops}-{number}", f"shop-{self.hops}"
            told = self.claim(server, alias, owner)
            self.checks.that(told == 201, f"{alias} is claimed: {told}")
            self.claims[alias] = owner
            for page in range(20):
                content = f"https://example.org/{self.hops}/{number}/{page}"
                self.pages[content] = self.derive(server, content)["key"]
        self.hops += 1

    def take(self, server):
        """Whether it had keys of the pool."""
        answer = server.ask("POST", f"/v1/keyspaces/codes/keys?count={PER_HOP}")
        if answer.status != 200:
            return False
        keys = answer.json["keys"]
        self.twice += len(keys) - len(set(keys) - self.codes)
        self.codes.update(keys)
        return True

    @staticmethod
    def claim(server, alias, owner):
        return server.ask("PUT", f"/v1/keyspaces/default/keys/{alias}", {"owner": owner}).status

    @staticmethod
    def derive(server, content):
        answer = server.ask("POST", "/v1/keyspaces/pages/derive", {"content": content})
        if answer.status != 200:
            raise RuntimeError(f"the key of {content}: {answer}")
        return answer.json

    def check(self, place):
        """All instances are on `place` now."""
        server = self.move.fleet.servers[0]
        own = [self.claim(server, alias, owner) for alias, owner in self.claims.items()]
        other = [self.claim(server, alias, "thief") for alias in self.claims]
        self.checks.that(set(own) == {200} and set(other) == {TAKEN},
                         f"{place.name}: {len(own)} aliases are their owners' only")
        told = {content: self.derive(server, content) for content in self.pages}
        lost = [content for content, each in told.items()
                if each["key"] != self.pages[content] or not each["existing"]]
        self.checks.that(not lost, f"{place.name}: {len(told)} contents have their keys, "
                         f"{len(lost)} have not")
        self.add()
        self.checks.that(self.twice == 0, f"{place.name}: {len(self.codes):,} keys of the pool, "
                         f"{self.twice} came twice")

    def figures(self):
        return (f", {len(self.codes):,} keys of a pool, {len(self.claims)} aliases, "
                f"{len(self.pages)} contents")
