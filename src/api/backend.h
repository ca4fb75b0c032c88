// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What all front ends share: the mint, how long a request may wait, and threads for the work that
// waits for the store, which event loops must not.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "base/mutex.h"
#include "base/worker.h"
#include "mint/engine.h"

namespace keymill::api {

// Where work waits for its turn. Each has threads of its own, so that none stands behind another.
enum class Queue : std::uint8_t {
  kKeyspaces,  // Asks the store about keyspaces. One thread.
  kKeys,       // Work on single keys, of which there may be much at once. Several threads.
  kRetries,    // Minting that a retry gets again: it also waits for blocks. Several threads.
  kPages,      // Takes its time, and never waits for the store. One thread.
};

// Work that another thread does for a request.
struct Errand {
  std::atomic<bool> done{false};       // Set by the thread: what it prepared may be read.
  std::atomic<bool> abandoned{false};  // Set by whoever waited: do not begin with it any more.
};

// Safe for concurrent use by multiple threads.
class Backend {
 public:
  // `request_timeout`: the longest that a request waits for a block, or for the store.
  explicit Backend(std::chrono::milliseconds request_timeout = std::chrono::milliseconds(2'000),
                   const Clock& clock = SystemClock());

  // The mint, once there is one: a server may start before its store is reachable. It outlives
  // this, or is taken away with null when nothing is under way any more.
  void SetEngine(mint::Engine* engine) { engine_.store(engine, std::memory_order_release); }
  [[nodiscard]] mint::Engine* engine() const { return engine_.load(std::memory_order_acquire); }

  // For requests that begin from now on.
  void SetRequestTimeout(std::chrono::milliseconds timeout) {
    request_timeout_.store(timeout, std::memory_order_relaxed);
  }
  // When a request that begins now has waited for long enough.
  [[nodiscard]] MonotonicTime Deadline() const {
    return clock_.Monotonic() + request_timeout_.load(std::memory_order_relaxed);
  }

  // From now on this server tells whoever asks that it is about to go.
  void SetDraining() { draining_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool draining() const { return draining_.load(std::memory_order_relaxed); }

  [[nodiscard]] const Clock& clock() const { return clock_; }

  // Runs `work` on a thread of `queue`, unless `errand` is abandoned by then, marks it as done and
  // calls `wake`. What `work` captures must not depend on the caller, who may be gone. False when
  // too much is waiting already.
  [[nodiscard]] bool Run(Queue queue, std::shared_ptr<Errand> errand, std::function<void()> work,
                         std::function<void()> wake);

  // Waits for what is at work, drops what waits, and runs nothing any more: before anything goes
  // that the work uses.
  void Stop();

  // The mint, or kUnavailable: the store has not been reached yet.
  [[nodiscard]] Result<mint::Engine*> Mill() const;

  // The keyspace, asking the store if need be: for Run. A name that the store did not know a moment
  // ago is not asked for again, so that a loop of bad requests is no loop of store queries.
  // Errors: kNotFound, and those of Engine::Lookup and Mill.
  Result<mint::Keyspace*> LookUp(const std::string& name);

 private:
  Worker& WorkerOf(Queue queue);
  bool RecentlyMissing(const std::string& name);
  void NoteMissing(const std::string& name);

  const Clock& clock_;
  std::atomic<std::chrono::milliseconds> request_timeout_;
  std::atomic<mint::Engine*> engine_{nullptr};
  std::atomic<bool> draining_{false};
  Mutex missing_mu_;
  std::map<std::string, MonotonicTime> missing_ KEYMILL_GUARDED_BY(missing_mu_);
  // Last: their threads use everything above.
  Worker keyspaces_;
  Worker keys_;
  Worker retries_;
  Worker pages_;
};

}  // namespace keymill::api
