// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keymill/clock.h"

namespace keymill {
namespace {

class OperatingSystemClock final : public Clock {
 public:
  std::int64_t WallMs() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  }
  MonotonicTime Monotonic() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace

const Clock& SystemClock() {
  static const auto* const clock = new OperatingSystemClock;  // Never destroyed: used at exit.
  return *clock;
}

}  // namespace keymill
