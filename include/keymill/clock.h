// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Time, injected. Nothing in Keymill asks the operating system for the time except
// through this interface, so that a test can step the clock back and see what happens.

#pragma once

#include <chrono>
#include <cstdint>

namespace keymill {

using MonotonicTime = std::chrono::steady_clock::time_point;

// All implementations are safe for concurrent use by multiple threads.
class Clock {
 public:
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Milliseconds since 1970-01-01Z. Can jump either way; use it only for timestamps
  // that people read, never to measure or to decide.
  [[nodiscard]] virtual std::int64_t WallMs() const = 0;

  // For deadlines and rates. Never goes back; meaningless across processes.
  [[nodiscard]] virtual MonotonicTime Monotonic() const = 0;

 protected:
  Clock() = default;
};

// The operating system's clocks. Never destroyed.
const Clock& SystemClock();

}  // namespace keymill
