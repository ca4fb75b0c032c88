// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Sealing a store, and filling another from it: see Store::Seal and Store::BeginFill. All run
// inside the caller's transaction, which holds the lock of the store's row.
//
// Why no write slips past a seal. Locks are taken in one order: the store's row, then rows of
// keyspaces; what is read under a lock is the newest that was committed, however old the
// transaction's snapshot is.
//   - Seal locks the store's row and every keyspace's, in one transaction.
//   - Who changes a keyspace holds the lock of its row from its first statement on, which also
//     reads the row's state. Either it has committed before Seal got that lock, so that whoever
//     reads after the seal reads what it wrote; or it gets the lock after the seal was committed,
//     and reads that the keyspace is sealed. PostgreSQL (READ COMMITTED) and MariaDB read a row
//     that they had to wait for once more; SQLite has one writer at a time.
//   - Who makes a keyspace has no row to lock yet. It locks the store's row: either Seal finds the
//     new keyspace, because it looks for keyspaces with a statement that begins after it got
//     that lock, or the maker finds `moved_to`.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "keymill/store.h"

#include "store/sql/connection.h"
#include "store/sql/schema.h"

namespace keymill::store::sql {

// Seals the store of this row. `lock` is the dialect's row lock.
Status SealStore(Connection& db, StoreRow row, std::string_view moved_to, bool instead,
                 std::string_view lock);

// Makes `row` that of a store which is filled from `store_id`; what is in the tables stays.
Status StartFill(Connection& db, StoreRow row, std::string_view store_id, std::string_view fill,
                 std::int64_t wall_ms);

// Removes some of what an earlier fill has written. Returns whether nothing is left.
Result<bool> WipeSome(Connection& db);

// kInternal when the tables hold other numbers of them.
Status CheckFilled(Connection& db, std::uint64_t keyspaces, std::uint64_t rows, std::uint64_t keys);

}  // namespace keymill::store::sql
