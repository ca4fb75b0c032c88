// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A keyspace whose keys are UUIDs or ULIDs: made here, of random bits and the clock. The store
// knows that it exists and whether it may be used, and is asked for nothing else.

#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"
#include "keys/ulid.h"
#include "keys/uuid.h"
#include "mint/keyspace.h"
#include "mint/refill_policy.h"

namespace keymill::mint {

class RandomKeyspace final : public Keyspace {
 public:
  // REQUIRES: the recipe's kind is kUuid4, kUuid7 or kUlid.
  RandomKeyspace(KeyspaceRecord record, const Recipe& recipe, std::uint32_t waiters_max,
                 LowSignal low_signal, const Clock& clock);

  // Keys of kUuid7 and kUlid grow within a process: a request that begins after another one's
  // answer gets larger ones. They are made by one generator, under a lock that is held for as long
  // as it takes to write a few; random bits are drawn before.
  keys::Written TakeKeys(std::uint32_t count, std::string_view after, char* out) override;

  [[nodiscard]] bool CouldIssue(std::string_view key) const override;

  // From the key alone. Nobody keeps a record, so that the state is unknown.
  Result<Explanation> Explain(std::string_view key, WitnessedStore& store) override;

  Refilled Refill(const Supply& supply) override;
  Closed Close(Closing& closing) override;

 private:
  [[nodiscard]] bool HasKeys() const override;
  void Drop() override KEYMILL_REQUIRES(mu_) { dropped_.store(true, std::memory_order_relaxed); }
  void Tell(Stats& stats) override KEYMILL_REQUIRES(mu_);

  // Writes `count` keys without their prefix, one after the other.
  Status MakeBodies(std::uint32_t count, char* out);
  Status MakeUuid7s(std::uint32_t count, std::span<const std::uint8_t> random, char* out);
  Status MakeUlids(std::span<const std::uint8_t, keys::UlidGenerator::kRandomSize> random,
                   std::uint32_t count, char* out);

  const std::size_t body_size_;
  const Clock& clock_;
  std::atomic<bool> dropped_{false};
  std::atomic<std::uint64_t> made_{0};

  Mutex generate_mu_;
  keys::Uuid7Generator uuid7_ KEYMILL_GUARDED_BY(generate_mu_);
  keys::UlidGenerator ulid_ KEYMILL_GUARDED_BY(generate_mu_);
  std::int64_t ulid_ms_ KEYMILL_GUARDED_BY(generate_mu_) = 0;  // The latest that it was given.

  RateMeter rate_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
