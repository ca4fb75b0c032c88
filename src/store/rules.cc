// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"

namespace keymill {

namespace {
constexpr std::array<std::string_view, 3> kKeyspaceStates = {"open", "retired", "quarantined"};
constexpr std::array<std::string_view, 4> kBlockStates = {"held", "spent", "returned", "burned"};
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
                              .created_at_ms = wall_ms};
  if (Status sound = CheckRecord(record); !sound.ok()) return sound;
  return record;
}

ReserveRequest FirstReserve(const EstablishRequest::Part& part, std::string_view instance) {
  return {.keyspace_id = part.keyspace.id,
          .recipe_hash = part.keyspace.recipe_hash,
          .count = part.count,
          .witness = {},
          .instance = std::string(instance),
          .reservation = part.reservation,
          .above = 0,
          .spent = {}};
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
    const auto count = std::min<std::uint64_t>(request.count, returned->count);
    return Grant{returned->first, static_cast<std::uint32_t>(count), true};
  }
  const std::uint64_t left = record.end - record.next;  // B1: next never passes end.
  if (left == 0) {
    return Status(Code::kExhausted,
                  fmt::format("keyspace {} is exhausted: all {} numbers are taken", record.name,
                              record.end - record.first));
  }
  const auto count = std::min<std::uint64_t>(request.count, left);
  return Grant{record.next, static_cast<std::uint32_t>(count), false};
}

bool ExtendsRow(const std::optional<LedgerRow>& last, const Grant& grant,
                const ReserveRequest& request) {
  return !grant.from_returned && last && last->state == BlockState::kHeld &&
         last->instance == request.instance && last->first + last->count == grant.first;
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

Witness RecoveredWitness(const KeyspaceRecord& record, const Witness& floor) {
  return {.rev = std::max(record.rev, floor.rev) + 1,
          .next = std::min(std::max(record.next, floor.next), record.end)};
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
