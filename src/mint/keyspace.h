// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One keyspace as this instance serves it: the recipe, the reservoir, and the requests that
// wait for a block.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/fork.h"
#include "base/mutex.h"
#include "keys/codec.h"
#include "mint/key_window.h"
#include "mint/refill_policy.h"
#include "mint/reservoir.h"

namespace keymill::mint {

// Called when a keyspace runs low or somebody waits. Must not block.
using LowSignal = std::function<void()>;

// Lives as long as its engine. Safe for concurrent use by multiple threads, except for the
// part that says otherwise.
class Keyspace {
 public:
  Keyspace(KeyspaceRecord record, Recipe recipe, keys::Codec codec, std::uint32_t waiters_max,
           LowSignal low_signal);
  Keyspace(const Keyspace&) = delete;
  Keyspace& operator=(const Keyspace&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& recipe_hash() const { return recipe_hash_; }
  [[nodiscard]] const Recipe& recipe() const { return recipe_; }
  [[nodiscard]] const keys::Codec& codec() const { return codec_; }
  [[nodiscard]] std::uint64_t capacity() const { return codec_.end() - codec_.begin(); }
  [[nodiscard]] std::int64_t created_at_ms() const { return created_at_ms_; }

  // Takes up to `count` numbers that nobody else will ever get; none when the reservoir is
  // empty, and then Verdict and Await say what to do. No lock, no allocation, no I/O.
  Reservoir::Run Take(std::uint64_t count) {
    if (ForkGeneration() != born_) return {};  // F1: a child drops what it inherited.
    const Reservoir::Run run = reservoir_.Take(count);
    if (run.ticket_end >= low_mark_.load(std::memory_order_relaxed)) SignalLow();
    return run;
  }

  // Takes up to `count` numbers and writes their keys to `out`, each followed by `after`. None
  // when the reservoir is empty; fewer than `count` also when a block ends among them. The same
  // promises as Take.
  // REQUIRES: room for count * (codec().size_max() + after.size()) bytes.
  keys::Codec::Written TakeKeys(std::uint32_t count, std::string_view after, char* out);

  // Of the numbers that a caller of Take got, so many became no keys: the blocklist has something
  // against them.
  void CountSkipped(std::uint64_t numbers) {
    if (numbers > 0) skipped_.fetch_add(numbers, std::memory_order_relaxed);
  }

  // Why Take gave nothing: OK when a block is on its way and waiting makes sense, otherwise
  // the reason why it does not (kExhausted, kQuarantined, kFailedPrecondition when retired,
  // kInternal after a failure for good).
  Status Verdict();

  // Why a request that waited until its deadline got nothing.
  Status DeadlineVerdict();

  // Calls `wake` once, from another thread, when it is worth trying Take again. `keys` is
  // how many the caller still needs. Returns a number for Forget, or 0 without ever calling
  // `wake` when trying again is worth it right now.
  // Errors: kOverloaded when too many wait already.
  Result<std::uint64_t> Await(std::uint64_t keys, std::function<void()> wake);

  // The caller no longer waits. `wake` may still be running in another thread.
  void Forget(std::uint64_t waiter);

  struct Stats {
    std::uint64_t issued = 0;  // Numbers taken from the reservoir.
    std::uint64_t keys = 0;    // Of those, what the blocklist let become keys. Never falls.
    std::uint64_t ahead = 0;
    std::uint64_t waiting = 0;
    std::uint64_t waited = 0;  // How often a request had to wait for a block.
    double rate = 0;
    std::uint64_t next = 0;  // As last seen in the store.
    std::uint64_t blocks_reserved = 0;
    std::uint64_t blocks_burned = 0;    // Given up, with numbers that were not handed out.
    std::uint64_t blocks_returned = 0;  // Given back to the store.
    bool wanted = false;                // Somebody has asked for keys.
    KeyspaceState state = KeyspaceState::kOpen;
  };
  Stats stats();

  // Whether this instance has handed out `number`: true, false while it still holds it, and
  // nothing when it is not one of its own.
  std::optional<bool> HandedOut(std::uint64_t number);

  // ---- For the refiller: one thread at a time. ----

  // Somebody will want keys: from now on the keyspace is kept supplied.
  void Want();

  // How much to ask the store for now; 0 for nothing. Updates the rate.
  std::uint32_t WantedCount(const RefillOptions& options, MonotonicTime now);

  // Whether a block of this id is in the reservoir, in part at least. A grant that extends
  // its ledger row must not be given back by itself: that would settle the whole row.
  bool Holds(std::string_view block_id);

  // Blocks whose every number was handed out, to be reported with the next reservation.
  std::vector<std::string> SpentBlocks();

  // What the store granted, and which spent blocks it was told of with the request.
  struct Granted {
    Block block;
    std::vector<std::string> settled;
  };
  // Keeps a grant that may not be used yet; TakeWithheld hands it back for another attempt.
  void Withhold(Granted granted);
  std::optional<Granted> TakeWithheld();

  // What the store granted, and which spent blocks it was told of. Wakes everybody who
  // waits. Returns false when the block does not fit; it was not added.
  bool AddBlock(const Block& block, const std::vector<std::string>& settled);

  // Why the store granted nothing. Final ones wake everybody who waits.
  void RefillFailed(const Status& why);

  // The keyspace as the store has it now. A quarantine or a retirement stops the keyspace:
  // what it still holds is not handed out any more.
  void Observe(const KeyspaceRecord& record);

  // A block that must be settled: everything in it below first_unused was handed out.
  struct Settlement {
    std::string block_id;
    std::uint64_t first_unused = 0;
    std::uint64_t unused = 0;
  };
  // Seals the reservoir and returns how the held blocks stand. Works once.
  std::vector<Settlement> Close();

  // A block that was settled went back to the store, or could not.
  void CountReturned(bool returned);

  // The highest number that was ever in this reservoir, plus one: a process that counts
  // upwards must be granted nothing below.
  [[nodiscard]] std::uint64_t number_end();

 private:
  struct Waiter {
    std::uint64_t id = 0;
    std::uint64_t keys = 0;
    std::function<void()> wake;
  };
  // A block in the order of its tickets; adjacent blocks of one ledger row are one. A row
  // has several entries when something else was granted before it grew: all of them share
  // its id, and the later ones hold the higher numbers.
  struct Held {
    std::string id;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint64_t ticket = 0;  // Of `first`.
  };

  void SignalLow();
  // Writes the keys of `run` from the window, and those that are not there by themselves.
  keys::Codec::Written CopyKeys(const Reservoir::Run& run, std::string_view after, char* out);
  void MakeBatch(std::uint64_t batch);
  void SetLowMark(std::uint64_t target, const RefillState& state) KEYMILL_REQUIRES(mu_);
  std::vector<std::function<void()>> DrainWaiters() KEYMILL_REQUIRES(mu_);
  void Stop(Status verdict) KEYMILL_EXCLUDES(mu_);

  const std::string name_;
  const std::string id_;
  const std::string recipe_hash_;
  const Recipe recipe_;
  const keys::Codec codec_;
  const std::int64_t created_at_ms_;
  const std::uint64_t born_ = ForkGeneration();
  const std::uint32_t waiters_max_;
  const LowSignal low_signal_;

  Reservoir reservoir_;
  std::optional<KeyWindow> window_;         // Where making keys in batches pays.
  std::atomic<std::uint64_t> low_mark_{0};  // Signal once this ticket is reached.
  std::atomic<std::uint64_t> skipped_{0};

  Mutex mu_;
  Status verdict_ KEYMILL_GUARDED_BY(mu_);
  Status last_failure_ KEYMILL_GUARDED_BY(mu_);
  bool stopped_ KEYMILL_GUARDED_BY(mu_) = false;
  std::vector<Waiter> waiters_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t waiter_count_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::vector<Held> held_ KEYMILL_GUARDED_BY(mu_);
  std::optional<Granted> withheld_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t last_block_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t taken_before_last_block_ KEYMILL_GUARDED_BY(mu_) = 0;
  bool wanted_ KEYMILL_GUARDED_BY(mu_) = false;  // Somebody has asked for keys.
  std::uint64_t next_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t number_end_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t keys_told_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t blocks_reserved_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t blocks_burned_ KEYMILL_GUARDED_BY(mu_) = 0;
  std::uint64_t blocks_returned_ KEYMILL_GUARDED_BY(mu_) = 0;
  KeyspaceState state_ KEYMILL_GUARDED_BY(mu_);
  RateMeter rate_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
