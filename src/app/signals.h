// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// SIGTERM and SIGINT: the first asks for a clean stop, a later one ends the process.

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "keymill/clock.h"

namespace keymill::app {

// What a signal means, given those before it.
class StopPolicy {
 public:
  // One request may be delivered twice: timeout(1) signals the process and then its group.
  static constexpr std::chrono::milliseconds kSameRequest{200};

  enum class Action : std::uint8_t { kStop, kIgnore, kEndNow };

  // A signal arrived at `now`.
  Action Next(MonotonicTime now);

 private:
  std::optional<MonotonicTime> first_;
};

// Awaits SIGTERM and SIGINT in a thread of its own.
class StopSignals {
 public:
  // Takes the signals away from this thread and from all that it starts later: they wait
  // until there is a StopSignals. Call before any other thread is started.
  static void Block();

  // `on_stop` is called once, from that thread. A signal that means "now" ends the process
  // with kExitFailure: what is held then is burned, which is always safe.
  explicit StopSignals(std::function<void()> on_stop, const Clock& clock = SystemClock());
  ~StopSignals();  // From here on signals wait for ever; the process is about to end.
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  void Await();

  const std::function<void()> on_stop_;
  const Clock& clock_;
  StopPolicy policy_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace keymill::app
