// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Numbers for those who hand them out themselves. A loan is a block of its own in the store, which
// may come back once, at any instance, until it expires; a segment never comes back. Expiry only
// says until when a loan may come back: what does not is nobody else's, ever, so that no clock
// decides whether a number is unique (G2).

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "keymill/status.h"

#include "mint/witnessed_store.h"

namespace keymill::mint {

class Keyspace;

inline constexpr std::uint32_t kLoanCountMax = 1'000'000;
inline constexpr std::chrono::seconds kLoanTimeMax{86'400};

// `count` numbers from `first` on, each `stride` above the one before.
struct Loan {
  std::string id;
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  std::uint64_t stride = 1;
  std::int64_t expires_at_ms = 0;  // 0: it never comes back.
  std::string first_key;           // The text of `first`.
};

enum class LoanVerdict : std::uint8_t {
  kTakenBack,
  kUnknown,  // There is no such loan, or it came back before.
  kExpired,
  kTooMany,  // More were used than it had.
};

struct LoanReturn {
  LoanVerdict verdict = LoanVerdict::kUnknown;
  std::string detail = {};       // Why not, for people.
  std::uint64_t given_back = 0;  // How many will be handed out again.
};

// Whether whoever has numbers of this keyspace can make its keys: not where it takes the secret,
// or where some numbers have none. kInvalidArgument, for people.
Status CheckLendable(const Keyspace& keyspace);

// When a loan with this block id expires; nothing when it is no loan's.
std::optional<std::int64_t> LoanEndMs(std::string_view block_id);

// Safe for concurrent use by multiple threads.
class Lender {
 public:
  // See KeyRegister::Permit.
  using Permit = std::function<Result<std::string>()>;

  Lender(WitnessedStore& store, Permit permit) : store_(store), permit_(std::move(permit)) {}

  // Up to `count` numbers, at least one. They are in the store and in the witness before this
  // returns (D1, W1).
  // Errors: CheckLendable's; Store::Reserve's, after which whatever was reserved is lost.
  // REQUIRES: 1 <= count <= kLoanCountMax, 1 s <= time <= kLoanTimeMax
  Result<Loan> Lend(Keyspace& keyspace, std::uint32_t count, std::chrono::seconds time);

  // The same for good: nobody gives it back.
  Result<Loan> Grant(Keyspace& keyspace, std::uint32_t count);

  // The first `used` numbers of the loan were used, the others never will be.
  // Errors: Store::GiveBack's. After kUnknownOutcome it may be called again.
  Result<LoanReturn> TakeBack(Keyspace& keyspace, std::string_view loan_id, std::uint64_t used);

 private:
  struct Wish {
    std::uint32_t count = 0;
    std::string block_id;
    std::string instance;
    bool lend = false;
  };
  // Without `id` and `expires_at_ms`; `index` becomes what the store counts for `first`.
  Result<Loan> Reserve(Keyspace& keyspace, const Wish& wish, std::uint64_t& index);

  WitnessedStore& store_;
  const Permit permit_;
};

}  // namespace keymill::mint
