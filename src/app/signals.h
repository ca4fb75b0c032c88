// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a server is told by signals. SIGTERM and SIGINT: the first asks for a clean stop, a later
// one ends the process. SIGHUP: read the configuration again; from a terminal that was closed:
// stop. SIGUSR2: log more, or as before.

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "keymill/clock.h"

namespace keymill::app {

// What a signal to stop means, given those before it.
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

// Each is called from the thread of Signals.
struct SignalHandlers {
  std::function<void()> stop;  // Once.
  std::function<void()> reload;
  std::function<void()> change_log_level;
};

// Awaits the signals in a thread of its own.
class Signals {
 public:
  // Takes the signals away from this thread and from all that it starts later: they wait
  // until there is a Signals. Call before any other thread is started.
  static void Block();

  // A signal that means "now" ends the process with kExitFailure: what is held then is burned,
  // which is always safe.
  explicit Signals(SignalHandlers handlers, const Clock& clock = SystemClock());
  ~Signals();  // From here on signals wait for ever; the process is about to end.
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void Await();
  void AskToStop();

  const SignalHandlers handlers_;
  const Clock& clock_;
  const bool ends_with_terminal_;
  StopPolicy policy_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace keymill::app
