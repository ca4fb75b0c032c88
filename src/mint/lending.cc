// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The id that a borrower gets is "FIRST-END-RANDOM", the first two in hexadecimal: what the store
// counts for the first number, which leads to the ledger row, and when the loan expires. The row
// has "END-RANDOM" as its block id, so that neither can be changed unnoticed.

#include "mint/lending.h"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/utc_text.h"
#include "keys/written.h"
#include "mint/counter_keyspace.h"

namespace keymill::mint {
namespace {

template <typename Number>
std::optional<Number> ParseHex(std::string_view digits) {
  Number number = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number, 16);
  if (digits.empty() || error != std::errc() || end != last || number < 0) return {};
  return number;
}

LoanReturn NoSuchLoan() {
  return {.verdict = LoanVerdict::kUnknown,
          .detail = "there is no such block in this keyspace, or it was given back before"};
}

}  // namespace

std::optional<std::int64_t> LoanEndMs(std::string_view block_id) {
  const std::size_t dash = block_id.find('-');
  if (dash == std::string_view::npos) return {};
  return ParseHex<std::int64_t>(block_id.substr(0, dash));
}

Status CheckLendable(const Keyspace& keyspace) {
  const auto* const counter = dynamic_cast<const CounterKeyspace*>(&keyspace);
  const auto refuse = [&](std::string_view why) {
    return Status(Code::kInvalidArgument,
                  fmt::format("keyspace {} {}: mint its keys with POST /v1/keyspaces/{}/keys",
                              keyspace.name(), why, keyspace.name()));
  };
  if (counter == nullptr) {
    return refuse(fmt::format("is of kind {}, whose keys are not made from numbers in blocks",
                              KindName(keyspace.recipe().kind)));
  }
  if (counter->codec().shuffled()) {
    return refuse("is shuffled, and only the server has the secret that makes keys of its numbers");
  }
  if (!keyspace.recipe().blocklist.empty()) {
    return refuse("has a blocklist, and only the server knows which numbers it skips");
  }
  return {};
}

Result<Loan> Lender::Reserve(Keyspace& keyspace, const Wish& wish, std::uint64_t& index) {
  if (Status lendable = CheckLendable(keyspace); !lendable.ok()) return lendable;
  const keys::Codec& codec = dynamic_cast<CounterKeyspace&>(keyspace).codec();
  Result<std::string> timeline = permit_();
  if (!timeline.ok()) return timeline.status();
  Result<Witness> witness = store_.Witnessed(keyspace.id());
  if (!witness.ok()) return witness.status();
  Result<Block> block = store_.store().Reserve({.keyspace_id = keyspace.id(),
                                                .recipe_hash = keyspace.recipe_hash(),
                                                .count = wish.count,
                                                .witness = *witness,
                                                .timeline = *std::move(timeline),
                                                .instance = wish.instance,
                                                .reservation = wish.block_id,
                                                .above = 0,
                                                .skip_to = 0,
                                                .spent = {},
                                                .lend = wish.lend},
                                               store_.Deadline());
  if (!block.ok()) return block.status();
  // W1: the witness knows of a block before its first number can leave. Without that it is burned.
  if (Status seen = store_.Record(keyspace.id(), keyspace.name(), block->seen); !seen.ok()) {
    return seen;
  }
  index = block->first;
  std::array<char, keys::kKeySizeMax> key;
  const keys::Written written = codec.Encode(block->first, 1, {}, key.data());
  return Loan{.id = {},
              .first = codec.NumberOf(block->first),
              .count = block->count,
              .stride = codec.NumberOf(1) - codec.NumberOf(0),
              .expires_at_ms = 0,
              .first_key = std::string(key.data(), written.bytes)};
}

Result<Loan> Lender::Lend(Keyspace& keyspace, std::uint32_t count, std::chrono::seconds time) {
  const std::int64_t end_ms = store_.clock().WallMs() + std::chrono::milliseconds(time).count();
  const std::string block_id = fmt::format("{:x}-{}", end_ms, RandomHex(16));
  std::uint64_t index = 0;
  Result<Loan> loan = Reserve(
      keyspace, {.count = count, .block_id = block_id, .instance = store_.instance(), .lend = true},
      index);
  if (!loan.ok()) return loan;
  loan->id = fmt::format("{:x}-{}", index, block_id);
  loan->expires_at_ms = end_ms;
  return loan;
}

Result<Loan> Lender::Grant(Keyspace& keyspace, std::uint32_t count) {
  // Apart from what the instance holds for itself, or it would give segments back when it stops.
  std::uint64_t index = 0;
  return Reserve(keyspace,
                 {.count = count,
                  .block_id = RandomHex(16),
                  .instance = store_.instance() + "/segments",
                  .lend = false},
                 index);
}

Result<LoanReturn> Lender::TakeBack(Keyspace& keyspace, std::string_view loan_id,
                                    std::uint64_t used) {
  const std::size_t dash = loan_id.find('-');
  if (dash == std::string_view::npos) return NoSuchLoan();
  const auto index = ParseHex<std::uint64_t>(loan_id.substr(0, dash));
  const std::string_view block_id = loan_id.substr(dash + 1);
  const std::optional<std::int64_t> end_ms = LoanEndMs(block_id);
  if (!index || !end_ms || *index >= kNumberEnd) return NoSuchLoan();
  Result<std::optional<LedgerRow>> row =
      store_.store().FindBlock(keyspace.id(), *index, store_.Deadline());
  if (!row.ok()) return row.status();
  const bool lent = row->has_value() && (*row)->state == BlockState::kLent &&
                    (*row)->block_id == block_id && (*row)->first == *index;
  if (!lent) return NoSuchLoan();
  if (store_.clock().WallMs() >= *end_ms) {
    return LoanReturn{.verdict = LoanVerdict::kExpired,
                      .detail = fmt::format("the block expired at {}: its numbers are burned, and "
                                            "those that were not used by then must not be",
                                            UtcText(*end_ms))};
  }
  if (used > (*row)->count) {
    return LoanReturn{
        .verdict = LoanVerdict::kTooMany,
        .detail = fmt::format("used is {}: the block has {} numbers", used, (*row)->count)};
  }
  Result<std::string> timeline = permit_();
  if (!timeline.ok()) return timeline.status();
  Result<Witness> witness = store_.Witnessed(keyspace.id());
  if (!witness.ok()) return witness.status();
  // The store decides: of two who come with one id, one finds it lent.
  Result<Witness> seen = store_.store().GiveBack({.keyspace_id = keyspace.id(),
                                                  .block_id = std::string(block_id),
                                                  .first_unused = *index + used,
                                                  .witness = *witness,
                                                  .timeline = *std::move(timeline)},
                                                 store_.Deadline());
  if (seen.code() == Code::kNotFound) return NoSuchLoan();
  if (!seen.ok()) return seen.status();
  store_.Record(keyspace.id(), keyspace.name(), *seen).Ignore();  // Older is safe.
  return LoanReturn{.verdict = LoanVerdict::kTakenBack, .given_back = (*row)->count - used};
}

}  // namespace keymill::mint
