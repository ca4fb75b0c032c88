// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/fork.h"

#include <atomic>
#include <shared_mutex>

#include <pthread.h>

#include "base/check.h"

namespace keymill {

namespace internal {
std::atomic<std::uint64_t> fork_generation{0};
}  // namespace internal

namespace {

// Never destroyed: atexit code may fork.
struct Gate {
  std::shared_mutex mutex;
  Gate* inherited = nullptr;  // Kept, so that it is no leak.
};

std::atomic<Gate*>& CurrentGate() {
  static std::atomic<Gate*> gate{new Gate};
  return gate;
}

std::shared_mutex& GateMutex() { return CurrentGate().load(std::memory_order_acquire)->mutex; }

// How many ForkHolds this thread has. A shared mutex may not be locked twice by one thread.
thread_local int holds = 0;

// The forking thread owns the gate exclusively across fork().
void BeforeFork() { GateMutex().lock(); }
void AfterForkInParent() { GateMutex().unlock(); }
void AfterForkInChild() {
  internal::fork_generation.fetch_add(1, std::memory_order_relaxed);
  // The child's only thread has another thread id than the one that locked the gate, so
  // unlocking it here would leave it locked for ever. It gets a gate of its own instead.
  CurrentGate().store(new Gate{.mutex = {}, .inherited = CurrentGate()}, std::memory_order_release);
}

void Register() {
  static const bool registered = [] {
    KEYMILL_CHECK(pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild) == 0);
    return true;
  }();
  static_cast<void>(registered);
}

// Registered before main, so that no fork goes unnoticed.
[[maybe_unused]] const bool kRegistered = (Register(), true);

}  // namespace

ForkHold::ForkHold() {
  if (holds++ == 0) GateMutex().lock_shared();
}
ForkHold::~ForkHold() {
  if (--holds == 0) GateMutex().unlock_shared();
}

}  // namespace keymill
