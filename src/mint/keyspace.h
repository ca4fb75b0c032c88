// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One keyspace as this instance serves it: a stream of keys, and the requests that wait for more
// of them. How keys are made, and what is asked of the store for it, differs by kind.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/keyspace.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "base/fork.h"
#include "base/mutex.h"
#include "keys/written.h"
#include "mint/explanation.h"
#include "mint/refill_policy.h"
#include "mint/witnessed_store.h"

namespace keymill::mint {

// Called when a keyspace runs low or somebody waits. Must not block.
using LowSignal = std::function<void()>;

// What the refiller brings along.
struct Supply {
  WitnessedStore& store;
  const std::string& timeline;  // The one in which every witness was compared (S4).
  const RefillOptions& options;
};

// The end of an instance: how much time, and patience with a store that does not answer, is left
// for what is to be given back. Shared by all its keyspaces: somebody waits for us to end.
class Closing {
 public:
  Closing(Supply supply, MonotonicTime deadline, int attempts)
      : supply_(supply), deadline_(deadline), attempts_(attempts) {}

  [[nodiscard]] const Supply& supply() const { return supply_; }

  // Whether there is time for another call.
  [[nodiscard]] bool InTime() const { return supply_.store.clock().Monotonic() < deadline_; }

  // Calls `settle` until it is answered. What it returned last, or what the store said when it was
  // given up.
  Status Try(const std::function<Status()>& settle);

 private:
  const Supply supply_;
  const MonotonicTime deadline_;
  int attempts_;
  Status away_;
};

// Lives as long as its engine. Safe for concurrent use by multiple threads, except for the part
// that says otherwise.
class Keyspace {
 public:
  virtual ~Keyspace() = default;
  Keyspace(const Keyspace&) = delete;
  Keyspace& operator=(const Keyspace&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& recipe_hash() const { return recipe_hash_; }
  [[nodiscard]] const Recipe& recipe() const { return recipe_; }
  [[nodiscard]] std::int64_t created_at_ms() const { return created_at_ms_; }

  // What the store counts for it lies in [begin(), begin() + capacity()).
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t capacity() const { return end_ - begin_; }

  // The longest key, in bytes, and whether every key is that long.
  [[nodiscard]] std::size_t key_size_max() const { return key_size_max_; }
  [[nodiscard]] bool fixed_key_size() const { return fixed_key_size_; }

  // Writes up to `count` keys that nobody else will ever get to `out`, each followed by `after`.
  // None when there are none now, and then Verdict and Await say what to do; fewer than `count`
  // at any time. No allocation, no I/O, and no lock, or one that nobody holds for longer than it
  // takes to copy keys.
  // REQUIRES: room for count * (key_size_max() + after.size()) bytes.
  virtual keys::Written TakeKeys(std::uint32_t count, std::string_view after, char* out) = 0;

  // Why TakeKeys gave nothing: OK when more are on their way and waiting makes sense, otherwise
  // the reason why it does not (kExhausted, kQuarantined, kFailedPrecondition when retired,
  // kInternal after a failure for good).
  Status Verdict();

  // Why a request that waited until its deadline got nothing.
  Status DeadlineVerdict();

  // Whether nothing like this failure to supply it is known yet.
  bool IsNews(const Status& failure);

  // Calls `wake` once, from another thread, when it is worth trying TakeKeys again. `keys` is
  // how many the caller still needs. Returns a number for Forget, or 0 without ever calling
  // `wake` when trying again is worth it right now. `in_a_row`: nothing less is of any use.
  // Errors: kOverloaded when too many wait already.
  Result<std::uint64_t> Await(std::uint64_t keys, std::function<void()> wake,
                              bool in_a_row = false);

  // The caller no longer waits. `wake` may still be running in another thread.
  void Forget(std::uint64_t waiter);

  // Whether `key` is one that the keyspace could hand out by itself, or is written like one: what
  // lies before its start was another service's, what has another offset another authority's. False
  // where nothing but the store can tell.
  [[nodiscard]] virtual bool CouldIssue(std::string_view key) const = 0;

  // Whether its keys are numbers, or stand for numbers that anybody may know; and the number of a
  // key that it has made. Nothing where they are not.
  [[nodiscard]] virtual bool numbered() const { return false; }
  [[nodiscard]] virtual std::optional<std::uint64_t> NumberOf(std::string_view /*key*/) const {
    return {};
  }

  // What is known of `key`. For people: may ask the store.
  // Errors: kNotFound when the key cannot have been issued.
  virtual Result<Explanation> Explain(std::string_view key, WitnessedStore& store) = 0;

  struct Stats {
    std::uint64_t issued = 0;  // Numbers taken.
    std::uint64_t keys = 0;    // Of those, what the blocklist let become keys. Never falls.
    std::uint64_t ahead = 0;   // Numbers that are here and can become keys without the store.
    bool endless = false;      // Keys need no numbers: there are always more, without the store.
    std::uint64_t waiting = 0;
    std::uint64_t waited = 0;  // How often a request had to wait.
    double rate = 0;
    std::uint64_t next = 0;  // As last seen in the store.
    // Of a pool: keys that anybody may take, as last counted, less what was taken here since.
    std::optional<std::uint64_t> available = {};
    std::uint64_t blocks_reserved = 0;
    std::uint64_t blocks_burned = 0;    // Given up, with numbers that were not handed out.
    std::uint64_t blocks_returned = 0;  // Given back to the store.
    bool wanted = false;                // Somebody has asked for keys.
    KeyspaceState state = KeyspaceState::kOpen;
  };
  Stats stats();

  // ---- For the refiller: one thread at a time. ----

  // Somebody will want keys: from now on the keyspace is kept supplied.
  void Want();

  struct Refilled {
    Status status = {};    // Why the store granted nothing more; see RefillFailed.
    bool alone = false;    // With a failure: the store is not to blame, and others get theirs.
    bool granted = false;  // It has granted something.
    bool more = false;     // There is need for more, after the others had their turn.
  };
  // Asks the store for what is needed now.
  virtual Refilled Refill(const Supply& supply) = 0;

  // Wakes those whose keys have come with time alone, without the store. Returns when to look
  // again. From any thread.
  virtual MonotonicTime Tick() { return MonotonicTime::max(); }

  // Why the store granted nothing. Final ones wake everybody who waits.
  void RefillFailed(const Status& why);

  // The keyspace as the store has it now. A quarantine or a retirement stops the keyspace:
  // what it still holds is not handed out any more. One whose store was sealed hands out what it
  // holds, and no more.
  void Observe(const KeyspaceRecord& record);

  // Whatever the store had at this moment, by this machine's clock, is known to the witness: a copy
  // from before it would be found out.
  virtual void Witnessed(std::int64_t /*looked_ms*/) {}

  // Whether the store was sealed.
  bool sealed();

  // S4: why what the keyspace holds is not its own in the store any more; "" as long as it is.
  // An instance that was cut off while the store went back may find it ahead of all that it has
  // seen once others have gone on: but what it holds is then somebody else's, or nobody's.
  // Errors: kUnavailable.
  virtual Result<std::string> LostHold(const Supply& /*supply*/) { return std::string(); }

  // Nothing is handed out any more, and what was not goes back. Returns how many numbers went
  // back and how many could not for want of time. Works once.
  struct Closed {
    std::uint64_t given_back = 0;
    std::uint64_t too_late = 0;
  };
  virtual Closed Close(Closing& closing) = 0;

 protected:
  Keyspace(KeyspaceRecord record, Recipe recipe, std::size_t key_size_max, bool fixed_key_size,
           std::uint32_t waiters_max, LowSignal low_signal);

  // F1: a child drops what it inherited.
  [[nodiscard]] bool Inherited() const { return ForkGeneration() != born_; }
  void SignalLow() const { low_signal_(); }

  // There are keys again: forgets an earlier failure. Whoever waits is to be woken without the
  // lock.
  using Wakes = std::vector<std::function<void()>>;
  [[nodiscard]] Wakes Supplied() KEYMILL_REQUIRES(mu_);
  // The same when there are only so many, made for those who wait longest: nobody else is woken.
  [[nodiscard]] Wakes SuppliedWith(std::uint64_t keys) KEYMILL_REQUIRES(mu_);
  // It is over, for this reason; Drop is called by whoever stops it.
  [[nodiscard]] Wakes End(Status verdict) KEYMILL_REQUIRES(mu_);
  static void CallAll(const Wakes& wakes);
  // Whoever asks is refused for this reason, until there are keys.
  void Decline(Status why) KEYMILL_EXCLUDES(mu_);
  // Nothing leaves any more, for this reason.
  void Stop(Status verdict) KEYMILL_EXCLUDES(mu_);

  // DeadlineVerdict, when nothing has failed.
  [[nodiscard]] virtual Status LateVerdict() const;

  // Whether TakeKeys would give some.
  [[nodiscard]] virtual bool HasKeys() const = 0;
  // The same for so many consecutive numbers, where keys are made of such.
  [[nodiscard]] virtual bool HasRun(std::uint64_t /*count*/) const { return HasKeys(); }
  // Nothing of what is held may leave any more (Q1).
  virtual void Drop() KEYMILL_REQUIRES(mu_) = 0;
  // Adds to what Keyspace itself can tell.
  virtual void Tell(Stats& stats) KEYMILL_REQUIRES(mu_) = 0;
  // Whether whoever asks now is refused, for whatever reason.
  [[nodiscard]] bool Failing() const KEYMILL_REQUIRES(mu_) { return !verdict_.ok(); }
  // What went wrong before is over.
  void ForgetFailure() KEYMILL_REQUIRES(mu_) { last_failure_ = Status(); }
  // Keys that waiting requests ask for.
  [[nodiscard]] std::uint64_t KeysAwaited() const KEYMILL_REQUIRES(mu_);
  // The most that somebody waits for in a row; 0: nobody does.
  [[nodiscard]] std::uint64_t RunAwaited() const KEYMILL_REQUIRES(mu_);

  Mutex mu_;
  bool stopped_ KEYMILL_GUARDED_BY(mu_) = false;
  bool wanted_ KEYMILL_GUARDED_BY(mu_) = false;  // Somebody has asked for keys.
  std::uint64_t next_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t blocks_burned_ KEYMILL_GUARDED_BY(mu_) = 0;

 private:
  struct Waiter {
    std::uint64_t id = 0;
    std::uint64_t keys = 0;
    std::function<void()> wake;
    bool in_a_row = false;
  };
  Wakes DrainWaiters() KEYMILL_REQUIRES(mu_);

  const std::string name_;
  const std::string id_;
  const std::string recipe_hash_;
  const Recipe recipe_;
  const std::int64_t created_at_ms_;
  const std::uint64_t begin_;
  const std::uint64_t end_;
  const std::size_t key_size_max_;
  const bool fixed_key_size_;
  const std::uint64_t born_ = ForkGeneration();
  const std::uint32_t waiters_max_;
  const LowSignal low_signal_;

  Status verdict_ KEYMILL_GUARDED_BY(mu_);
  Status last_failure_ KEYMILL_GUARDED_BY(mu_);
  std::vector<Waiter> waiters_ KEYMILL_GUARDED_BY(mu_);
  std::uint64_t waiter_count_ KEYMILL_GUARDED_BY(mu_) = 0;
  KeyspaceState state_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::mint
