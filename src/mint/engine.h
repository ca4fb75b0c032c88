// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The mint: keyspaces by name, kept supplied from the store by one background thread.
// Everything that a front end can do with keys is a call of this class.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/mutex.h"
#include "mint/catalog.h"
#include "mint/keyspace.h"
#include "mint/refill_policy.h"
#include "mint/witness_file.h"
#include "store/metered_store.h"

namespace keymill::mint {

struct EngineOptions {
  RefillOptions refill;

  // How long one call to the store may take. Longer than a busy store needs, shorter than
  // people wait.
  std::chrono::milliseconds store_timeout{1'000};

  // How often the store is looked at although nothing is needed, so that a rollback is
  // noticed while the reservoir still lasts.
  std::chrono::milliseconds audit_interval{3'000};

  // Requests that may wait for a block of one keyspace at once.
  std::uint32_t waiters_max = 100'000;

  // Where the store is, for messages and for the witness.
  std::string location;

  // Keyspaces that are there when the engine is open: created if they are absent, with a first
  // block unless nothing is to be reserved ahead of need.
  std::map<std::string, Recipe> keyspaces;

  // Whether a thread keeps the reservoirs supplied. Off in tests that call StepForTest.
  bool background = true;

  // The store failed in a way that no retry can mend (X1). Called once, from the refiller.
  std::function<void(const Status&)> on_fatal;
};

// A keyspace for people: what it is and how far it has come.
struct KeyspaceInfo {
  KeyspaceRecord record;
  Recipe recipe;
  std::uint64_t capacity = 0;
  std::uint64_t used = 0;  // Reserved at some time, by anybody.
  std::uint64_t left = 0;
  double rate = 0;                              // Keys per second, this instance, now.
  std::optional<std::int64_t> exhausted_at_ms;  // At the present rate, or the average one.
  std::uint64_t ahead = 0;                      // Numbers in this instance's reservoir.
  std::optional<double> runway_seconds;         // How long those last; none without demand.
  std::uint64_t waited = 0;                     // How often a request had to wait for a block here.
};

// What is known of a key.
struct Explanation {
  enum class State : std::uint8_t { kIssued, kReserved, kUnknown };
  State state = State::kUnknown;
  std::string keyspace;
  Kind kind = Kind::kShuffled;
  std::uint64_t number = 0;
  LedgerRow block;
};
std::string_view ExplanationStateName(Explanation::State state);

// Whether a stored keyspace is one of this recipe that can be used: kFailedPrecondition when its
// recipe is another one (the message says in what) or when it is retired.
Status CheckRecipe(const KeyspaceRecord& record, const Recipe& recipe);

// Safe for concurrent use by multiple threads. Only Find, and what Find returns, is made for
// the path of a request; everything else may wait for the store.
class Engine {
 public:
  // Takes the store and, except for stores without a memory, a witness. What is not there yet
  // of store and keyspaces is made in one call of Store::Establish. Starts the refiller.
  // Errors: kFailedPrecondition when the witness knows another store at this location; those
  // of Create for the keyspaces.
  static Result<std::unique_ptr<Engine>> Open(EngineOptions options, std::unique_ptr<Store> store,
                                              std::unique_ptr<WitnessFile> witness,
                                              const Clock& clock = SystemClock());
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The keyspace, if this instance has used it before. Lock-free.
  [[nodiscard]] Keyspace* Find(std::string_view name) const { return catalog_.Find(name); }

  // The same, but asks the store when this instance does not know it.
  // Errors: kNotFound, kUnavailable; kQuarantined when it is not the one that was here before.
  Result<Keyspace*> Lookup(std::string_view name);

  // All that this instance has used so far.
  [[nodiscard]] std::vector<Keyspace*> Known() const { return catalog_.All(); }

  struct Created {
    Keyspace* keyspace = nullptr;
    bool fresh = false;  // Whether this call created it.
  };
  // Creates the keyspace, or finds that it exists with the same recipe.
  // Errors:
  //   kInvalidArgument     the name or the recipe cannot be, or its blocklist leaves no keys.
  //   kFailedPrecondition  it exists with another recipe (the message says what differs), or
  //                        it is retired.
  //   kQuarantined         the store has lost the one that had this name.
  Result<Created> Create(std::string_view name, const Recipe& recipe);

  // What Create would say now. Changes nothing.
  Status CheckCreate(std::string_view name, const Recipe& recipe);

  // Ends the keyspace for ever. Errors: kNotFound.
  Status Retire(std::string_view name);

  Result<std::vector<KeyspaceInfo>> List();
  Result<KeyspaceInfo> Describe(std::string_view name);

  // Errors: kNotFound when the keyspace does not exist, or the key cannot have been issued.
  Result<Explanation> Explain(std::string_view name, std::string_view key);

  // Reopens a keyspace that is quarantined, or is behind the witness and ought to be, above
  // everything that the store and the witness know.
  // Errors: kNotFound; kFailedPrecondition when nothing is wrong with it.
  Result<RecoverReport> Recover(std::string_view name);

  // From now on blocks are reserved by these rules. May wait for a refill that is under way.
  void SetRefill(const RefillOptions& refill);

  // Reserves the first block ahead of the first request.
  void WarmUp(Keyspace& keyspace);

  // Mints `count` keys and gives them to `sink` in order, several at a time, each followed by
  // a newline. Waits for blocks until `deadline`. For callers that may block.
  // Errors: those of Keyspace::Verdict and DeadlineVerdict; kFailedPrecondition when the
  // blocklist skipped a million numbers in a row. Keys that `sink` got are issued.
  Status Mint(Keyspace& keyspace, std::uint64_t count, MonotonicTime deadline,
              const std::function<void(std::string_view)>& sink);

  // Whether minting works: OK, or why not. Does not touch the store.
  Status Ready() const;

  // Gives back what was not used and ends the refiller. Nothing can be minted afterwards. What is
  // not given back by `deadline` is burned. Returns how many numbers were given back. Works once.
  std::uint64_t Close(MonotonicTime deadline = MonotonicTime::max());

  // One round of the refiller, for tests that have no background thread.
  void StepForTest() { Step(); }

  [[nodiscard]] const std::string& instance() const { return instance_; }
  [[nodiscard]] const StoreIdentity& identity() const { return identity_; }
  [[nodiscard]] const EngineOptions& options() const { return options_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }

  // Whether the last attempt to reach the store succeeded, and how its calls went so far. Neither
  // touches the store.
  [[nodiscard]] bool store_up() const { return store_up_.load(std::memory_order_relaxed); }
  [[nodiscard]] const MetricSource& store_metrics() const { return *store_; }

 private:
  Engine(EngineOptions options, std::unique_ptr<Store> store, std::unique_ptr<WitnessFile> witness,
         const Clock& clock);

  Status Start();
  [[nodiscard]] MonotonicTime StoreDeadline() const;

  // Finds or makes the keyspaces of the options. `empty`: the store, too, has to be made.
  Status EstablishKeyspaces(bool empty);
  // The keyspace as the store has it.
  // Errors: kNotFound; kQuarantined when the witness has seen another one under this name.
  Result<KeyspaceRecord> FindRecord(std::string_view name);
  // The keyspace that the store holds, if it is what somebody wants to have there.
  Result<Keyspace*> Accept(const KeyspaceRecord& record, const Recipe& recipe);
  Result<Keyspace*> Adopt(const KeyspaceRecord& record);
  Result<KeyspaceInfo> Inform(KeyspaceRecord record);

  // The refiller.
  void Run();
  void Notify();
  MonotonicTime Step();  // When the next one is due.
  // Both return false when the store should be left alone for a while.
  bool Refill(Keyspace& keyspace) KEYMILL_REQUIRES(refill_mu_);
  bool RefillFailed(Keyspace& keyspace, const Status& failure) KEYMILL_REQUIRES(refill_mu_);
  void SetReserving(bool works, std::string_view why) KEYMILL_REQUIRES(refill_mu_);
  void SetStoreUp(bool up, std::string_view why);
  Result<Block> ReserveBlock(Keyspace& keyspace, std::uint32_t count,
                             const std::vector<std::string>& spent);
  void GiveBackUnused(Keyspace& keyspace, const Block& block);
  Status GiveBack(Keyspace& keyspace, const std::string& block_id, std::uint64_t first_unused);
  void Audit() KEYMILL_REQUIRES(refill_mu_);
  void AuditOne(Keyspace& keyspace, const KeyspaceRecord& record, const Witness& seen);
  // The highest that this process, or any that shares its witness, has seen.
  Result<Witness> Witnessed(const std::string& keyspace_id);
  Status RecordWitness(const Keyspace& keyspace, const Witness& seen);
  // The same for what a start has seen; binds the witness to the store, too.
  Status BindWitness(const std::vector<WitnessFile::Sighting>& sightings);
  void Remember(const std::string& keyspace_id, const Witness& now);
  void Fatal(const Status& why);

  const EngineOptions options_;
  const Clock& clock_;
  const std::unique_ptr<store::MeteredStore> store_;
  const std::unique_ptr<WitnessFile> witness_;  // May be null.
  const std::string instance_;
  StoreIdentity identity_;  // Written by Start only.
  Catalog catalog_;

  std::atomic<bool> store_up_{true};
  std::atomic<bool> failed_{false};
  std::atomic<bool> closed_{false};

  Mutex refill_mu_;  // Held while a step runs: one at a time.
  RefillOptions refill_ KEYMILL_GUARDED_BY(refill_mu_);
  MonotonicTime audit_due_ KEYMILL_GUARDED_BY(refill_mu_);
  MonotonicTime retry_not_before_ KEYMILL_GUARDED_BY(refill_mu_);
  bool reserving_ KEYMILL_GUARDED_BY(refill_mu_) = true;  // The last attempt worked.

  Mutex seen_mu_;
  // What this process has seen itself, by keyspace id: the witness when there is no file.
  std::map<std::string, Witness> seen_ KEYMILL_GUARDED_BY(seen_mu_);

  Mutex mu_;
  CondVar wake_;
  bool notified_ KEYMILL_GUARDED_BY(mu_) = false;
  bool stop_ KEYMILL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace keymill::mint
