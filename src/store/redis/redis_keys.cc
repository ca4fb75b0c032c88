// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/redis_keys.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/fill_errors.h"
#include "store/key_rules.h"
#include "store/redis/key_cursor.h"
#include "store/redis/key_scripts.h"
#include "store/redis/orders.h"
#include "store/rules.h"

namespace keymill::store::redis {
namespace {

using wire::RespType;
using wire::RespValue;

// How many rows a script looks at where it may not find any.
constexpr std::uint32_t kPageRows = 1'000;
// So many times in one call: whoever lists few rows among many need not call for each page.
constexpr int kPagesPerList = 16;

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Of a reply that begins with rev and next.
Witness SeenIn(const RespValue& reply) {
  return {NumberOf(reply.items[0].text), NumberOf(reply.items[1].text)};
}

std::size_t NotesSize(std::span<const KeyRow> rows) {
  std::size_t size = 0;
  for (const KeyRow& row : rows) size += row.note.size();
  return size;
}

Status TooManyNotes() {
  return {Code::kInvalidArgument,
          fmt::format("change notes in Redis: they have more than {} bytes; name fewer at a time",
                      RedisKeys::kNotesSizeMax)};
}

// As AddKeysScript has them.
void AppendRow(const KeyRow& row, std::vector<std::string>& words) {
  words.insert(words.end(), {row.key, KeyText(row), std::string(KeyStateName(row.state)),
                             std::to_string(row.since_ms), std::to_string(row.expires_at_ms),
                             row.identity, row.note});
}

// From key, text and note.
Result<KeyRow> ReadWhole(RespValue& reply) {
  if (reply.items.size() != 3) return Status(Code::kInternal, "read a key: damaged row");
  Result<StoredKey> stored = ReadKey(reply.items[0].text, reply.items[1].text);
  if (!stored.ok()) return stored.status();
  if (stored->note_size != reply.items[2].text.size()) {
    return Status(Code::kInternal, fmt::format("read the key {}: damaged note", stored->row.key));
  }
  stored->row.note = std::move(reply.items[2].text);
  return std::move(stored->row);
}

// Keys and texts in turn.
Result<std::vector<StoredKey>> ReadPage(const RespValue& reply) {
  std::vector<StoredKey> rows;
  rows.reserve(reply.items.size() / 2);
  for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    Result<StoredKey> row = ReadKey(reply.items[i].text, reply.items[i + 1].text);
    if (!row.ok()) return row.status();
    rows.push_back(*std::move(row));
  }
  return rows;
}

// Where PickKeysScript is to look for rows that match, from `cursor` on; "" at first.
std::vector<std::string> PickWords(const KeyMatch& match, const std::string& cursor) {
  const std::string start = cursor.empty() ? "0" : cursor;
  const std::string page = std::to_string(kPageRows);
  const std::string state(KeyStateName(match.state));
  const bool dated = match.state == KeyState::kReserved || match.state == KeyState::kReleased;
  if (!match.keys.empty()) {
    const std::set<std::string> named(match.keys.begin(), match.keys.end());
    std::vector<std::string> words = {"keys"};
    words.insert(words.end(), named.begin(), named.end());
    return words;
  }
  if (match.expires_until_ms != 0) {
    return {"ends", state, std::to_string(match.expires_until_ms), start, page};
  }
  if (!dated) return {"scan", start, page};
  const std::string until =
      match.since_until_ms == 0 ? "+inf" : std::to_string(match.since_until_ms);
  return {"since", state, until, start, page};
}

}  // namespace

std::vector<std::string> RedisKeys::ScriptKeys(std::string_view keyspace_id) const {
  const std::string& prefix = client_.settings().prefix;
  std::vector<std::string> keys = {StoreKey(prefix), KeysOf(prefix, keyspace_id)[0]};
  for (std::string& key : TableKeysOf(prefix, keyspace_id)) keys.push_back(std::move(key));
  return keys;
}

Result<RespValue> RedisKeys::RunGuarded(const Script& script, const KeyGuard& guard,
                                        std::span<const std::string> words,
                                        MonotonicTime deadline) {
  std::vector<std::string> all = {
      guard.timeline, guard.recipe_hash, guard.recovering ? "" : std::to_string(guard.witness.rev),
      guard.recovering ? "" : std::to_string(guard.witness.next), NewChange()};
  all.insert(all.end(), words.begin(), words.end());
  const std::vector<std::string> keys = ScriptKeys(guard.keyspace_id);
  for (;;) {
    Result<RespValue> reply = client_.Run(script, keys, all, deadline);
    if (!reply.ok() || reply->text != "unusable") return reply;
    if (Status usable = Examine(guard, deadline); !usable.ok()) return usable;
    if (keyspaces_.clock().Monotonic() >= deadline) return keyspaces_.TooBusy(guard.keyspace_id);
  }
}

Result<RespValue> RedisKeys::Read(const Script& script, std::string_view keyspace_id,
                                  std::span<const std::string> words, MonotonicTime deadline) {
  Result<RespValue> reply = client_.Run(script, ScriptKeys(keyspace_id), words, deadline);
  if (!reply.ok()) return reply;
  if (reply->text == "unknown") return NoSuchId(keyspace_id);
  if (!reply->text.empty()) return RefusalOf(*reply, client_.settings());
  return reply;
}

Status RedisKeys::Examine(const KeyGuard& guard, MonotonicTime deadline) {
  return keyspaces_
      .Change<std::monostate>({guard.keyspace_id, guard.timeline}, {}, deadline,
                              [&](Snapshot& seen, Orders& orders) -> Result<std::monostate> {
                                const KeyspaceRecord& record = seen.stored.record;
                                Status usable = CheckGuard(record, guard);
                                if (usable.ok()) return std::monostate();
                                if (usable.code() == Code::kQuarantined) {
                                  orders.Quarantine(record, usable.message(), guard.witness);
                                }
                                return usable;
                              })
      .status();
}

Result<KeyTable::Added> RedisKeys::AddKeys(const KeyGuard& guard, const std::vector<KeyRow>& rows,
                                           MonotonicTime deadline) {
  if (Status sound = CheckAdd(rows); !sound.ok()) return sound;
  if (NotesSize(rows) > kNotesSizeMax) return TooManyNotes();
  std::vector<std::string> words;
  words.reserve(rows.size() * kAddWords);
  for (const KeyRow& row : rows) AppendRow(row, words);
  Result<RespValue> reply = RunGuarded(AddKeysScript(), guard, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->items.size() != 2 + rows.size()) return RefusalOf(*reply, client_.settings());
  Added added{std::vector<std::optional<KeyRow>>(rows.size()), SeenIn(*reply)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    RespValue& there = reply->items[2 + i];
    if (there.type == RespType::kNull) continue;
    if (there.items.size() == 3 && there.items[2].type == RespType::kNull) {
      Result<std::optional<KeyRow>> row = FindKey(guard.keyspace_id, there.items[0].text, deadline);
      // Others may have been added, and the caller must learn of them.
      if (!row.ok()) return Status(Code::kUnknownOutcome, row.status().message());
      if (!row->has_value()) return Status(Code::kUnknownOutcome, "add keys: a note has just gone");
      added.present[i] = *std::move(row);
      continue;
    }
    Result<KeyRow> row = ReadWhole(there);
    if (!row.ok()) return row.status();
    added.present[i] = *std::move(row);
  }
  return added;
}

Result<KeyTable::Taken> RedisKeys::TakeKeys(const KeyGuard& guard, const TakeRequest& request,
                                            MonotonicTime deadline) {
  constexpr std::string_view kExhausted = "exhausted ";
  if (Status sound = CheckTake(request); !sound.ok()) return sound;
  const std::vector<std::string> words = {
      std::to_string(request.count), std::string(KeyStateName(request.to)),
      std::to_string(request.at_ms), std::to_string(request.expires_at_ms),
      KeyHead(TakenRow({}, request))};
  Result<RespValue> reply = RunGuarded(TakeKeysScript(), guard, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->text.starts_with(kExhausted)) {
    return NoKeyAvailable(std::string_view(reply->text).substr(kExhausted.size()));
  }
  if (reply->items.size() != 3) return RefusalOf(*reply, client_.settings());
  Taken taken{{}, SeenIn(*reply)};
  taken.keys.reserve(reply->items[2].items.size());
  for (RespValue& key : reply->items[2].items) taken.keys.push_back(std::move(key.text));
  return taken;
}

Result<std::vector<StoredKey>> RedisKeys::Pick(const KeyGuard& guard, const KeyChange& change,
                                               MonotonicTime deadline) {
  std::vector<StoredKey> found;
  std::set<std::string> known;  // A scan may come to a row twice.
  std::size_t notes = 0;
  std::string cursor;
  do {
    Result<RespValue> reply =
        RunGuarded(PickKeysScript(), guard, PickWords(change.match, cursor), deadline);
    if (!reply.ok()) return reply.status();
    if (reply->items.size() != 2) return RefusalOf(*reply, client_.settings());
    Result<std::vector<StoredKey>> rows = ReadPage(reply->items[1]);
    if (!rows.ok()) return rows.status();
    for (StoredKey& stored : *rows) {
      if (found.size() == change.rows_max) return found;
      if (!Matches(stored.row, change.match) || !known.insert(stored.row.key).second) continue;
      notes += stored.note_size;
      if (notes > kNotesSizeMax) {
        if (change.match.keys.empty()) return found;
        return TooManyNotes();
      }
      found.push_back(std::move(stored));
    }
    cursor = std::move(reply->items[0].text);
  } while (!cursor.empty());
  return found;
}

Result<std::optional<KeyTable::Changed>> RedisKeys::Apply(const KeyGuard& guard,
                                                          const KeyChange& change,
                                                          const std::vector<StoredKey>& found,
                                                          MonotonicTime deadline) {
  Changed changed;
  std::vector<std::string> words;
  words.reserve(found.size() * kChangeWords);
  for (const StoredKey& stored : found) {
    const KeyRow& before = stored.row;
    const KeyRow& row = changed.rows.emplace_back(ChangedRow(before, change));
    words.insert(words.end(),
                 {row.key, stored.text, change.to ? KeyText(row, stored.note_size) : "",
                  std::string(KeyStateName(before.state)), std::to_string(before.expires_at_ms),
                  std::string(KeyStateName(row.state)), std::to_string(row.since_ms),
                  std::to_string(row.expires_at_ms), row.identity});
  }
  Result<RespValue> reply = RunGuarded(ChangeKeysScript(), guard, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->text == "changed") return std::optional<Changed>();
  if (reply->items.size() != 2 + found.size()) return RefusalOf(*reply, client_.settings());
  changed.seen = SeenIn(*reply);
  for (std::size_t i = 0; i < found.size(); ++i) {
    changed.rows[i].note = std::move(reply->items[2 + i].text);
  }
  return std::optional<Changed>(std::move(changed));
}

Result<KeyTable::Changed> RedisKeys::ChangeKeys(const KeyGuard& guard, const KeyChange& change,
                                                MonotonicTime deadline) {
  if (Status sound = CheckChange(change); !sound.ok()) return sound;
  for (;;) {
    Result<std::vector<StoredKey>> found = Pick(guard, change, deadline);
    if (!found.ok()) return found.status();
    if (found->empty()) return Changed();
    Result<std::optional<Changed>> changed = Apply(guard, change, *found, deadline);
    if (!changed.ok()) return changed.status();
    if (changed->has_value()) return **std::move(changed);
    if (keyspaces_.clock().Monotonic() >= deadline) return keyspaces_.TooBusy(guard.keyspace_id);
  }
}

Result<std::optional<KeyRow>> RedisKeys::FindBy(std::string_view what, std::string_view keyspace_id,
                                                std::string_view value, MonotonicTime deadline) {
  const std::vector<std::string> words = {std::string(what), std::string(value)};
  Result<RespValue> reply = Read(FindKeysScript(), keyspace_id, words, deadline);
  if (!reply.ok()) return reply.status();
  if (reply->items.size() != 1 || reply->items[0].type == RespType::kNull) {
    return std::optional<KeyRow>();
  }
  Result<KeyRow> row = ReadWhole(reply->items[0]);
  if (!row.ok()) return row.status();
  return std::optional<KeyRow>(*std::move(row));
}

Result<std::optional<KeyRow>> RedisKeys::FindKey(std::string_view keyspace_id, std::string_view key,
                                                 MonotonicTime deadline) {
  return FindBy("key", keyspace_id, key, deadline);
}

Result<std::optional<KeyRow>> RedisKeys::FindIdentity(std::string_view keyspace_id,
                                                      std::string_view identity,
                                                      MonotonicTime deadline) {
  return FindBy("identity", keyspace_id, identity, deadline);
}

Result<KeyTable::Page> RedisKeys::ListKeys(std::string_view keyspace_id, const Query& query,
                                           MonotonicTime deadline) {
  if (Status sound = CheckQuery(query); !sound.ok()) return sound;
  Result<KeyCursor> at = ReadCursor(query.cursor);
  if (!at.ok()) return at.status();
  Page page;
  for (int i = 0; i < kPagesPerList && at->pending.empty() && !at->scan.empty(); ++i) {
    const std::vector<std::string> words = {at->scan, std::to_string(query.rows_max)};
    Result<RespValue> reply = Read(ScanKeysScript(), keyspace_id, words, deadline);
    if (!reply.ok()) return reply.status();
    if (reply->items.size() != 2) return RefusalOf(*reply, client_.settings());
    Result<std::vector<StoredKey>> rows = ReadPage(reply->items[1]);
    if (!rows.ok()) return rows.status();
    at->scan = std::move(reply->items[0].text);
    for (StoredKey& stored : *rows) {
      if (!IsAsked(stored.row, query)) continue;
      if (stored.note_size != 0 || page.rows.size() == query.rows_max) {
        at->pending.push_back(std::move(stored.row.key));
      } else {
        page.rows.push_back(std::move(stored.row));
      }
    }
    if (page.rows.size() == query.rows_max) break;
  }
  const std::size_t room = query.rows_max - page.rows.size();
  if (const std::size_t wanted = std::min(room, at->pending.size()); wanted != 0) {
    std::vector<std::string> words = {"key"};
    words.insert(words.end(), at->pending.begin(),
                 at->pending.begin() + static_cast<std::ptrdiff_t>(wanted));
    Result<RespValue> reply = Read(FindKeysScript(), keyspace_id, words, deadline);
    if (!reply.ok()) return reply.status();
    for (RespValue& item : reply->items) {
      at->pending.pop_front();
      if (item.type == RespType::kNull) continue;
      Result<KeyRow> row = ReadWhole(item);
      if (!row.ok()) return row.status();
      if (IsAsked(*row, query)) page.rows.push_back(*std::move(row));
    }
  }
  page.cursor = CursorText(*at);
  return page;
}

Result<KeyTable::Counts> RedisKeys::CountKeys(std::string_view keyspace_id,
                                              MonotonicTime deadline) {
  Result<RespValue> reply = Read(CountKeysScript(), keyspace_id, {}, deadline);
  if (!reply.ok()) return reply.status();
  Counts counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts.at(i) = NumberOf(FieldOf(*reply, KeyStateName(static_cast<KeyState>(i))));
  }
  return counts;
}

Status RedisKeys::FillKeys(std::string_view fill, std::string_view keyspace_id,
                           const std::vector<KeyRow>& rows, MonotonicTime deadline) {
  if (Status sound = CheckFillRows(rows); !sound.ok()) return sound;
  std::size_t at = 0;
  // What was written before a failure is found when it is repeated.
  do {
    std::vector<std::string> words = {std::string(fill)};
    for (std::size_t notes = 0; at < rows.size() && notes < kReplyNotesSize; ++at) {
      AppendRow(rows[at], words);
      notes += rows[at].note.size();
    }
    Result<RespValue> reply =
        client_.Run(FillKeysScript(), ScriptKeys(keyspace_id), words, deadline);
    if (!reply.ok()) return reply.status();
    if (reply->text == "early") return RowsBeforeKeyspace(keyspace_id);
    if (reply->text != "done") return RefusalOf(*reply, client_.settings());
  } while (at < rows.size());
  return {};
}

}  // namespace keymill::store::redis
