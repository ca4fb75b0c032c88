// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The scripts that run in Redis. What is asked and decided is text to them; see layout.h for what
// they write where.
//
// A script that writes nothing says why in a reply of text; see RefusalOf:
//   timeline        the server's is another
//   filling         the store is being filled
//   sealed PLACE    the store was sealed for that place
//   absent, schema  there is no store, or one of another schema
//   over            the fill is not, or no longer, under way
//   changed         what the orders were computed from is no longer so
// Every one of them but those that fill looks whether the store was closed: a script that was sent
// before the store was sealed may run after.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/redis/client.h"

namespace keymill::store::redis {

// What all scripts begin with: functions that tell whether one has to refuse.
std::string_view CommonLua();

struct Question {
  std::string_view about;  // "below", "from", "returned": a number; "held": a block id.
  std::string value;
  std::uint32_t rows_max = 1;
};

// KEYS: store, those of a keyspace. ARGV: the timeline that must be the server's, "" for any; then
// questions, three words each.
// Reply: where the store was moved to, the record's fields, then for each question the rows: first
// numbers and rows in turn.
const Script& LookScript();

// KEYS: store, those of a keyspace. ARGV: a timeline as above; the rev and the change that the
// record must have; then orders:
//   set FIELD VALUE      of the record
//   put FIRST ROW        into the ledger
//   drop FIRST           out of the ledger and of the returned rows
//   return FIRST         among the returned rows
//   keep FIRST           no longer among the returned rows
//   hold BLOCK FIRST     among the held rows
//   settle BLOCK         no longer among the held rows
//   mark WORD            of the latest quarantine
// Reply: "done".
const Script& ApplyScript();

// KEYS: store, names, then those of each keyspace. ARGV: schema, store id ("" when there must be
// a store already), time, the number of keyspaces; for each its name, id, the number of words
// that follow, and those: orders of ApplyScript.
// Reply: the store's fields, then for each keyspace 1 and its id if it was made, 0 and the id of
// the one that was there if not.
const Script& EstablishScript();

// KEYS: store. ARGV: the timeline to agree on.
// Reply: "done", also when that is not the server's.
const Script& AgreeScript();

// KEYS: store. ARGV: the place to seal it for, "1" to do so also when it was sealed for another,
// the mark of the latest quarantine, as it was before all keyspaces were looked at. Reply: "done";
// "changed" when the mark is another.
const Script& SealScript();

// KEYS: store, names. ARGV: schema, store id, fill, time.
// Reply: "done", "clear" when an earlier fill has left something, "strange" when there are names
// that belong to no store; id and fill, or "", of a store that is in the way.
const Script& BeginFillScript();

// KEYS: store, names, then those of some keyspaces, as many of each, with those of its table. ARGV:
// fill, the names of those keyspaces.
// Reply: "done".
const Script& ClearScript();

// KEYS: store, names, those of the keyspace. ARGV: fill, name, id, orders.
// Reply: "done", or "twice".
const Script& FillKeyspaceScript();

// KEYS: store, those of the keyspace. ARGV: fill, how many rows, orders.
// Reply: "done", "early" when there is no such keyspace, "twice" when not all rows are new.
const Script& FillLedgerScript();

// KEYS: store, names. ARGV: fill, how many keyspaces, rows and keys there must be.
// Reply: "done", or how many there are.
const Script& EndFillScript();

// KEYS: store, one that is not there. Changes nothing, by all the kinds of commands that the others
// change something with; so that none of them is stopped halfway for want of a right.
// Reply: "done", or "absent" when there is no store, on which not all could be tried.
const Script& RightsScript();

}  // namespace keymill::store::redis
