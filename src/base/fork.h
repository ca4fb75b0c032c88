// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// fork() copies memory but not threads: a child that went on with its parent's blocks
// would hand out its parent's keys. These two tools let the parts that hold such state
// notice (ForkGeneration) and keep a fork from cutting through work on foreign libraries'
// locks (ForkHold).

#pragma once

#include <atomic>
#include <cstdint>

namespace keymill {

namespace internal {
extern std::atomic<std::uint64_t> fork_generation;
}  // namespace internal

// Grows by one in every forked child. Compare with the value at construction to learn
// whether an object was inherited. One relaxed load.
inline std::uint64_t ForkGeneration() {
  return internal::fork_generation.load(std::memory_order_relaxed);
}

// While one lives, fork() in this process waits. Hold it around calls into a library that
// takes process-wide locks of its own (SQLite), so that a child never inherits them locked.
// One thread may have several.
// REQUIRES: destroyed by the thread that made it, which does not call fork() meanwhile.
class ForkHold {
 public:
  ForkHold();
  ~ForkHold();
  ForkHold(const ForkHold&) = delete;
  ForkHold& operator=(const ForkHold&) = delete;
};

}  // namespace keymill
