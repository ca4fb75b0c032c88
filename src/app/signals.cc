// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/stop_signals.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include <pthread.h>

#include "app/cli.h"
#include "app/output.h"

namespace keymill::app {
namespace {

constexpr int kWake = SIGUSR1;  // From ourselves. Anybody else's is ignored.

sigset_t Awaited() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, kWake);
  return set;
}

}  // namespace

StopPolicy::Action StopPolicy::Next(MonotonicTime now) {
  if (!first_) {
    first_ = now;
    return Action::kStop;
  }
  return now - *first_ < kSameRequest ? Action::kIgnore : Action::kEndNow;
}

void StopSignals::Block() {
  const sigset_t set = Awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

StopSignals::StopSignals(std::function<void()> on_stop, const Clock& clock)
    : on_stop_(std::move(on_stop)), clock_(clock) {
  Block();
  thread_ = std::thread([this] { Await(); });
}

StopSignals::~StopSignals() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), kWake);
  thread_.join();
}

void StopSignals::Await() {
  const sigset_t set = Awaited();
  while (!ending_) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0 || signal == kWake) continue;
    switch (policy_.Next(clock_.Monotonic())) {
      case StopPolicy::Action::kStop:
        on_stop_();
        break;
      case StopPolicy::Action::kIgnore:
        break;
      case StopPolicy::Action::kEndNow:
        Say("keymill: stopped at once\n");
        std::_Exit(kExitFailure);
    }
  }
}

}  // namespace keymill::app
