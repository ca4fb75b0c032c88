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
// Of a row that begins below request.skip_to only the rest is, if there is one.
// kExhausted when there is neither a returned number nor a new one.
Result<Grant> DecideGrant(const KeyspaceRecord& record, const std::optional<LedgerRow>& returned,
                          const ReserveRequest& request);

// What becomes of a returned row once DecideGrant has seen it: what was skipped is burned, and what
// was not taken stays returned.
std::vector<LedgerRow> LeftOver(const LedgerRow& returned, const Grant& grant);

// The keyspace's first number that no block has held, after the grant.
std::uint64_t NextAfter(const KeyspaceRecord& record, const Grant& grant);

// Whether a grant of new numbers simply extends `last`, the keyspace's highest ledger row,
// so that a busy instance adds to one row instead of writing thousands.
bool ExtendsRow(const std::optional<LedgerRow>& last, const Grant& grant,
                const ReserveRequest& request);

// The row of a grant that extends none.
LedgerRow GrantedRow(const Grant& grant, const ReserveRequest& request, std::int64_t wall_ms);

// Whether a block in this state can be given back.
bool CanGiveBack(BlockState state);

// The rows that settle `row` at `first_unused`: a spent part, a returned part, or both.
// kInvalidArgument when `first_unused` lies outside the row.
Result<std::vector<LedgerRow>> SettleRow(const LedgerRow& row, std::uint64_t first_unused);

// Why nothing can be given back: nobody holds a block of this id.
Status NotHeld(std::string_view block_id);

// Why nothing can be changed any more: everything went to `moved_to`.
Status Sealed(std::string_view moved_to);

// Why a store cannot be used yet: nobody has ended its fill.
Status BeingFilled();

// Why a fill cannot go on: another has begun since, or it has ended.
Status FillIsOver();

// Whether a store that is sealed for `present` ("" when it is not) may be sealed for `moved_to`.
// kFailedPrecondition when that is another one and nobody said `instead`.
Status CheckSealTarget(std::string_view present, std::string_view moved_to, bool instead);

// Whether a store with this keyspace can be sealed; kFailedPrecondition when it is quarantined.
Status CheckSealable(const KeyspaceRecord& record);

// Seals a keyspace that is open, or was sealed for another store. Returns whether that has changed
// `record`: one that is retired stays so.
bool ApplySeal(KeyspaceRecord& record, std::string_view moved_to);

// Whether a fill from the store `from` may begin where `store_id` is ("" when nothing is there)
// and `fill` is under way ("" when none is). kFailedPrecondition.
Status CheckFillable(std::string_view store_id, std::string_view fill, std::string_view from);

// A keyspace of a sealed store, as the store has it that is filled from there.
KeyspaceRecord Refilled(KeyspaceRecord record);

// Why a caller has to compare its witness first. kUnavailable.
Status TimelineChanged();

// The highest that both know.
Witness Highest(const Witness& a, const Witness& b);

// Quarantines a keyspace that is open, and adds to what is testified of one that is quarantined;
// one that is retired or sealed stays as it is. Returns whether that has changed `record`.
bool ApplyQuarantine(KeyspaceRecord& record, std::string_view reason, const Witness& seen);

// Where a recovered keyspace goes on: above `floor` and above what was testified.
Witness RecoveredWitness(const KeyspaceRecord& record, const Witness& floor);

// The ledger row for the numbers that a recovery skips: somebody may have handed them out
// in the time that the store has lost, so the record must not say that nobody did.
std::optional<LedgerRow> LostRow(const KeyspaceRecord& record, const Witness& recovered,
                                 std::int64_t wall_ms);

}  // namespace keymill::store
