// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/blocks.h"

#include <optional>
#include <string>
#include <vector>

#include "store/rules.h"
#include "store/sql/rows.h"

namespace keymill::store::sql {
namespace {

// Writes the ledger row of a grant and returns its block id.
Result<std::string> WriteGrant(Connection& db, const Grant& grant,
                               const std::optional<LedgerRow>& returned,
                               const ReserveRequest& request, std::int64_t wall_ms) {
  if (returned) {
    if (Status done = DeleteRow(db, request.keyspace_id, *returned); !done.ok()) return done;
    for (const LedgerRow& row : LeftOver(*returned, grant)) {
      if (Status done = InsertRow(db, request.keyspace_id, row); !done.ok()) return done;
    }
  }
  Result<std::optional<LedgerRow>> last = SelectRowAtOrBelow(db, request.keyspace_id, kNumberEnd);
  if (!last.ok()) return last.status();
  if (ExtendsRow(*last, grant, request)) {
    LedgerRow& row = **last;
    row.count += grant.count;
    row.reservation = request.reservation;
    if (Status done = ExtendRow(db, request.keyspace_id, row); !done.ok()) return done;
    return row.block_id;
  }
  const LedgerRow row = GrantedRow(grant, request, wall_ms);
  if (Status done = InsertRow(db, request.keyspace_id, row); !done.ok()) return done;
  return row.block_id;
}

// The row of the block, if it can be given back.
Result<std::optional<LedgerRow>> FindGivable(Connection& db, const GiveBackRequest& request) {
  Result<std::optional<LedgerRow>> row =
      SelectRow(db, request.keyspace_id, BlockState::kHeld, request.block_id);
  if (!row.ok() || row->has_value()) return row;
  // There may be many that are lent, and no index has their ids: its numbers lead to it.
  const std::uint64_t number = request.first_unused;
  for (const std::uint64_t at : {number, number == 0 ? 0 : number - 1}) {
    row = SelectRowAtOrBelow(db, request.keyspace_id, at);
    if (!row.ok()) return row;
    if (row->has_value() && (*row)->state == BlockState::kLent &&
        (*row)->block_id == request.block_id) {
      return row;
    }
  }
  return SelectRow(db, request.keyspace_id, BlockState::kLent, request.block_id);
}

}  // namespace

Result<Block> ReserveBlock(Connection& db, KeyspaceRecord record, const ReserveRequest& request,
                           std::int64_t wall_ms) {
  Result<std::optional<LedgerRow>> returned =
      SelectReturned(db, request.keyspace_id, request.above);
  if (!returned.ok()) return returned.status();
  Result<Grant> grant = DecideGrant(record, *returned, request);
  if (!grant.ok()) return grant.status();
  for (const std::string& spent : request.spent) {
    if (Status done = MarkSpent(db, request.keyspace_id, spent); !done.ok()) return done;
  }
  Result<std::string> block_id = WriteGrant(db, *grant, *returned, request, wall_ms);
  if (!block_id.ok()) return block_id.status();
  record.next = NextAfter(record, *grant);
  if (Status done = UpdateKeyspace(db, record); !done.ok()) return done;
  return Block{*block_id, grant->first, grant->count, {record.rev + 1, record.next}};
}

Result<Witness> ReturnBlock(Connection& db, const KeyspaceRecord& record,
                            const GiveBackRequest& request) {
  const std::string& keyspace_id = request.keyspace_id;
  Result<std::optional<LedgerRow>> row = FindGivable(db, request);
  if (!row.ok()) return row.status();
  if (!row->has_value()) return NotHeld(request.block_id);
  Result<std::vector<LedgerRow>> settled = SettleRow(**row, request.first_unused);
  if (!settled.ok()) return settled.status();
  if (Status done = DeleteRow(db, keyspace_id, **row); !done.ok()) return done;
  for (const LedgerRow& part : *settled) {
    if (Status done = InsertRow(db, keyspace_id, part); !done.ok()) return done;
  }
  if (Status done = UpdateKeyspace(db, record); !done.ok()) return done;
  return Witness{record.rev + 1, record.next};
}

}  // namespace keymill::store::sql
