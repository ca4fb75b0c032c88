# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""Taking over from other services: what they have given out, nobody gets again.

Each source is the real database of that service's schema, filled by the statements with which it
takes numbers; what it has given out is kept beside it.
"""

import contextlib
import random
import sqlite3
import string

from keymill_process import built_stores, run_keymill
from store_servers import start_server

BASE36 = string.digits + string.ascii_lowercase
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
LEAF = ("CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '', max_id bigint(20) NOT "
        "NULL DEFAULT '1', step int(11) NOT NULL, description varchar(256), update_time timestamp "
        "NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (biz_tag));")
TINYID = ("CREATE TABLE tiny_id_info (id bigint(20) unsigned NOT NULL AUTO_INCREMENT, biz_type "
          "varchar(63) NOT NULL, begin_id bigint(20) NOT NULL, max_id bigint(20) NOT NULL, step "
          "int(11) DEFAULT '0', delta int(11) NOT NULL DEFAULT '1', remainder int(11) NOT NULL "
          "DEFAULT '0', version bigint(20) NOT NULL DEFAULT '0', PRIMARY KEY (id));")


def forge_key(counter):
    """As the older Go service makes it, written independently of the program."""
    mask = 2 ** 64 - 1
    counter = ((counter ^ (counter >> 30)) * 0xbf58476d1ce4e5b9) & mask
    counter = ((counter ^ (counter >> 27)) * 0x94d049bb133111eb) & mask
    counter = (counter ^ (counter >> 31)) % 62 ** 7
    digits = []
    for _ in range(7):
        counter, digit = divmod(counter, 62)
        digits.append(BASE62[digit])
    return "".join(reversed(digits))


class Target:
    """A store, and what is imported into it."""

    def __init__(self, checks, directory, count, name=""):
        self.checks, self.directory, self.count = checks, directory, count
        self.name = f"{name}: " if name else ""
        self.store, self.data_dir = "sqlite:target.db", "data"
        self.keys = 0

    def run(self, *words, stdin=None):
        done = run_keymill(*words, "--store", self.store, "--data-dir", self.data_dir,
                           cwd=self.directory, stdin=stdin, env={"KEYMILL_KEYSPACES": "{}"},
                           timeout=900)
        if done.returncode != 0:
            raise RuntimeError(f"keymill {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def refuses(self, source, said, *words):
        """Without making anything."""
        done = run_keymill("import", *words, "refused", "--store", self.store, "--data-dir",
                           self.data_dir, cwd=self.directory, env={"KEYMILL_KEYSPACES": "{}"})
        self.checks.that(done.returncode == 2 and said in done.stderr,
                         f"{source} is refused: {done.stderr.strip()}")

    def take_over(self, source, keyspace, issued, *words, stdin=None, fill=0):
        """Imports, again as after a crash, and mints; a pool is filled with `fill` keys for that,
        and emptied."""
        source, count = self.name + source, fill or self.count
        dry = self.run("import", *words, "--dry-run", stdin=stdin)
        told = [self.run("import", *words, stdin=stdin) for _ in range(2)]
        if fill:
            self.run("pool", "fill", keyspace, "-n", fill)
        minted = self.run("mint", keyspace, "-n", count).split()
        again = len(issued.intersection(minted))
        self.keys += len(minted)
        self.checks.that(dry and all(told), f"{source}: {told[0].strip()}")
        self.checks.that(len(issued) > 0 and len(set(minted)) == count and again == 0,
                         f"{source}: of {len(minted):,} keys {again} are among the {len(issued):,} "
                         f"that it had given out; {len(set(minted)):,} differ")


def from_forge(target, counters):
    path = target.directory / "test.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE range_counters (id INTEGER PRIMARY KEY, last_used INTEGER "
                         "NOT NULL)")
        database.execute("INSERT INTO range_counters VALUES (1, 0)")
        for _ in range(10):
            database.execute("UPDATE range_counters SET last_used = last_used + ?",
                             (counters // 10,))
        database.commit()
    issued = {forge_key(counter) for counter in range(counters // 10 * 10)}
    target.take_over("forge", "default", issued, "forge", path)
    sample = random.sample(sorted(issued), 20)
    told = [run_keymill("explain", key, "--keyspace", "default", "--store", "sqlite:target.db",
                        cwd=target.directory, env={"KEYMILL_KEYSPACES": "{}"}) for key in sample]
    target.checks.that(all("was in use before" in each.stderr for each in told),
                       f"forge: explain knows {len(sample)} keys of it")


def from_codes(target, codes):
    """So many of all that there are that keys which do not heed them would meet thousands."""
    rng = random.Random(7)
    issued = {"".join(rng.choices(BASE62, k=4)) for _ in range(codes)}
    path = target.directory / "codes.txt"
    path.write_text("".join(f"{code}\r\n" for code in issued) + "promo-code\n", encoding="ascii")
    target.take_over("codes", "short", issued, "codes", path, "short", "--length", 4)
    into_pool(target)


def into_pool(target):
    """A fifth of all that the pool's format has, so that every fifth key that is drawn is one."""
    count = min(target.count, 50_000)
    length = next(each for each in range(3, 9) if 36 ** each >= 10 * count)
    issued = {number_text(number, length)
              for number in random.Random(11).sample(range(36 ** length), 36 ** length // 5)}
    target.take_over("codes into a pool", "pool", issued, "codes", "-", "pool", "--kind", "pool",
                     "--alphabet", "base36", "--length", length,
                     stdin="".join(f"{code}\n" for code in sorted(issued)),
                     fill=count)


def number_text(number, length):
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 36)
        digits.append(BASE36[digit])
    return "".join(reversed(digits))


def on_server(target, kind, server, codes):
    """Lists of what is taken, in other stores than a file."""
    there = Target(target.checks, target.directory, max(1000, target.count // 10), name=kind)
    there.store, there.data_dir = server.url("target"), f"data-{kind}"
    from_codes(there, codes)
    target.keys += there.keys


def from_mariadb(target, server, ids):
    url = server.url("source")
    server.query("CREATE DATABASE source")

    def query(sql):
        return server.query(sql, "source")

    # Leaf: [max_id - step, max_id) is what one of its instances has.
    query(LEAF + "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('leaf-orders', 1, 2000), "
          "('leaf-idle', 1, 2000);")
    issued = set()
    while len(issued) < ids:
        query("UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'leaf-orders'")
        end = int(query("SELECT max_id FROM leaf_alloc WHERE biz_tag = 'leaf-orders'")[0][0])
        issued.update(map(str, range(end - 2000, end)))
    target.take_over("leaf", "leaf-orders", issued, "leaf", url)

    # tinyid: (max_id - step, max_id], every delta-th of them.
    query(TINYID + "INSERT INTO tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder) "
          "VALUES ('odd', 1, 1, 1000, 2, 1), ('third', 1, 0, 999, 3, 0), ('all', 1, 1, 500, 1, 0);")
    for name, delta, rest in (("odd", 2, 1), ("third", 3, 0), ("all", 1, 0)):
        # Tickets of several strides meet, and one store does not have them in the same format.
        target.data_dir = name
        issued = set()
        while len(issued) < ids // 2:
            query(f"UPDATE tiny_id_info SET max_id = max_id + step WHERE biz_type = '{name}'")
            end, step = map(int, query("SELECT max_id, step FROM tiny_id_info WHERE biz_type = "
                                       f"'{name}'")[0])
            issued.update(str(number) for number in range(end - step + 1, end + 1)
                          if number % delta == rest)
        target.take_over(f"tinyid, {name}", name, issued, "tinyid", url, "--only", name)
        minted = target.run("mint", name, "-n", 100).split()
        target.checks.that({int(key) % delta for key in minted} == {rest},
                           f"tinyid, {name}: the rest by {delta} stays {rest}")

    target.data_dir = "data"
    query("CREATE SEQUENCE numbers START WITH 5 CACHE 100")
    issued = {row[0] for row in query(f"SELECT NEXT VALUE FOR numbers FROM seq_1_to_{ids}")}
    target.take_over("a sequence of MariaDB", "numbers", issued, "sequence", url, "numbers",
                     "numbers")
    query("CREATE TABLE `my orders` (`order id` bigint unsigned PRIMARY KEY) AS SELECT seq * 3 AS "
          f"`order id` FROM seq_1_to_{ids}")
    issued = {row[0] for row in query("SELECT `order id` FROM `my orders`")}
    target.take_over("a column of MariaDB", "mine", issued, "max", url, "my orders", "order id",
                     "mine")
    query("CREATE TABLE texts (id varchar(20), price decimal(10,2))")
    query("INSERT INTO texts VALUES ('9', 10), ('10', 9)")
    query("CREATE VIEW numbers_of_texts AS SELECT CAST(id AS SIGNED) AS id FROM texts")
    target.refuses("a column of texts", "CAST(`id` AS SIGNED)", "max", url, "texts", "id")
    target.take_over("a view of texts", "viewed", {"9", "10"}, "max", url, "numbers_of_texts", "id",
                     "viewed")
    target.take_over("decimals", "decimals", {"9", "10"}, "max", url, "source.texts", "price",
                     "decimals")
    query("CREATE SEQUENCE down START WITH 100 MINVALUE 1 MAXVALUE 100 INCREMENT BY -1")
    query("CREATE SEQUENCE round MAXVALUE 100 CYCLE")
    target.refuses("a sequence that counts down", "import max", "sequence", url, "down")
    target.refuses("a sequence that goes round", "NOCYCLE", "sequence", url, "round")


def from_postgres(target, server, ids):
    url = server.url("keymill")
    server.sql("CREATE SEQUENCE numbers INCREMENT BY 3 CACHE 20")
    issued = set(server.sql(f"SELECT nextval('numbers') FROM generate_series(1, {ids})"))
    target.take_over("a sequence of PostgreSQL", "pg-numbers", issued, "sequence", url, "numbers",
                     "pg-numbers")
    server.sql("CREATE SCHEMA shop; CREATE TABLE shop.\"Orders\" (id bigserial, note text); "
               f"INSERT INTO shop.\"Orders\" (note) SELECT 'x' FROM generate_series(1, {ids}); "
               "DELETE FROM shop.\"Orders\" WHERE id % 7 = 0")
    issued = set(server.sql("SELECT id FROM shop.\"Orders\""))
    target.take_over("a column of PostgreSQL", "pg-orders", issued, "max", url, "shop.Orders", "id",
                     "pg-orders")
    server.sql("CREATE TABLE texts (id varchar(20), price numeric(10,2)); INSERT INTO texts VALUES "
               "('9', 10), ('10', 9); CREATE VIEW numbers_of_texts AS SELECT CAST(id AS bigint) AS "
               "id FROM texts; CREATE SEQUENCE down START 100 MINVALUE 1 MAXVALUE 100 INCREMENT BY "
               "-1; CREATE SEQUENCE round MAXVALUE 100 CYCLE")
    target.refuses("a column of texts", 'CAST("id" AS BIGINT)', "max", url, "texts", "id")
    target.take_over("a view of texts", "pg-viewed", {"9", "10"}, "max", url, "numbers_of_texts",
                     "id", "pg-viewed")
    target.take_over("decimals", "pg-decimals", {"9", "10"}, "max", url, "texts", "price",
                     "pg-decimals")
    target.refuses("a sequence that counts down", "import max", "sequence", url, "down")
    target.refuses("a sequence that goes round", "NO CYCLE", "sequence", url, "round")


def from_sqlite(target, ids):
    path = target.directory / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO orders VALUES (?)", ((i * 2,) for i in range(1, ids)))
        database.commit()
    target.take_over("a column of SQLite", "lite", {str(i * 2) for i in range(1, ids)}, "max",
                     f"sqlite:{path}", "orders", "id", "lite")


def imports(checks, directory, *, count, ids, codes, counters):
    directory.chmod(0o755)  # Servers run as users of their own.
    target = Target(checks, directory, count)
    from_forge(target, counters)
    from_codes(target, codes)
    from_sqlite(target, ids)
    with contextlib.ExitStack() as stack:
        for kind, read in (("mariadb", from_mariadb), ("postgres", from_postgres), ("redis", None)):
            if kind not in built_stores():
                continue
            folder = directory / kind
            folder.mkdir()
            server = stack.enter_context(start_server(kind, folder))
            if read:
                read(target, server, ids)
            on_server(target, kind, server, max(100_000, codes // 10))
    return (f"{target.keys:,} keys after imports from forge, codes, Leaf, tinyid, sequences and "
            "columns, 0 that the source had given out")
