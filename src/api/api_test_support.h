// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the tests of all front ends share: a store that can be made to fail, and a flag between
// threads.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/key_table.h"
#include "keymill/store.h"

#include "base/mutex.h"
#include "store/memory/memory_store.h"

namespace keymill::api {

// A flag that one thread raises and another waits for. Outlives whoever is late.
class Signal {
 public:
  void Raise() {
    const MutexLock lock(mu_);
    raised_ = true;
    changed_.NotifyAll();
  }
  bool Lower() {
    const MutexLock lock(mu_);
    return std::exchange(raised_, false);
  }
  // False when nobody raised it in time.
  bool Await() {
    const MonotonicTime deadline = SystemClock().Monotonic() + std::chrono::seconds(20);
    const MutexLock lock(mu_);
    while (!raised_) {
      if (!changed_.WaitUntil(mu_, deadline) && !raised_) return false;
    }
    return true;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  bool raised_ KEYMILL_GUARDED_BY(mu_) = false;
};

// A memory store that is away when it is told to be.
class FaultyStore final : public Store {
 public:
  std::atomic<bool> down{false};
  std::atomic<bool> stuck{false};  // Calls do not return until `released` is raised.
  Signal entered;                  // A stuck call has begun.
  Signal released;

  // `keyless`: it cannot remember keys by name.
  explicit FaultyStore(const Clock& clock, bool keyless = false)
      : store_(store::OpenMemoryStore(clock)), keyless_(keyless) {}
  Store& inner() { return *store_; }

  Result<StoreIdentity> Identity(MonotonicTime deadline) override {
    return Try([&] { return store_->Identity(deadline); });
  }
  Result<Established> Establish(const EstablishRequest& request, MonotonicTime deadline) override {
    return Try([&] { return store_->Establish(request, deadline); });
  }
  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime deadline) override {
    return Try([&] { return store_->CreateKeyspace(keyspace, deadline); });
  }
  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) override {
    return Try([&] { return store_->FindKeyspace(name, deadline); });
  }
  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) override {
    return Try([&] { return store_->ListKeyspaces(deadline); });
  }
  Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) override {
    return Try([&] { return store_->RetireKeyspace(name, deadline); });
  }
  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) override {
    return Try([&] { return store_->Reserve(request, deadline); });
  }
  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) override {
    return Try([&] { return store_->GiveBack(request, deadline); });
  }
  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace, std::uint64_t number,
                                             MonotonicTime deadline) override {
    return Try([&] { return store_->FindBlock(keyspace, number, deadline); });
  }
  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime deadline) override {
    return Try([&] { return store_->ListLedger(keyspace, from, rows_max, deadline); });
  }
  Status Quarantine(std::string_view keyspace, std::string_view reason, const Witness& seen,
                    MonotonicTime deadline) override {
    return store_->Quarantine(keyspace, reason, seen, deadline);
  }
  Result<RecoverReport> Recover(std::string_view keyspace, const Witness& floor,
                                MonotonicTime deadline) override {
    return Try([&] { return store_->Recover(keyspace, floor, deadline); });
  }
  Status AgreeOnTimeline(std::string_view timeline, MonotonicTime deadline) override {
    return store_->AgreeOnTimeline(timeline, deadline);
  }
  KeyTable* key_table() override { return keyless_ ? nullptr : store_->key_table(); }

 private:
  template <typename Call>
  auto Try(Call call) -> decltype(call()) {
    if (stuck) {
      entered.Raise();
      released.Await();
    }
    if (down) return Status(Code::kUnavailable, "reach the store: connection refused");
    return call();
  }

  const std::unique_ptr<Store> store_;
  const bool keyless_;
};

// Puts a link into the store that was followed seven times, without anybody who serves links.
inline Status AddLink(Store& store, std::string_view keyspace, std::string_view key) {
  const Result<KeyspaceRecord> record = store.FindKeyspace(keyspace, MonotonicTime::max());
  if (!record.ok()) return record.status();
  const std::vector<KeyRow> rows = {{.key = std::string(key),
                                     .state = KeyState::kLink,
                                     .since_ms = 1'750'000'000'000,
                                     .generation = 7,
                                     .note = "https://example.com/"}};
  return store.key_table()
      ->AddKeys({.keyspace_id = record->id, .recipe_hash = record->recipe_hash, .witness = {}},
                rows, MonotonicTime::max())
      .status();
}

}  // namespace keymill::api
