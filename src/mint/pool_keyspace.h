// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A keyspace whose keys are random, made ahead and kept in the store one by one. An instance takes
// many at a time, so that nobody else can have them, and hands them out from memory. Where each key
// is audited they are marked as used just before they leave, all that are waited for in one
// transaction.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/key_table.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"
#include "keys/key_shape.h"
#include "mint/key_pile.h"
#include "mint/key_register.h"
#include "mint/keyspace.h"
#include "mint/pool_options.h"
#include "mint/pool_upkeep.h"
#include "mint/refill_policy.h"

namespace keymill::mint {

class PoolKeyspace final : public Keyspace {
 public:
  PoolKeyspace(KeyspaceRecord record, Recipe recipe, keys::KeyShape shape,
               const PoolOptions& options, const Clock& clock, std::uint32_t waiters_max,
               LowSignal low_signal);

  // Takes a lock, but never one that is held while the store is asked.
  keys::Written TakeKeys(std::uint32_t count, std::string_view after, char* out) override;

  // The store knows which keys there are, and lets nobody have one twice.
  [[nodiscard]] bool CouldIssue(std::string_view /*key*/) const override { return false; }
  Result<Explanation> Explain(std::string_view key, WitnessedStore& store) override;

  // ---- For the refiller: one thread at a time. ----

  Refilled Refill(const Supply& supply) override;
  Result<std::string> LostHold(const Supply& supply) override;
  Closed Close(Closing& closing) override;

 private:
  // Keys that were marked as used by us, and that the witness does not know of yet.
  struct Unattested {
    KeyPile::Batch batch;
    Witness seen;
  };
  // Keys that are reserved for us under one token.
  struct Hold {
    std::string token;
    std::vector<std::string> keys;
  };

  [[nodiscard]] bool HasKeys() const override { return ready_.load(std::memory_order_relaxed) > 0; }
  void Drop() override KEYMILL_REQUIRES(mu_);
  void Tell(Stats& stats) override KEYMILL_REQUIRES(mu_);

  [[nodiscard]] bool audits_keys() const { return recipe().audit == Audit::kKey; }

  // How supplying came out.
  struct Served {
    Status status = {};    // What the store said in the end.
    bool granted = false;  // There are more keys than before.
    bool dry = false;      // No key was available.
    bool more = false;     // There is need for more than fits into one turn.
  };
  // Takes, and marks, what is needed now.
  Served Serve(const Supply& supply, KeyRegister& keys);
  Served TakeSome(const Supply& supply, KeyRegister& keys, std::uint32_t count);
  Served MarkSome(const Supply& supply, KeyRegister& keys, std::uint32_t count);
  // Why nobody gets a key.
  [[nodiscard]] Status Exhausted() const;

  // How many keys to take from the store now, and how many to mark.
  std::uint32_t WantedCount(const RefillOptions& options);
  std::uint32_t MarkCount();

  // How long a key that expires may lie here; see the .cc.
  [[nodiscard]] KeyPile::UseBy UseByFrom(MonotonicTime begun, std::int64_t begun_ms) const;
  // 0: there is no end to it.
  [[nodiscard]] std::chrono::milliseconds HalfLife() const;
  [[nodiscard]] std::int64_t ExpiryFrom(const Supply& supply) const;
  void GiveUpOld() KEYMILL_REQUIRES(pile_mu_);
  // What was given up goes back to the store, so much as others can wait for; whether there is
  // more. What the store does not take now is kept for the next time.
  Result<bool> ReturnOld(KeyRegister& keys);
  // That these keys of the batch are ours is not looked for any more.
  void ForgetReturned(const std::vector<std::string>& keys, const KeyPile::Batch& batch)
      KEYMILL_REQUIRES(mu_);
  // W1: lets go of what was marked once the witness knows of it.
  Status Release(KeyRegister& keys);
  // Keys that need no other take to leave.
  std::uint64_t Ahead() KEYMILL_REQUIRES(mu_);

  const keys::KeyShape shape_;
  const PoolOptions options_;
  const Clock& clock_;
  PoolUpkeep upkeep_;  // Of the refiller alone, as are the next.
  // How many keys the store may be asked to take and to take back at once.
  std::uint32_t take_max_ = static_cast<std::uint32_t>(KeyTable::kKeysMax);
  std::uint32_t return_max_ = static_cast<std::uint32_t>(KeyTable::kKeysMax);

  std::atomic<std::uint64_t> ready_{0};   // Size of the pile.
  std::atomic<std::uint64_t> issued_{0};  // Taken from it so far.
  std::atomic<std::uint64_t> low_mark_;   // Signal once so many are.

  // Inside mu_, and held for as long as it takes to copy a few keys.
  Mutex pile_mu_;
  KeyPile pile_ KEYMILL_GUARDED_BY(pile_mu_);

  std::optional<Unattested> unattested_ KEYMILL_GUARDED_BY(mu_);
  std::deque<Hold> holds_ KEYMILL_GUARDED_BY(mu_);          // Only where each key is audited.
  std::deque<KeyPile::Batch> old_ KEYMILL_GUARDED_BY(mu_);  // Given up, and not back in the store.
  // The newest that the store has marked for us: it has everything that came before.
  std::optional<KeyPile::Sample> newest_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t marked_ KEYMILL_GUARDED_BY(mu_) = 0;  // Keys, where each is audited.
  std::uint64_t last_take_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t consumed_before_last_take_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t takes_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t returned_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::optional<std::uint64_t> available_ KEYMILL_GUARDED_BY(mu_);  // As upkeep_ has it.
  RateMeter rate_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
