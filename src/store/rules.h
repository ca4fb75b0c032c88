// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What every store decides in the same way, as pure functions: a store locks a keyspace,
// asks here what to do, writes that down and commits. The statements differ from store to
// store; the decisions must not.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/store.h"

namespace keymill::store {

// The names that stores keep. kInternal when the text is none of them: the data is damaged
// or was written by a newer version.
Result<KeyspaceState> ParseKeyspaceState(std::string_view name);
Result<BlockState> ParseBlockState(std::string_view name);

// A record that no store can rightly hold (next outside [first, end], numbers beyond
// kNumberEnd, …) is kInternal: going on would hand out numbers from damaged data.
Status CheckRecord(const KeyspaceRecord& record);

// The record of a keyspace at its birth. kInternal as for CheckRecord.
Result<KeyspaceRecord> FirstRecord(const NewKeyspace& keyspace, std::int64_t wall_ms);

// Whether the keyspace may change hands at all for a caller with this recipe and witness.
//   kQuarantined         it is quarantined, or the store is behind the witness. In the
//                        second case (record.state is still kOpen) the caller must write
//                        the quarantine, with the message as its reason, and commit that.
//   kFailedPrecondition  retired, or the recipe differs.
Status CheckReservable(const KeyspaceRecord& record, std::string_view recipe_hash,
                       const Witness& witness);

// The reservation of the first block of a keyspace that has just been created.
// REQUIRES: part.count > 0
ReserveRequest FirstReserve(const EstablishRequest::Part& part, std::string_view instance);

// What a reservation takes.
struct Grant {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  bool from_returned = false;
};

// `returned` is the lowest returned row at or above request.above, if there is one. It is
// preferred: what a clean stop gave back is used before new numbers are.
// kExhausted when there is neither a returned row nor a new number.
Result<Grant> DecideGrant(const KeyspaceRecord& record, const std::optional<LedgerRow>& returned,
                          const ReserveRequest& request);

// Whether a grant of new numbers simply extends `last`, the keyspace's highest ledger row,
// so that a busy instance adds to one row instead of writing thousands.
bool ExtendsRow(const std::optional<LedgerRow>& last, const Grant& grant,
                const ReserveRequest& request);

// The rows that settle `row` at `first_unused`: a spent part, a returned part, or both.
// kInvalidArgument when `first_unused` lies outside the row.
Result<std::vector<LedgerRow>> SettleRow(const LedgerRow& row, std::uint64_t first_unused);

// Why nothing can be given back: nobody holds a block of this id.
Status NotHeld(std::string_view block_id);

// Where a recovered keyspace goes on.
Witness RecoveredWitness(const KeyspaceRecord& record, const Witness& floor);

// The ledger row for the numbers that a recovery skips: somebody may have handed them out
// in the time that the store has lost, so the record must not say that nobody did.
std::optional<LedgerRow> LostRow(const KeyspaceRecord& record, const Witness& recovered,
                                 std::int64_t wall_ms);

}  // namespace keymill::store
