// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The SQL store's statements, one function each: rows in, structs out. All run inside the
// caller's transaction. Every value that comes back is checked before it is used.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

// `column` is "name" or "id"; `lock` is the dialect's row lock.
Result<std::optional<KeyspaceRecord>> SelectKeyspace(Connection& db, std::string_view column,
                                                     std::string_view value, std::string_view lock);
Result<std::vector<KeyspaceRecord>> SelectAllKeyspaces(Connection& db);
Status InsertKeyspace(Connection& db, const KeyspaceRecord& record);

// Writes next, state and reason, and moves rev from `rev_before` to `rev_after`. Changes
// exactly one row or fails: kInternal, because the row was locked.
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
Result<std::optional<LedgerRow>> SelectHeldRow(Connection& db, std::string_view keyspace_id,
                                               std::string_view block_id);
Result<std::vector<LedgerRow>> SelectRows(Connection& db, std::string_view keyspace_id,
                                          std::uint64_t from, std::uint32_t rows_max);
Status InsertRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row);
Status DeleteRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row);
// Writes count and reservation of the row that begins at row.first.
Status ExtendRow(Connection& db, std::string_view keyspace_id, const LedgerRow& row);
// Marks a held block spent; does nothing when it is not held.
Status MarkSpent(Connection& db, std::string_view keyspace_id, std::string_view block_id);
// Burns every returned row and says how many numbers that were.
Result<std::uint64_t> BurnReturned(Connection& db, std::string_view keyspace_id);

}  // namespace keymill::store::sql
