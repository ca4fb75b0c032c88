// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the engine's tests share: an engine whose every step a test makes itself, and a store
// that fails on demand.

#pragma once

#include <atomic>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/mutex.h"
#include "mint/counter_keyspace.h"
#include "mint/engine.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace keymill::mint {

// What a FaultyStore does next to one kind of call, and what it was asked for. Shared with the
// test, which looks at it and changes it while no call is in flight.
struct Faults {
  enum class When : std::uint8_t { kBefore, kAfter };  // Before: the call never arrives.
  struct Fault {
    Status status;
    When when = When::kBefore;
  };
  std::deque<Fault> establish;
  std::deque<Fault> reserve;
  std::deque<Fault> give_back;
  std::deque<Fault> quarantine = {};
  std::deque<Fault> recover = {};
  std::deque<Fault> list;
  std::deque<Fault> find;
  std::deque<Fault> add_keys = {};
  std::deque<Fault> take_keys = {};
  std::deque<Fault> change_keys = {};
  std::deque<Fault> count_keys = {};
  std::atomic<int> add_calls = 0;
  std::atomic<int> find_key_calls = 0;
  std::size_t change_keys_max = SIZE_MAX;         // To change more of them takes too long.
  std::vector<KeyChange> changes = {};            // That were asked for.
  std::vector<KeyTable::TakeRequest> takes = {};  // The same.
  std::function<void()> before_change = {};
  std::atomic<int> reserve_calls = 0;
  std::int64_t store_now_ms = 0;        // What the store's clock says, if it has one.
  std::vector<Block> granted;           // By the store below, whatever the caller was told.
  std::function<void()> after_reserve;  // Between the store's answer and the caller's return.
  std::function<void()> after_list;
  std::deque<Fault> identity;
  std::string timeline = {};  // Instead of the store's own, if not "".
  std::string agreed = {};    // In that timeline's place.
  std::vector<StoreFinding> findings = {};
  std::atomic<int> inspections = 0;
  std::shared_ptr<Store> instead = {};  // What the calls reach from now on, if anything.

  // Passes a call on, unless `kind` holds a fault for it.
  template <typename Pass>
  auto CallOrFail(std::deque<Fault>& kind, Pass pass) -> decltype(pass()) {
    const std::optional<Fault> fault = Next(kind);
    if (!fault) return pass();
    if (fault->when == When::kAfter) pass().status().Ignore();
    return fault->status;
  }

  template <typename Entry>
  void Note(std::vector<Entry>& entries, const Entry& entry) {
    const MutexLock lock(mutex_);
    entries.push_back(entry);
  }

 private:
  std::optional<Fault> Next(std::deque<Fault>& kind) {
    const MutexLock lock(mutex_);
    if (kind.empty()) return std::nullopt;
    Fault next = std::move(kind.front());
    kind.pop_front();
    return next;
  }

  Mutex mutex_;  // Calls come from many threads.
};

// The keys of a FaultyStore.
class FaultyKeys final : public KeyTable {
 public:
  FaultyKeys(std::function<Store&()> below, std::shared_ptr<Faults> faults)
      : below_(std::move(below)), faults_(std::move(faults)) {}

  Result<Added> AddKeys(const KeyGuard& guard, const std::vector<KeyRow>& rows,
                        MonotonicTime deadline) override {
    ++faults_->add_calls;
    return faults_->CallOrFail(faults_->add_keys,
                               [&] { return below().AddKeys(AnyTime(guard), rows, deadline); });
  }
  Result<Taken> TakeKeys(const KeyGuard& guard, const TakeRequest& request,
                         MonotonicTime deadline) override {
    faults_->Note(faults_->takes, request);
    return faults_->CallOrFail(faults_->take_keys,
                               [&] { return below().TakeKeys(AnyTime(guard), request, deadline); });
  }
  Result<Changed> ChangeKeys(const KeyGuard& guard, const KeyChange& change,
                             MonotonicTime deadline) override {
    faults_->Note(faults_->changes, change);
    if (faults_->before_change) faults_->before_change();
    if (change.match.keys.size() > faults_->change_keys_max) {
      return Status(Code::kDeadlineExceeded, "too many keys");
    }
    return faults_->CallOrFail(
        faults_->change_keys, [&] { return below().ChangeKeys(AnyTime(guard), change, deadline); });
  }
  Result<std::optional<KeyRow>> FindKey(std::string_view keyspace_id, std::string_view key,
                                        MonotonicTime deadline) override {
    ++faults_->find_key_calls;
    return below().FindKey(keyspace_id, key, deadline);
  }
  Result<std::optional<KeyRow>> FindIdentity(std::string_view keyspace_id,
                                             std::string_view identity,
                                             MonotonicTime deadline) override {
    return below().FindIdentity(keyspace_id, identity, deadline);
  }
  Result<Page> ListKeys(std::string_view keyspace_id, const Query& query,
                        MonotonicTime deadline) override {
    return below().ListKeys(keyspace_id, query, deadline);
  }
  Result<Counts> CountKeys(std::string_view keyspace_id, MonotonicTime deadline) override {
    return faults_->CallOrFail(faults_->count_keys,
                               [&] { return below().CountKeys(keyspace_id, deadline); });
  }
  Status FillKeys(std::string_view fill, std::string_view keyspace_id,
                  const std::vector<KeyRow>& rows, MonotonicTime deadline) override {
    return below().FillKeys(fill, keyspace_id, rows, deadline);
  }

 private:
  KeyTable& below() { return *below_().key_table(); }
  [[nodiscard]] KeyGuard AnyTime(KeyGuard guard) const {
    if (!faults_->timeline.empty()) guard.timeline.clear();
    return guard;
  }

  const std::function<Store&()> below_;
  const std::shared_ptr<Faults> faults_;
};

// Passes every call on, except where a fault was injected.
class FaultyStore final : public Store {
 public:
  FaultyStore(std::shared_ptr<Store> below, std::shared_ptr<Faults> faults)
      : below_(std::move(below)),
        faults_(std::move(faults)),
        keys_([this]() -> Store& { return this->below(); }, faults_) {}

  Result<StoreIdentity> Identity(MonotonicTime deadline) override {
    return faults_->CallOrFail(faults_->identity, [&] {
      Result<StoreIdentity> identity = below().Identity(deadline);
      // What is there instead is the same store at another time.
      if (identity.ok()) identity->store_id = below_->Identity(deadline)->store_id;
      if (identity.ok()) identity->now_ms = faults_->store_now_ms;
      if (identity.ok() && !faults_->timeline.empty()) {
        identity->timeline = faults_->timeline;
        identity->agreed_timeline = faults_->agreed;
      }
      return identity;
    });
  }
  Result<std::vector<StoreFinding>> Inspect(MonotonicTime /*deadline*/) override {
    ++faults_->inspections;
    return faults_->findings;
  }
  Result<Established> Establish(const EstablishRequest& request, MonotonicTime deadline) override {
    return faults_->CallOrFail(faults_->establish, [&] {
      auto made = below().Establish(request, deadline);
      if (!made.ok()) return made;
      made->identity.now_ms = faults_->store_now_ms;
      for (const Established::Part& part : made->keyspaces) {
        if (part.block) faults_->Note(faults_->granted, *part.block);
      }
      return made;
    });
  }
  Result<KeyspaceRecord> CreateKeyspace(const NewKeyspace& keyspace,
                                        MonotonicTime deadline) override {
    return below().CreateKeyspace(keyspace, deadline);
  }
  Result<KeyspaceRecord> FindKeyspace(std::string_view name, MonotonicTime deadline) override {
    return faults_->CallOrFail(faults_->find, [&] { return below().FindKeyspace(name, deadline); });
  }
  Result<std::vector<KeyspaceRecord>> ListKeyspaces(MonotonicTime deadline) override {
    auto listed =
        faults_->CallOrFail(faults_->list, [&] { return below().ListKeyspaces(deadline); });
    if (faults_->after_list) faults_->after_list();
    return listed;
  }
  Result<KeyspaceRecord> RetireKeyspace(std::string_view name, MonotonicTime deadline) override {
    return below().RetireKeyspace(name, deadline);
  }
  Result<Block> Reserve(const ReserveRequest& request, MonotonicTime deadline) override {
    ++faults_->reserve_calls;
    auto block = faults_->CallOrFail(faults_->reserve, [&]() -> Result<Block> {
      if (Elsewhere(request.timeline)) return Status(Code::kUnavailable, "another timeline");
      ReserveRequest any_time = request;
      if (!faults_->timeline.empty()) any_time.timeline.clear();
      auto granted = below().Reserve(any_time, deadline);
      if (granted.ok()) faults_->Note(faults_->granted, *granted);
      return granted;
    });
    if (faults_->after_reserve) faults_->after_reserve();
    return block;
  }
  Result<Witness> GiveBack(const GiveBackRequest& request, MonotonicTime deadline) override {
    return faults_->CallOrFail(faults_->give_back, [&]() -> Result<Witness> {
      if (Elsewhere(request.timeline)) return Status(Code::kUnavailable, "another timeline");
      GiveBackRequest any_time = request;
      if (!faults_->timeline.empty()) any_time.timeline.clear();
      return below().GiveBack(any_time, deadline);
    });
  }
  Result<std::optional<LedgerRow>> FindBlock(std::string_view keyspace_id, std::uint64_t number,
                                             MonotonicTime deadline) override {
    return below().FindBlock(keyspace_id, number, deadline);
  }
  Result<std::vector<LedgerRow>> ListLedger(std::string_view keyspace_id, std::uint64_t from,
                                            std::uint32_t rows_max,
                                            MonotonicTime deadline) override {
    return below().ListLedger(keyspace_id, from, rows_max, deadline);
  }
  Status Quarantine(std::string_view keyspace_id, std::string_view reason, const Witness& seen,
                    MonotonicTime deadline) override {
    return faults_
        ->CallOrFail(faults_->quarantine,
                     [&]() -> Result<std::monostate> {
                       Status done = below().Quarantine(keyspace_id, reason, seen, deadline);
                       if (!done.ok()) return done;
                       return std::monostate();
                     })
        .status();
  }
  Result<RecoverReport> Recover(std::string_view keyspace_id, const Witness& floor,
                                MonotonicTime deadline) override {
    return faults_->CallOrFail(faults_->recover,
                               [&] { return below().Recover(keyspace_id, floor, deadline); });
  }
  Status AgreeOnTimeline(std::string_view timeline, MonotonicTime deadline) override {
    if (timeline == faults_->timeline) faults_->agreed = timeline;
    return below().AgreeOnTimeline(timeline, deadline);
  }
  KeyTable* key_table() override { return below().key_table() == nullptr ? nullptr : &keys_; }

 private:
  // As strict as a store may be: before everybody has agreed on a timeline, it is none.
  [[nodiscard]] bool Elsewhere(const std::string& timeline) const {
    if (faults_->timeline.empty() || timeline.empty()) return false;
    return timeline != faults_->timeline || timeline != faults_->agreed;
  }

  Store& below() { return faults_->instead ? *faults_->instead : *below_; }

  const std::shared_ptr<Store> below_;
  const std::shared_ptr<Faults> faults_;
  FaultyKeys keys_;
};

// Short keyspaces for tests.
inline Recipe Orders(std::uint64_t start = 1, std::uint32_t length = 0) {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "decimal";
  recipe.start = start;
  recipe.length = length;
  return recipe;
}

// Shuffled, with `count` numbers left in a keyspace of a million.
inline Recipe LastCodes(std::uint64_t count) {
  Recipe recipe = DefaultRecipe(Kind::kShuffled);
  recipe.alphabet = "decimal";
  recipe.length = 6;
  recipe.start = 1'000'000 - count;
  return recipe;
}

// An engine without a thread, on a clock that stands still.
class EngineTestBase : public testing::Test {
 protected:
  EngineTestBase() { DisableLog(); }

  static EngineOptions Options(std::uint32_t block_size = 100) {
    EngineOptions options;
    options.refill.block_size = block_size;
    options.background = false;
    options.location = "test";
    return options;
  }

  [[nodiscard]] std::filesystem::path data_dir() const { return dir_.path() / "data"; }
  [[nodiscard]] std::filesystem::path db() const { return dir_.path() / "keymill.db"; }

  // Where nothing is yet, nothing is made either.
  std::unique_ptr<Store> OpenEmptySqlite() {
    auto opened = store::OpenSqliteStore({.path = db(), .create = true}, clock_,
                                         clock_.Monotonic() + std::chrono::seconds(30));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  std::unique_ptr<Store> OpenSqlite() {
    auto opened = OpenEmptySqlite();
    const auto made = opened->Establish({}, clock_.Monotonic() + std::chrono::seconds(30));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return opened;
  }
  [[nodiscard]] std::unique_ptr<WitnessFile> OpenWitness() const {
    auto opened = WitnessFile::Open(data_dir());
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  std::unique_ptr<Engine> Start(EngineOptions options, std::unique_ptr<Store> store,
                                std::unique_ptr<WitnessFile> witness) {
    auto opened = Engine::Open(std::move(options), std::move(store), std::move(witness), clock_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  // On the SQLite file and the witness that all engines of a test share.
  std::unique_ptr<Engine> StartSqlite(std::uint32_t block_size = 100) {
    return Start(Options(block_size), OpenSqlite(), OpenWitness());
  }
  std::unique_ptr<Engine> StartMemory(std::uint32_t block_size = 100) {
    return Start(Options(block_size), store::OpenMemoryStore(clock_), nullptr);
  }
  // On a memory store that outlives its engines and fails on demand.
  std::unique_ptr<Engine> StartFaulty(EngineOptions options,
                                      std::unique_ptr<WitnessFile> witness = nullptr) {
    return Start(std::move(options), std::make_unique<FaultyStore>(memory_, faults_),
                 std::move(witness));
  }

  static CounterKeyspace& Create(Engine& engine, const Recipe& recipe,
                                 std::string_view name = "k") {
    auto created = engine.Create(name, recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    created->keyspace->Want();
    return static_cast<CounterKeyspace&>(*created->keyspace);
  }

  // Mints by making the refiller's steps itself, until `count` keys are there or a step
  // brings nothing.
  static std::vector<std::string> Mint(Engine& engine, Keyspace& keyspace, std::uint64_t count,
                                       Status* outcome = nullptr) {
    std::vector<std::string> keys;
    for (;;) {
      const std::uint64_t before = keyspace.stats().issued;
      engine.StepForTest();
      const Status status =
          engine.Mint(keyspace, count - keys.size(), MonotonicTime(), [&](std::string_view lines) {
            std::istringstream in{std::string(lines)};
            for (std::string line; std::getline(in, line);) keys.push_back(line);
          });
      if (outcome != nullptr) *outcome = status;
      if (status.ok() || keyspace.stats().issued == before) return keys;
    }
  }
  static std::vector<std::uint64_t> MintNumbers(Engine& engine, Keyspace& keyspace,
                                                std::uint64_t count, Status* outcome = nullptr) {
    std::vector<std::uint64_t> numbers;
    for (const std::string& key : Mint(engine, keyspace, count, outcome)) {
      const auto number = static_cast<CounterKeyspace&>(keyspace).codec().Decode(key);
      EXPECT_TRUE(number.ok()) << key;
      numbers.push_back(number.ok() ? *number : 0);
    }
    return numbers;
  }

  TempDir dir_;
  FakeClock clock_;
  std::shared_ptr<Store> memory_ = store::OpenMemoryStore(clock_);
  std::shared_ptr<Faults> faults_ = std::make_shared<Faults>();
};

}  // namespace keymill::mint
