// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The store as one instance uses it. What was seen of a keyspace is remembered, on disk where
// there is a witness, so that a store that went back in time is noticed by whoever asks next.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"
#include "mint/witness_file.h"
#include "store/metered_store.h"

namespace keymill::mint {

// Safe for concurrent use by multiple threads, except where it says otherwise.
class WitnessedStore {
 public:
  // `witness` may be null. `location` is where the store is, for messages and for the witness;
  // `timeout` how long one call may take.
  WitnessedStore(std::unique_ptr<Store> store, std::unique_ptr<WitnessFile> witness,
                 std::string location, std::chrono::milliseconds timeout, const Clock& clock);

  store::MeteredStore& store() { return *store_; }
  [[nodiscard]] const store::MeteredStore& store() const { return *store_; }
  [[nodiscard]] MonotonicTime Deadline() const { return clock_.Monotonic() + timeout_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }

  // Who this instance is, in the ledger: "host/pid/random".
  [[nodiscard]] const std::string& instance() const { return instance_; }

  // Which store it is. Set once, before anybody else calls.
  [[nodiscard]] const StoreIdentity& identity() const { return identity_; }
  void SetIdentity(StoreIdentity identity) { identity_ = std::move(identity); }

  // The store's own clock, where it has one: what it said last, and the time since.
  void SeeClock(const StoreIdentity& identity);
  [[nodiscard]] std::optional<std::int64_t> StoreWallMs() const;
  // The same, or what this machine's says: for what others read, whose clocks are not this one.
  [[nodiscard]] std::int64_t NowMs() const { return StoreWallMs().value_or(clock_.WallMs()); }

  // The highest that this process has seen.
  Witness Remembered(const std::string& keyspace_id);
  // The highest that this process, or any that shares its witness, has seen.
  // Errors: WitnessFile::Read's.
  Result<Witness> Witnessed(const std::string& keyspace_id);
  // All that the witness has seen in this store, remembered from now on.
  // Errors: WitnessFile::Read's.
  Result<std::vector<WitnessFile::Sighting>> Recall();
  // W1: what is recorded here is on disk before this returns.
  Status Record(const std::string& keyspace_id, std::string_view name, const Witness& seen);
  // The same for what a start has seen; binds the witness to the store, too.
  Status Bind(const std::vector<WitnessFile::Sighting>& sightings);
  // The ids that keyspaces of this name have had in this store.
  Result<std::vector<std::string>> IdsOf(std::string_view name);

 private:
  static constexpr std::int64_t kNoClock = std::numeric_limits<std::int64_t>::min();

  void Remember(const std::string& keyspace_id, const Witness& now);

  const std::unique_ptr<store::MeteredStore> store_;
  const std::unique_ptr<WitnessFile> witness_;
  const std::string location_;
  const std::chrono::milliseconds timeout_;
  const Clock& clock_;
  const std::string instance_;
  StoreIdentity identity_;
  // What the store's clock said when the monotonic one was at zero.
  std::atomic<std::int64_t> store_zero_ms_ = kNoClock;

  Mutex mu_;
  // What this process has seen itself, by keyspace id: the witness when there is no file.
  std::map<std::string, Witness> seen_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
