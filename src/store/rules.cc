// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"

namespace keymill {

namespace {
constexpr std::array<std::string_view, 4> kKeyspaceStates = {"open", "retired", "quarantined",
                                                             "sealed"};
constexpr std::array<std::string_view, 5> kBlockStates = {"held", "spent", "returned", "burned",
                                                          "lent"};
}  // namespace

std::string_view KeyspaceStateName(KeyspaceState state) {
  return kKeyspaceStates.at(static_cast<std::size_t>(state));
}

std::string_view BlockStateName(BlockState state) {
  return kBlockStates.at(static_cast<std::size_t>(state));
}

namespace store {
namespace {

template <typename Enum, std::size_t N>
Result<Enum> ParseName(const std::array<std::string_view, N>& names, std::string_view name,
                       std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return Status(Code::kInternal, fmt::format("read {}: the store says \"{}\"", what, name));
  }
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

Result<KeyspaceState> ParseKeyspaceState(std::string_view name) {
  return ParseName<KeyspaceState>(kKeyspaceStates, name, "keyspace state");
}

Result<BlockState> ParseBlockState(std::string_view name) {
  return ParseName<BlockState>(kBlockStates, name, "block state");
}

Status CheckRecord(const KeyspaceRecord& record) {
  const bool sound = record.first < record.end && record.end <= kNumberEnd &&
                     record.next >= record.first && record.next <= record.end && record.rev >= 1;
  if (sound) return {};
  return {Code::kInternal,
          fmt::format("read keyspace {}: damaged row (first {}, next {}, end {}, rev {})",
                      record.name, record.first, record.next, record.end, record.rev)};
}

Result<KeyspaceRecord> FirstRecord(const NewKeyspace& keyspace, std::int64_t wall_ms) {
  const KeyspaceRecord record{.name = keyspace.name,
                              .id = keyspace.id,
                              .recipe = keyspace.recipe,
                              .recipe_hash = keyspace.recipe_hash,
                              .secret = keyspace.secret,
                              .state = KeyspaceState::kOpen,
                              .reason = "",
                              .first = keyspace.first,
                              .end = keyspace.end,
                              .next = keyspace.first,
                              .rev = 1,
                              .created_at_ms = wall_ms,
                              .testified = {}};
  if (Status sound = CheckRecord(record); !sound.ok()) return sound;
  return record;
}

ReserveRequest FirstReserve(const EstablishRequest::Part& part, std::string_view instance) {
  return {.keyspace_id = part.keyspace.id,
          .recipe_hash = part.keyspace.recipe_hash,
          .count = part.count,
          .witness = {},
          .timeline = {},
          .instance = std::string(instance),
          .reservation = part.reservation,
          .above = 0,
          .skip_to = 0,
          .spent = {},
          .lend = false};
}

Status CheckReservable(const KeyspaceRecord& record, std::string_view recipe_hash,
                       const Witness& witness) {
  if (record.state == KeyspaceState::kQuarantined) {
    return {Code::kQuarantined,
            fmt::format("keyspace {} is quarantined: {}", record.name, record.reason)};
  }
  if (record.state == KeyspaceState::kRetired) {
    return {Code::kFailedPrecondition, fmt::format("keyspace {} is retired", record.name)};
  }
  if (record.state == KeyspaceState::kSealed) return Sealed(record.reason);
  if (record.recipe_hash != recipe_hash) {
    return {Code::kFailedPrecondition,
            fmt::format("keyspace {}: the recipe in the store is another one", record.name)};
  }
  if (record.rev < witness.rev || record.next < witness.next) {
    return {Code::kQuarantined,
            fmt::format("the store went back: revision {} and next number {} were seen, now it "
                        "says {} and {}",
                        witness.rev, witness.next, record.rev, record.next)};
  }
  return {};
}

Result<Grant> DecideGrant(const KeyspaceRecord& record, const std::optional<LedgerRow>& returned,
                          const ReserveRequest& request) {
  KEYMILL_CHECK(request.count >= 1 && request.count <= Store::kBlockCountMax);
  if (returned) {
    KEYMILL_CHECK(returned->state == BlockState::kReturned && returned->first >= request.above);
    const std::uint64_t first = std::max(returned->first, request.skip_to);
    const std::uint64_t end = returned->first + returned->count;
    if (first < end) {
      const auto count = std::min<std::uint64_t>(request.count, end - first);
      return Grant{first, static_cast<std::uint32_t>(count), true};
    }
  }
  const std::uint64_t first = std::max(record.next, request.skip_to);
  if (first >= record.end) {  // B1: next never passes end.
    return Status(Code::kExhausted,
                  fmt::format("keyspace {} is exhausted: all {} numbers are taken", record.name,
                              record.end - record.first));
  }
  const auto count = std::min<std::uint64_t>(request.count, record.end - first);
  return Grant{first, static_cast<std::uint32_t>(count), false};
}

std::vector<LedgerRow> LeftOver(const LedgerRow& returned, const Grant& grant) {
  const std::uint64_t end = returned.first + returned.count;
  const std::uint64_t skipped_end = grant.from_returned ? grant.first : end;
  std::vector<LedgerRow> rows;
  if (skipped_end > returned.first) {
    rows.push_back(returned);
    rows.back().count = skipped_end - returned.first;
    rows.back().state = BlockState::kBurned;
  }
  const std::uint64_t taken_end = grant.from_returned ? grant.first + grant.count : end;
  if (taken_end < end) {
    rows.push_back(returned);
    rows.back().first = taken_end;
    rows.back().count = end - taken_end;
  }
  return rows;
}

std::uint64_t NextAfter(const KeyspaceRecord& record, const Grant& grant) {
  return grant.from_returned ? record.next : grant.first + grant.count;
}

bool ExtendsRow(const std::optional<LedgerRow>& last, const Grant& grant,
                const ReserveRequest& request) {
  return !grant.from_returned && !request.lend && last && last->state == BlockState::kHeld &&
         last->instance == request.instance && last->first + last->count == grant.first;
}

LedgerRow GrantedRow(const Grant& grant, const ReserveRequest& request, std::int64_t wall_ms) {
  return {request.reservation,
          grant.first,
          grant.count,
          request.instance,
          request.reservation,
          wall_ms,
          request.lend ? BlockState::kLent : BlockState::kHeld};
}

bool CanGiveBack(BlockState state) {
  return state == BlockState::kHeld || state == BlockState::kLent;
}

Result<std::vector<LedgerRow>> SettleRow(const LedgerRow& row, std::uint64_t first_unused) {
  const std::uint64_t end = row.first + row.count;
  if (first_unused < row.first || first_unused > end) {
    return Status(Code::kInvalidArgument,
                  fmt::format("give back block {}: {} lies outside [{}, {}]", row.block_id,
                              first_unused, row.first, end));
  }
  std::vector<LedgerRow> settled;
  if (first_unused > row.first) {
    settled.push_back(row);
    settled.back().count = first_unused - row.first;
    settled.back().state = BlockState::kSpent;
  }
  if (first_unused < end) {
    settled.push_back(row);
    settled.back().first = first_unused;
    settled.back().count = end - first_unused;
    settled.back().state = BlockState::kReturned;
  }
  return settled;
}

Status NotHeld(std::string_view block_id) {
  return {Code::kNotFound, fmt::format("give back block {}: not held", block_id)};
}

Status Sealed(std::string_view moved_to) {
  return {Code::kFailedPrecondition,
          fmt::format("the store was sealed: everything in it went to {}. Use that one", moved_to)};
}

Status BeingFilled() {
  return {Code::kFailedPrecondition,
          "the store is being filled and not complete: let `keymill store copy` end, or run it "
          "again"};
}

Status FillIsOver() {
  return {Code::kFailedPrecondition, "fill the store: another fill has begun, or this one ended"};
}

Status CheckSealTarget(std::string_view present, std::string_view moved_to, bool instead) {
  if (moved_to.empty()) return {Code::kInvalidArgument, "seal the store: say for which one"};
  if (present.empty() || present == moved_to || instead) return {};
  return Sealed(present);
}

Status CheckSealable(const KeyspaceRecord& record) {
  if (record.state != KeyspaceState::kQuarantined) return {};
  return {Code::kFailedPrecondition,
          fmt::format("seal the store: keyspace {} is quarantined. Run `keymill recover {} --store "
                      "URL` first, with the URL of this store",
                      record.name, record.name)};
}

bool ApplySeal(KeyspaceRecord& record, std::string_view moved_to) {
  if (record.state == KeyspaceState::kRetired) return false;
  record.state = KeyspaceState::kSealed;
  record.reason = moved_to;
  return true;
}

Status CheckFillable(std::string_view store_id, std::string_view fill, std::string_view from) {
  if (store_id.empty() || (!fill.empty() && store_id == from)) return {};
  return {Code::kFailedPrecondition,
          fill.empty() ? "fill the store: there is one already. Name an empty place"
                       : "fill the store: it is being filled from another one. Name an empty "
                         "place, or empty this one"};
}

KeyspaceRecord Refilled(KeyspaceRecord record) {
  if (record.state != KeyspaceState::kSealed) return record;
  record.state = KeyspaceState::kOpen;
  record.reason.clear();
  return record;
}

Status TimelineChanged() {
  return {Code::kUnavailable, "the store's server was started anew or is another one"};
}

Witness Highest(const Witness& a, const Witness& b) {
  return {.rev = std::max(a.rev, b.rev), .next = std::max(a.next, b.next)};
}

bool ApplyQuarantine(KeyspaceRecord& record, std::string_view reason, const Witness& seen) {
  // A retired one stays retired: a recovery would open it again.
  const bool open = record.state == KeyspaceState::kOpen;
  if (!open && record.state != KeyspaceState::kQuarantined) return false;
  const Witness testified = Highest(record.testified, seen);
  if (!open && testified == record.testified) return false;
  if (open) record.reason = reason;
  record.state = KeyspaceState::kQuarantined;
  record.testified = testified;
  return true;
}

Witness RecoveredWitness(const KeyspaceRecord& record, const Witness& floor) {
  const Witness known = Highest(Highest({record.rev, record.next}, record.testified), floor);
  return {.rev = known.rev + 1, .next = std::min(known.next, record.end)};
}

std::optional<LedgerRow> LostRow(const KeyspaceRecord& record, const Witness& recovered,
                                 std::int64_t wall_ms) {
  if (recovered.next == record.next) return {};
  const std::string id = RandomHex(16);
  return LedgerRow{id, record.next, recovered.next - record.next, "recover",
                   id, wall_ms,     BlockState::kBurned};
}

}  // namespace store
}  // namespace keymill
