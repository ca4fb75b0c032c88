// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Blocks as they are written down: what rules.h decides becomes rows of the ledger and the
// keyspace's next revision, inside the caller's transaction.

#pragma once

#include <cstdint>

#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

// See Store::Reserve. REQUIRES: `record` is locked and CheckReservable.
Result<Block> ReserveBlock(Connection& db, KeyspaceRecord record, const ReserveRequest& request,
                           std::int64_t wall_ms);

// See Store::GiveBack. REQUIRES: as above.
Result<Witness> ReturnBlock(Connection& db, const KeyspaceRecord& record,
                            const GiveBackRequest& request);

}  // namespace keymill::store::sql
