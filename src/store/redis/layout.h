// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How the store's data lies in Redis. The names of keys and fields, and the form of a ledger row,
// are promises: another version of the program reads what this one writes.
//
//   {P}:store        hash   store_id, schema, created_at_ms, agreed_timeline; quarantine: random,
//                           anew with each; moved_to of one that was sealed; fill, fill_keyspaces,
//                           fill_rows and fill_keys of one that is being filled, the latter three
//                           from when on what an earlier fill left is gone
//   {P}:names        hash   keyspace name -> keyspace id
//   {P}:keyspace:ID  hash   the fields of KeyspaceRecord, and `change`: random, anew each time
//   {P}:ledger:ID    zset   first number of every row, 20 digits, all with score 0
//   {P}:rows:ID      hash   first number -> row
//   {P}:returned:ID  zset   first number of every returned row
//   {P}:held:ID      hash   block id -> first number of every row that is held or lent
//   {P}:lent:ID      zset   first number of every lent row
//
// Of keyspaces whose keys are remembered one by one:
//
//   {P}:keys:ID        hash   key -> row, without its note
//   {P}:notes:ID       hash   key -> note, of rows that have one
//   {P}:identities:ID  hash   identity -> key
//   {P}:counts:ID      hash   state -> how many rows are in it
//   {P}:available:ID   set    keys that are
//   {P}:reserved:ID    zset   keys that are, by the time since when; {P}:released:ID likewise
//   {P}:ends:ID:STATE  zset   keys in this state that have an end, by that
//
// The scores of these are times in milliseconds, and only say where to look: the row decides.
//
// In a store that was sealed, keyspaces that say they are open count as sealed. P is the prefix;
// its braces keep all keys in one slot. Numbers are decimal text: Lua and the scores of a zset know
// doubles only, which lose integers above 2^53.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/key_table.h"
#include "keymill/store.h"

#include "wire/resp.h"

namespace keymill::store::redis {

inline constexpr std::uint32_t kSchemaVersion = 1;

// In the order in which the scripts take them.
using KeyspaceKeys = std::array<std::string, 6>;

std::string StoreKey(std::string_view prefix);
std::string NamesKey(std::string_view prefix);
KeyspaceKeys KeysOf(std::string_view prefix, std::string_view keyspace_id);

// In the order in which the scripts take them; the last are those of ends, one for each state.
using KeyTableKeys = std::array<std::string, 7 + kKeyStates>;
KeyTableKeys TableKeysOf(std::string_view prefix, std::string_view keyspace_id);

// A number as the ledger sorts it.
std::string Padded(std::uint64_t number);

// Fields and values in turn.
std::vector<std::string> RecordFields(const KeyspaceRecord& record, std::string_view change);

struct StoredRecord {
  KeyspaceRecord record;
  std::string change;
};
// From fields and values in turn. kInternal when they are no sound record.
Result<StoredRecord> ReadRecord(const wire::RespValue& fields);

std::string RowText(const LedgerRow& row);
// kInternal when it is no sound row.
Result<LedgerRow> ReadRow(std::string_view first, std::string_view text);

// The row of a key: what becomes of it when it is taken comes first, see KeyHead. Empty parts at
// the end are left out, for there may be millions of rows.
std::string KeyText(const KeyRow& row);
std::string KeyText(const KeyRow& row, std::size_t note_size);
// The parts of a row that say who has it, each of them there, so that the others can follow.
std::string KeyHead(const KeyRow& row);

struct StoredKey {
  KeyRow row;                 // Without its note,
  std::size_t note_size = 0;  // which has this size.
  std::string text;           // As it is stored.
};
// kInternal when it is no sound row.
Result<StoredKey> ReadKey(std::string_view key, std::string_view text);

// Parts of any bytes, one after the other: "5:words," as in netstrings, still readable in
// redis-cli.
void AppendPart(std::string_view part, std::string& text);
// Takes the first one off; nothing when there is none.
std::optional<std::string_view> TakePart(std::string_view& text);

// One value of a hash that was read whole, "" when it is not there.
std::string FieldOf(const wire::RespValue& fields, std::string_view name);

// What Redis says of itself in INFO, of the sections server and replication, as a timeline: a
// server that was started again may have read other data, and so may one that follows or followed
// another.
std::string TimelineOf(std::string_view server, std::string_view replication);

// The clock of the server, by INFO server; 0 when it does not tell.
std::int64_t ServerTimeMs(std::string_view server);

}  // namespace keymill::store::redis
