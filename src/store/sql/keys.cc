// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/keys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "store/key_rules.h"
#include "store/sql/row_reader.h"

namespace keymill::store::sql {
namespace {

constexpr std::string_view kColumns =
    "key_text, state, since_ms, instance, token, owner, identity, expires_at_ms, generation, note";

// Of rows that are written, or keys that are named, by one statement.
constexpr std::size_t kRowsPerStatement = 500;
// A statement ends after this much of notes.
constexpr std::size_t kNoteBytesPerStatement = std::size_t{1} << 20;
// Notes can be long, and a page is all in memory.
constexpr std::uint32_t kNotesPerPage = 32;

std::int64_t Signed(std::uint64_t number) { return static_cast<std::int64_t>(number); }
std::string Text(std::string_view text) { return std::string(text); }
Value StateValue(KeyState state) { return Text(KeyStateName(state)); }

Result<KeyRow> ReadKey(Row& row) {
  RowReader reader(row);
  KeyRow key;
  key.key = reader.TakeText();
  const std::string state = reader.TakeText();
  key.since_ms = reader.TakeSigned();
  key.instance = reader.TakeText();
  key.token = reader.TakeText();
  key.owner = reader.TakeText();
  key.identity = reader.TakeText();  // NULL is read as "".
  key.expires_at_ms = reader.TakeSigned();
  key.generation = reader.TakeNumber();
  key.note = reader.TakeBytes();
  if (!reader.sound()) {
    return Status(Code::kInternal, fmt::format("read key {}: damaged row", key.key));
  }
  Result<KeyState> parsed = ParseKeyState(state);
  if (!parsed.ok()) return parsed.status();
  key.state = *parsed;
  return key;
}

Status QueryKeys(Connection& db, std::string_view where_and_order, std::span<const Value> values,
                 std::vector<KeyRow>& keys) {
  Result<std::vector<Row>> rows = db.Query(
      fmt::format("SELECT {} FROM keymill_key WHERE {}", kColumns, where_and_order), values);
  if (!rows.ok()) return rows.status();
  for (Row& row : *rows) {
    Result<KeyRow> read = ReadKey(row);
    if (!read.ok()) return read.status();
    keys.push_back(*std::move(read));
  }
  return {};
}

// Calls `body` with one part after another until it fails.
template <typename T, typename Body>
Status InParts(const std::vector<T>& all, Body body) {
  const std::span<const T> whole(all);
  for (std::size_t at = 0; at < whole.size(); at += kRowsPerStatement) {
    const std::size_t size = std::min(kRowsPerStatement, whole.size() - at);
    if (Status done = body(whole.subspan(at, size)); !done.ok()) return done;
  }
  return {};
}

// "column IN (?, ?)"
std::string IsOneOf(std::string_view column, std::size_t count) {
  std::string in = fmt::format("{} IN (?", column);
  for (std::size_t i = 1; i < count; ++i) in += ", ?";
  return in + ")";
}

// A statement that must change just the rows of `keys`, because they were read under our lock.
// `sql` ends with its condition for the keyspace. It has no other: not every planner knows that
// going by a few keys is better than reading all that are in some state.
Status ExecuteOn(Connection& db, std::string_view sql, std::span<const Value> values,
                 const std::vector<std::string>& keys) {
  return InParts(keys, [&](std::span<const std::string> part) -> Status {
    std::vector<Value> all(values.begin(), values.end());
    all.insert(all.end(), part.begin(), part.end());
    Result<std::int64_t> changed =
        db.Execute(fmt::format("{} AND {}", sql, IsOneOf("key_text", part.size())), all);
    if (!changed.ok()) return changed.status();
    if (std::cmp_equal(*changed, part.size())) return {};
    return {Code::kInternal,
            fmt::format("{}: changed {} rows instead of {}", sql, *changed, part.size())};
  });
}

Status InsertPart(Connection& db, std::string_view keyspace_id,
                  std::span<const KeyRow* const> rows) {
  std::string sql = fmt::format("INSERT INTO keymill_key (keyspace_id, {}) VALUES ", kColumns);
  std::vector<Value> values;
  values.reserve(rows.size() * 11);
  for (const KeyRow* const row : rows) {
    if (!values.empty()) sql += ", ";
    sql += "(?, ?, ?, ?, ?, ?, ?, NULLIF(?, ''), ?, ?, ?)";
    for (Value value : std::initializer_list<Value>{
             Text(keyspace_id), row->key, StateValue(row->state), row->since_ms, row->instance,
             row->token, row->owner, row->identity, row->expires_at_ms, Signed(row->generation),
             Bytes{row->note}}) {
      values.push_back(std::move(value));
    }
  }
  Result<std::int64_t> inserted = db.Execute(sql, values);
  if (!inserted.ok()) return inserted.status();
  if (std::cmp_equal(*inserted, rows.size())) return {};
  return {Code::kInternal, fmt::format("insert {} keys: {} were", rows.size(), *inserted)};
}

// Where a list goes on: after this row.
struct Cursor {
  KeyState state = KeyState::kAvailable;
  std::int64_t since_ms = 0;
  std::string key;
};

std::string CursorText(const KeyRow& row) {
  return fmt::format("{} {} {}", KeyStateName(row.state), row.since_ms, row.key);
}

Result<Cursor> ParseCursor(std::string_view text) {
  const Status refused(Code::kInvalidArgument,
                       "list keys: the cursor comes from no page of this store");
  const std::size_t first = text.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) return refused;
  const Result<KeyState> state = ParseKeyState(text.substr(0, first));
  Cursor cursor;
  const auto [end, error] =
      std::from_chars(text.data() + first + 1, text.data() + second, cursor.since_ms);
  if (!state.ok() || error != std::errc() || end != text.data() + second) return refused;
  cursor.state = *state;
  cursor.key = text.substr(second + 1);
  return cursor;
}

// Up to `count` rows of one state in their order, those after `cursor` if there is one.
Status SelectState(Connection& db, std::string_view keyspace_id, KeyState state,
                   const Cursor* cursor, const KeyTable::Query& query, std::uint32_t count,
                   std::vector<KeyRow>& rows) {
  // Two statements rather than an OR, which would read all that lies before the cursor.
  std::int64_t from_ms = query.since_ms;
  const std::size_t before = rows.size();
  if (cursor != nullptr) {
    const std::array<Value, 5> values = {Text(keyspace_id), StateValue(state), cursor->since_ms,
                                         cursor->key, std::int64_t{count}};
    Status done = QueryKeys(db,
                            "keyspace_id = ? AND state = ? AND since_ms = ? AND key_text > ? ORDER "
                            "BY key_text LIMIT ?",
                            values, rows);
    if (!done.ok()) return done;
    from_ms = cursor->since_ms + 1;
  }
  const std::size_t left = count - (rows.size() - before);
  if (left == 0) return {};
  std::vector<Value> values = {Text(keyspace_id), StateValue(state), from_ms};
  if (query.until_ms != 0) values.emplace_back(query.until_ms);
  values.emplace_back(Signed(left));
  return QueryKeys(db,
                   fmt::format("keyspace_id = ? AND state = ? AND since_ms >= ?{} ORDER BY "
                               "since_ms, key_text LIMIT ?",
                               query.until_ms != 0 ? " AND since_ms < ?" : ""),
                   values, rows);
}

// Those of match.keys that match, as many as may be.
Result<std::vector<KeyRow>> SelectNamed(Connection& db, std::string_view keyspace_id,
                                        const KeyMatch& match, std::uint32_t rows_max) {
  const std::set<std::string> named(match.keys.begin(), match.keys.end());
  const std::vector<std::string> keys(named.begin(), named.end());
  std::vector<KeyRow> rows;
  Status done = InParts(keys, [&](std::span<const std::string> part) -> Status {
    if (rows.size() >= rows_max) return {};
    std::vector<Value> values = {Text(keyspace_id)};
    values.insert(values.end(), part.begin(), part.end());
    Status read = QueryKeys(
        db, fmt::format("keyspace_id = ? AND {}", IsOneOf("key_text", part.size())), values, rows);
    std::erase_if(rows, [&](const KeyRow& row) { return !Matches(row, match); });
    return read;
  });
  if (!done.ok()) return done;
  if (rows.size() > rows_max) rows.resize(rows_max);
  return rows;
}

}  // namespace

Result<std::optional<KeyRow>> SelectKey(Connection& db, std::string_view keyspace_id,
                                        std::string_view column, std::string_view value) {
  const std::array<Value, 2> values = {Text(keyspace_id), Text(value)};
  std::vector<KeyRow> rows;
  Status done = QueryKeys(db, fmt::format("keyspace_id = ? AND {} = ?", column), values, rows);
  if (!done.ok()) return done;
  if (rows.empty()) return std::optional<KeyRow>();
  return std::optional<KeyRow>(std::move(rows.front()));
}

Result<std::vector<KeyRow>> SelectPresent(Connection& db, std::string_view keyspace_id,
                                          const std::vector<KeyRow>& rows) {
  std::vector<KeyRow> present;
  Status done = InParts(rows, [&](std::span<const KeyRow> part) -> Status {
    std::vector<Value> keys = {Text(keyspace_id)};
    std::vector<Value> identities = {Text(keyspace_id)};
    for (const KeyRow& row : part) {
      keys.emplace_back(row.key);
      if (!row.identity.empty()) identities.emplace_back(row.identity);
    }
    Status found =
        QueryKeys(db, fmt::format("keyspace_id = ? AND {}", IsOneOf("key_text", keys.size() - 1)),
                  keys, present);
    if (!found.ok() || identities.size() == 1) return found;
    return QueryKeys(
        db, fmt::format("keyspace_id = ? AND {}", IsOneOf("identity", identities.size() - 1)),
        identities, present);
  });
  if (!done.ok()) return done;
  return present;
}

Status InsertKeys(Connection& db, std::string_view keyspace_id,
                  const std::vector<const KeyRow*>& rows) {
  return InParts(rows, [&](std::span<const KeyRow* const> part) -> Status {
    while (!part.empty()) {
      std::size_t size = 0;
      for (std::size_t bytes = 0; size < part.size() && bytes < kNoteBytesPerStatement; ++size) {
        bytes += part[size]->note.size();
      }
      if (Status done = InsertPart(db, keyspace_id, part.first(size)); !done.ok()) return done;
      part = part.subspan(size);
    }
    return {};
  });
}

Result<std::vector<std::string>> SelectAvailable(Connection& db, std::string_view keyspace_id,
                                                 std::uint32_t count) {
  const std::array<Value, 2> values = {Text(keyspace_id), std::int64_t{count}};
  Result<std::vector<Row>> rows = db.Query(
      "SELECT key_text FROM keymill_key WHERE keyspace_id = ? AND state = 'available' "
      "ORDER BY since_ms, key_text LIMIT ?",
      values);
  if (!rows.ok()) return rows.status();
  std::vector<std::string> keys;
  keys.reserve(rows->size());
  for (Row& row : *rows) {
    RowReader reader(row);
    keys.push_back(reader.TakeText());
    if (!reader.sound()) return Status(Code::kInternal, "take keys: damaged row");
  }
  return keys;
}

Status UpdateTaken(Connection& db, std::string_view keyspace_id,
                   const std::vector<std::string>& keys, const KeyTable::TakeRequest& request) {
  const std::array<Value, 6> values = {StateValue(request.to), request.at_ms,
                                       request.instance,       request.token,
                                       request.expires_at_ms,  Text(keyspace_id)};
  return ExecuteOn(db,
                   "UPDATE keymill_key SET state = ?, since_ms = ?, instance = ?, token = ?, "
                   "expires_at_ms = ? WHERE keyspace_id = ?",
                   values, keys);
}

Result<std::vector<KeyRow>> SelectMatching(Connection& db, std::string_view keyspace_id,
                                           const KeyMatch& match, std::uint32_t rows_max) {
  if (!match.keys.empty()) return SelectNamed(db, keyspace_id, match, rows_max);
  std::string where = "keyspace_id = ? AND state = ?";
  std::vector<Value> values = {Text(keyspace_id), StateValue(match.state)};
  const auto ask = [&](std::string_view condition, Value value) {
    where += condition;
    values.push_back(std::move(value));
  };
  if (!match.token.empty()) ask(" AND token = ?", match.token);
  if (match.generation) ask(" AND generation = ?", Signed(*match.generation));
  if (match.since_until_ms != 0) ask(" AND since_ms <= ?", match.since_until_ms);
  if (match.expires_until_ms != 0) {
    ask(" AND expires_at_ms > 0 AND expires_at_ms <= ?", match.expires_until_ms);
  }
  // By the index that has these rows together.
  where += match.expires_until_ms != 0 ? " ORDER BY expires_at_ms" : " ORDER BY since_ms, key_text";
  values.emplace_back(std::int64_t{rows_max});
  std::vector<KeyRow> rows;
  if (Status done = QueryKeys(db, where + " LIMIT ?", values, rows); !done.ok()) return done;
  return rows;
}

Status UpdateChanged(Connection& db, std::string_view keyspace_id,
                     const std::vector<std::string>& keys, const KeyChange& change) {
  std::string sql = "UPDATE keymill_key SET state = ?, since_ms = ?, generation = generation + ?";
  std::vector<Value> values = {StateValue(*change.to), change.at_ms,
                               std::int64_t{change.generations}};
  if (change.expires_at_ms) {
    sql += ", expires_at_ms = ?";
    values.emplace_back(*change.expires_at_ms);
  }
  if (change.to == KeyState::kAvailable) sql += ", instance = '', token = '', owner = ''";
  values.emplace_back(Text(keyspace_id));
  return ExecuteOn(db, sql + " WHERE keyspace_id = ?", values, keys);
}

Status DeleteKeys(Connection& db, std::string_view keyspace_id,
                  const std::vector<std::string>& keys) {
  const std::array<Value, 1> values = {Text(keyspace_id)};
  return ExecuteOn(db, "DELETE FROM keymill_key WHERE keyspace_id = ?", values, keys);
}

Result<KeyTable::Page> SelectPage(Connection& db, std::string_view keyspace_id,
                                  const KeyTable::Query& query) {
  Cursor cursor;
  if (!query.cursor.empty()) {
    Result<Cursor> parsed = ParseCursor(query.cursor);
    if (!parsed.ok()) return parsed.status();
    cursor = *std::move(parsed);
  }
  KeyTable::Page page;
  const bool goes_on = !query.cursor.empty();
  for (std::size_t i = static_cast<std::size_t>(cursor.state); i < kKeyStates; ++i) {
    const auto state = static_cast<KeyState>(i);
    if (query.state && state != *query.state) continue;
    auto left = static_cast<std::uint32_t>(query.rows_max - page.rows.size());
    if (state == KeyState::kNote) left = std::min(left, kNotesPerPage);
    const std::size_t full = page.rows.size() + left;
    const Cursor* const after = goes_on && state == cursor.state ? &cursor : nullptr;
    Status done = SelectState(db, keyspace_id, state, after, query, left, page.rows);
    if (!done.ok()) return done;
    if (page.rows.size() < full) continue;
    page.cursor = CursorText(page.rows.back());
    break;
  }
  std::erase_if(page.rows, [&](const KeyRow& row) { return !IsAsked(row, query); });
  return page;
}

Result<KeyTable::Counts> CountByState(Connection& db, std::string_view keyspace_id) {
  // All states, because the index begins with them.
  std::vector<Value> values = {Text(keyspace_id)};
  for (std::size_t i = 0; i < kKeyStates; ++i) {
    values.push_back(StateValue(static_cast<KeyState>(i)));
  }
  Result<std::vector<Row>> rows =
      db.Query(fmt::format("SELECT state, count(*) FROM keymill_key WHERE keyspace_id = ? AND {} "
                           "GROUP BY state",
                           IsOneOf("state", kKeyStates)),
               values);
  if (!rows.ok()) return rows.status();
  KeyTable::Counts counts{};
  for (Row& row : *rows) {
    RowReader reader(row);
    const Result<KeyState> state = ParseKeyState(reader.TakeText());
    const std::uint64_t count = reader.TakeNumber();
    if (!state.ok()) return state.status();
    if (!reader.sound()) return Status(Code::kInternal, "count keys: damaged row");
    counts.at(static_cast<std::size_t>(*state)) = count;
  }
  return counts;
}

}  // namespace keymill::store::sql
