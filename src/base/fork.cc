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

std::shared_mutex& Gate() {
  static auto* const gate = new std::shared_mutex;  // Never destroyed: atexit code may fork.
  return *gate;
}

// The forking thread owns the gate exclusively across fork(), in the parent and in the child.
void BeforeFork() { Gate().lock(); }
void AfterForkInParent() { Gate().unlock(); }
void AfterForkInChild() {
  internal::fork_generation.fetch_add(1, std::memory_order_relaxed);
  Gate().unlock();
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

ForkHold::ForkHold() { Gate().lock_shared(); }
ForkHold::~ForkHold() { Gate().unlock_shared(); }

}  // namespace keymill
