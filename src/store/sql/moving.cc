// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/moving.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "store/rules.h"
#include "store/sql/rows.h"

namespace keymill::store::sql {
namespace {

// So that one transaction, and one statement, stay far below any deadline.
constexpr int kWipeRows = 10'000;

// The only value of the first row; nothing when there is no row.
Result<std::optional<Value>> SelectOne(Connection& db, std::string_view sql,
                                       std::span<const Value> values) {
  Result<std::vector<Row>> rows = db.Query(sql, values);
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::optional<Value>();
  return std::optional<Value>(std::move(rows->front().at(0)));
}

Status CheckCount(Connection& db, std::string_view table, std::uint64_t wanted) {
  Result<std::optional<Value>> found =
      SelectOne(db, fmt::format("SELECT count(*) FROM {}", table), {});
  if (!found.ok()) return found.status();
  const auto* const count = found->has_value() ? std::get_if<std::int64_t>(&**found) : nullptr;
  if (count != nullptr && std::cmp_equal(*count, wanted)) return {};
  return {Code::kInternal, fmt::format("fill the store: {} has {} rows instead of {}", table,
                                       count == nullptr ? -1 : *count, wanted)};
}

// Each removes some rows of its table and returns whether there were none.
Result<bool> WipeSomeKeys(Connection& db) {
  Result<std::optional<Value>> last =
      SelectOne(db,
                fmt::format("SELECT key_text FROM keymill_key ORDER BY key_text LIMIT 1 OFFSET {}",
                            kWipeRows),
                {});
  if (!last.ok()) return last.status();
  const std::array<Value, 1> some = {last->value_or(Value())};
  Result<std::int64_t> gone = last->has_value()
                                  ? db.Execute("DELETE FROM keymill_key WHERE key_text <= ?", some)
                                  : db.Execute("DELETE FROM keymill_key", {});
  if (!gone.ok()) return gone.status();
  return *gone == 0;
}

Result<bool> WipeSomeRows(Connection& db) {
  Result<std::optional<Value>> keyspace =
      SelectOne(db, "SELECT keyspace_id FROM keymill_ledger LIMIT 1", {});
  if (!keyspace.ok()) return keyspace.status();
  if (!keyspace->has_value()) return true;
  const std::array<Value, 1> all = {**keyspace};
  Result<std::optional<Value>> last =
      SelectOne(db,
                fmt::format("SELECT first_number FROM keymill_ledger WHERE keyspace_id = ? ORDER "
                            "BY first_number LIMIT 1 OFFSET {}",
                            kWipeRows),
                all);
  if (!last.ok()) return last.status();
  const std::array<Value, 2> some = {**keyspace, last->value_or(Value())};
  Result<std::int64_t> gone =
      last->has_value()
          ? db.Execute("DELETE FROM keymill_ledger WHERE keyspace_id = ? AND first_number <= ?",
                       some)
          : db.Execute("DELETE FROM keymill_ledger WHERE keyspace_id = ?", all);
  if (!gone.ok()) return gone.status();
  return false;
}

}  // namespace

Status SealStore(Connection& db, StoreRow row, std::string_view moved_to, bool instead,
                 std::string_view lock) {
  if (Status can = CheckSealTarget(row.moved_to, moved_to, instead); !can.ok()) return can;
  if (row.moved_to == moved_to) return {};
  Result<std::vector<KeyspaceRecord>> keyspaces = SelectAllKeyspaces(db, lock);
  if (!keyspaces.ok()) return keyspaces.status();
  for (const KeyspaceRecord& keyspace : *keyspaces) {
    if (Status movable = CheckSealable(keyspace); !movable.ok()) return movable;
  }
  for (KeyspaceRecord& keyspace : *keyspaces) {
    if (!ApplySeal(keyspace, moved_to)) continue;
    if (Status done = UpdateKeyspace(db, keyspace); !done.ok()) return done;
  }
  row.moved_to = moved_to;
  return UpdateStore(db, row);
}

Status StartFill(Connection& db, StoreRow row, std::string_view store_id, std::string_view fill,
                 std::int64_t wall_ms) {
  if (Status fillable = CheckFillable(row.store_id, row.fill, store_id); !fillable.ok()) {
    return fillable;
  }
  row.store_id = store_id;
  row.fill = fill;
  row.created_at_ms = wall_ms;
  return UpdateStore(db, row);
}

Result<bool> WipeSome(Connection& db) {
  Result<bool> empty = WipeSomeKeys(db);
  if (empty.ok() && *empty) empty = WipeSomeRows(db);
  if (!empty.ok() || !*empty) return empty;
  Result<std::int64_t> gone = db.Execute("DELETE FROM keymill_keyspaces", {});
  if (!gone.ok()) return gone.status();
  return true;
}

Status CheckFilled(Connection& db, std::uint64_t keyspaces, std::uint64_t rows,
                   std::uint64_t keys) {
  if (Status right = CheckCount(db, "keymill_keyspaces", keyspaces); !right.ok()) return right;
  if (Status right = CheckCount(db, "keymill_ledger", rows); !right.ok()) return right;
  return CheckCount(db, "keymill_key", keys);
}

}  // namespace keymill::store::sql
