// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What keeps a pool in order, a little at a time: keys that were left behind or have expired come
// back where they may, and new ones are made when few are left.

#pragma once

#include <cstdint>
#include <optional>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "keys/key_shape.h"
#include "mint/key_register.h"
#include "mint/pool_options.h"

namespace keymill::mint {

class Keyspace;

// Not for concurrent use.
class PoolUpkeep {
 public:
  PoolUpkeep(const PoolOptions& options, const keys::KeyShape& shape)
      : options_(options), shape_(shape) {}

  // Keys that are available to everybody, as far as is known here; nothing before the first count.
  [[nodiscard]] std::optional<std::uint64_t> available() const { return available_; }
  void CountTaken(std::uint64_t keys);
  void CountReturned(std::uint64_t keys) {
    if (available_) *available_ += keys;
  }
  // The store has none.
  void FoundDry() { available_ = 0; }

  // Whether new keys are made when few are left, and have not been found to be all there.
  [[nodiscard]] bool makes_more() const { return options_.low > 0 && !full_; }

  // Does what is due: tidies, counts, makes new keys. All of it is bounded.
  struct Done {
    Status status = {};    // KeyRegister's errors.
    bool more = false;     // There is more to do, after the others had their turn.
    bool brought = false;  // Keys became available.
  };
  Done Keep(KeyRegister& keys, const Keyspace& keyspace, const Clock& clock);

 private:
  // Each changes a bounded number of rows; how many. REQUIRES for Expire and Recycle: MayRecycle.
  Result<std::size_t> Reclaim(KeyRegister& keys, const Keyspace& keyspace);
  Result<std::size_t> Expire(KeyRegister& keys, const Keyspace& keyspace);
  Result<std::size_t> Recycle(KeyRegister& keys, const Keyspace& keyspace);
  Done Tidy(KeyRegister& keys, const Keyspace& keyspace, const Clock& clock);
  // Whether this machine's clock and the store's agree, so that they may say that the time of a key
  // is over. Tells when that changes.
  bool MayRecycle(const KeyRegister& keys, const Keyspace& keyspace, const Clock& clock);
  void Count(KeyRegister& keys, const Keyspace& keyspace, const Clock& clock);
  Done TopUp(KeyRegister& keys, const Keyspace& keyspace);

  const PoolOptions options_;
  const keys::KeyShape& shape_;
  MonotonicTime tidy_due_{};
  MonotonicTime count_due_{};
  std::optional<std::uint64_t> available_;
  bool filling_ = false;  // On the way to twice the threshold.
  bool full_ = false;     // Nearly every key that it could have is there; until the next tidying.
  bool told_full_ = false;
  bool told_clock_ = false;  // That the clock is not the store's.
};

}  // namespace keymill::mint
