// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The SQL store's statements, one function each: rows in, structs out. All run inside the
// caller's transaction. Every value that comes back is checked before it is used.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

// A statement that must change exactly one row, because that row is locked by us: kInternal.
Status ExecuteOne(Connection& db, std::string_view sql, std::span<const Value> values);

// `column` is "name" or "id"; `lock` is the dialect's row lock.
Result<std::optional<KeyspaceRecord>> SelectKeyspace(Connection& db, std::string_view column,
                                                     std::string_view value, std::string_view lock);
// By name. `testified`: whether the schema is new enough to know that.
Result<std::vector<KeyspaceRecord>> SelectAllKeyspaces(Connection& db, std::string_view lock = {},
                                                       bool testified = true);
// A keyspace that is about to be changed, with what else decides whether it may be: one statement,
// because every reservation begins with it.
struct LockedKeyspace {
  KeyspaceRecord record;
  std::string timeline;  // What the dialect's expression gives.
  bool being_filled = false;
};
Result<std::optional<LockedKeyspace>> LockKeyspace(Connection& db, std::string_view id,
                                                   const Dialect& dialect);
Status InsertKeyspace(Connection& db, const KeyspaceRecord& record);

// Writes next, state, reason and what was testified, and moves rev from `rev_before` to
// `rev_after`. Changes exactly one row or fails: kInternal, because the row was locked.
Status UpdateKeyspace(Connection& db, const KeyspaceRecord& record, std::uint64_t rev_before,
                      std::uint64_t rev_after);
// The usual case: rev grows by one.
inline Status UpdateKeyspace(Connection& db, const KeyspaceRecord& record) {
  return UpdateKeyspace(db, record, record.rev, record.rev + 1);
}

// The row with the highest `first` at or below `number`.
Result<std::optional<LedgerRow>> SelectRowAtOrBelow(Connection& db, std::string_view keyspace_id,
                                                    std::uint64_t number);
// The lowest returned row from `above` on.
Result<std::optional<LedgerRow>> SelectReturned(Connection& db, std::string_view keyspace_id,
                                                std::uint64_t above);
// The row of this block, if it is in this state. REQUIRES: kHeld or kLent, in which a block has
// one.
Result<std::optional<LedgerRow>> SelectRow(Connection& db, std::string_view keyspace_id,
                                           BlockState state, std::string_view block_id);
Result<std::vector<LedgerRow>> SelectRows(Connection& db, std::string_view keyspace_id,
                                          std::uint64_t from, std::uint32_t rows_max);
Status InsertRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row);
// In one statement. REQUIRES: 1 to Store::kFillRowsMax rows.
Status InsertRows(Connection& db, std::string_view keyspace_id, std::span<const LedgerRow> rows);
Status DeleteRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row);
// Writes count and reservation of the row that begins at row.first.
Status ExtendRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row);
// Marks a held block spent; does nothing when it is not held.
Status MarkSpent(Connection& db, std::string_view keyspace_id, std::string_view block_id);
// Burns every row that is returned or lent, and says how many numbers the returned ones had.
Result<std::uint64_t> BurnLoose(Connection& db, std::string_view keyspace_id);

}  // namespace keymill::store::sql
