// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <atomic>
#include <chrono>

#include "keymill/clock.h"

namespace keymill {

// A clock that moves only when a test says so.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t wall_ms = 1'750'000'000'000) : wall_ms_(wall_ms) {}

  std::int64_t WallMs() const override { return wall_ms_; }
  MonotonicTime Monotonic() const override {
    return MonotonicTime(std::chrono::nanoseconds(monotonic_ns_));
  }

  // Both clocks move on together, as they do when nothing goes wrong.
  void Advance(std::chrono::nanoseconds by) {
    monotonic_ns_ += by.count();
    wall_ms_ += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  }
  // Only the wall clock jumps, either way.
  void StepWall(std::chrono::milliseconds by) { wall_ms_ += by.count(); }

 private:
  std::atomic<std::int64_t> wall_ms_;
  std::atomic<std::int64_t> monotonic_ns_{3'600'000'000'000};
};

}  // namespace keymill
