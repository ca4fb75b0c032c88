// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The scripts that run in Redis for keys that are remembered one by one. See scripts.h for how they
// refuse; and layout.h for what they write where.
//
// KEYS of all of them: store, record, and those of the keyspace's table.
//
// A guard is the first five words of ARGV: the timeline that must be the server's, "" for any; the
// recipe hash; the lowest rev and next, or "" and "" for whoever recovers a quarantined keyspace;
// the mark of this change, which goes into the record together with the next rev. A reply of these,
// besides those in scripts.h:
//   unusable  the keyspace is not open (or not quarantined), is of another recipe, or has gone
//   back: ask rules.h which unknown   there is no such keyspace; of those without a guard

#pragma once

#include <cstddef>

#include "store/redis/client.h"

namespace keymill::store::redis {

// A reply ends once it holds so many bytes of notes.
inline constexpr std::size_t kReplyNotesSize = std::size_t{16} << 20;

// ARGV: a guard; for each row its key, text, state, time, end ("0" for none), identity, note.
// Reply: rev, next; for each row nothing when it was added, otherwise what was there: key, text,
// and note, which is nothing if it would have been too much.
const Script& AddKeysScript();
inline constexpr std::size_t kAddWords = 7;

// ARGV: a guard; how many, the state they come into, time, end, the head of their rows.
// Reply: rev, next, keys; "exhausted NAME" when there are none.
const Script& TakeKeysScript();

// ARGV: a guard; then one of
//   keys KEY …                      these
//   since STATE UNTIL OFFSET COUNT  in this state, which is one with such an index, until then
//   ends STATE UNTIL OFFSET COUNT   in this state, and with an end until then
//   scan CURSOR COUNT               any
// Reply: what CURSOR or OFFSET is to be next, "" at the end; keys and texts in turn.
const Script& PickKeysScript();

// ARGV: a guard; for each row its key; its text as it must be, as it becomes, or "" when it goes;
// state and end before; state, time and end from now on; its identity.
// Reply: rev, next, the note of each row or ""; "changed" when one of the rows is not as it must
// be.
const Script& ChangeKeysScript();
inline constexpr std::size_t kChangeWords = 9;

// ARGV: "key" or "identity", and values of that.
// Reply: for each, but not more than kReplyNotesSize, nothing or key, text, note.
const Script& FindKeysScript();

// ARGV: cursor, how many to look at. Reply: as for PickKeysScript.
const Script& ScanKeysScript();

// Reply: states and numbers in turn.
const Script& CountKeysScript();

// ARGV: fill; rows as for AddKeysScript. Reply: "done", "early" when there is no such keyspace.
const Script& FillKeysScript();

}  // namespace keymill::store::redis
