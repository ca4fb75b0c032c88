# Copyright (c) 2026 The Keymill Authors. See LICENSE.
"""A proxy before PostgreSQL or MariaDB that loses COMMITs: on their way, or only the answer.

Only those of transactions that have moved a keyspace on are counted and lost: a look at the store
ends with COMMIT too, and has nothing to lose.
"""

import re
import threading

from tcp_proxy import TO_CLIENT, Seeker, TcpProxy

# How each server is told: as one packet of text (three bytes of length, a sequence number,
# COM_QUERY), and as a prepared statement's text, which ends with a zero.
COMMITS = {"mariadb": b"\x07\x00\x00\x00\x03COMMIT", "postgres": b"COMMIT\0"}
CHANGE = b"UPDATE keymill_keyspaces SET"
# The row of the ledger is made, with block id and reservation the same, or extended: the second id
# that follows, or the first.
LEDGER = re.compile(rb"(INSERT INTO|UPDATE) keymill_ledger (?!SET state)")
HEX = re.compile(rb"x'([0-9a-f]*)'")  # How MariaDB is told of texts.
ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")

# What happens to one COMMIT after the other.
PASS, LOSE_ANSWER, LOSE_COMMIT, STALL = range(4)
LOSSES = (LOSE_ANSWER, LOSE_COMMIT, STALL)


def reservation_in(said):
    """The id of the reservation that a transaction of these bytes makes."""
    said = HEX.sub(lambda found: b"'" + bytes.fromhex(found[1].decode()) + b"'", said)
    [*_, last] = LEDGER.finditer(said)
    ids = ID.findall(said, last.end())
    return ids[1 if last[1] == b"INSERT INTO" else 0].decode()


class _Transaction:
    """What one connection is in the middle of."""

    def __init__(self, commit):
        self.commit = Seeker(commit)
        self.change = Seeker(CHANGE)
        self.said = b""
        self.changes = False
        self.losing = None  # (fate, reservation), while the answer to its COMMIT is due.

    def begin_anew(self):
        self.said = b""
        self.changes = False


class CommitCutter(TcpProxy):
    """`fates`, without an end, are those of the COMMITs to come while it is `active`.

    `look(fate, reservation)` is called for each that is lost, before its sender can know: with the
    answer of the server there, but not handed on, or with nothing sent (LOSE_COMMIT).
    """

    def __init__(self, store, target, fates, look=None):
        super().__init__(target, self._watch)
        self.active = False  # Nothing is lost before that.
        self.lost = dict.fromkeys(LOSSES, 0)
        self._pattern = COMMITS[store]
        self._fates = iter(fates)
        self.look = look or (lambda fate, reservation: None)
        self._mutex_of_fates = threading.Lock()

    def _watch(self, link, direction, data):
        transaction = link.memory.setdefault(self, _Transaction(self._pattern))
        if direction == TO_CLIENT:
            return self._answer(link, transaction, data)
        if b"ROLLBACK" in data:
            transaction.begin_anew()
        transaction.said += data
        transaction.changes |= transaction.change.feed(data) is not None
        if transaction.commit.feed(data) is None:
            return data
        fate = self._next_fate() if transaction.changes else PASS
        said = transaction.said
        transaction.begin_anew()
        if fate == PASS:
            return data
        if fate == LOSE_COMMIT:
            self.look(fate, reservation_in(said))
            link.cut()
            return b""
        transaction.losing = (fate, reservation_in(said))
        return data

    def _answer(self, link, transaction, data):
        if transaction.losing is None:
            return data
        (fate, reservation), transaction.losing = transaction.losing, None
        self.look(fate, reservation)  # It has landed.
        if fate == STALL:
            link.vanish(TO_CLIENT)  # Until the other side has had enough.
        else:
            link.cut()
        return b""

    def _next_fate(self):
        if not self.active:
            return PASS
        with self._mutex_of_fates:
            fate = next(self._fates)
            if fate != PASS:
                self.lost[fate] += 1
            return fate

