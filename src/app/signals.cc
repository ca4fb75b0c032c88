// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/signals.h"

#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <pthread.h>

#include "app/cli.h"
#include "app/output.h"
#include "base/descriptor.h"

namespace keymill::app {
namespace {

constexpr int kWake = SIGUSR1;  // From ourselves. Anybody else's is ignored.

sigset_t Awaited() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2, kWake}) sigaddset(&set, signal);
  return set;
}

bool HasTerminal() {
  return Descriptor(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)).open();
}

// nohup asks for the opposite by ignoring SIGHUP.
bool EndsWithTerminal() {
  struct sigaction now {};
  const bool ignored = ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
  return !ignored && HasTerminal();
}

}  // namespace

StopPolicy::Action StopPolicy::Next(MonotonicTime now) {
  if (!first_) {
    first_ = now;
    return Action::kStop;
  }
  return now - *first_ < kSameRequest ? Action::kIgnore : Action::kEndNow;
}

void Signals::Block() {
  const sigset_t set = Awaited();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Signals::Signals(SignalHandlers handlers, const Clock& clock)
    : handlers_(std::move(handlers)), clock_(clock), ends_with_terminal_(EndsWithTerminal()) {
  Block();
  thread_ = std::thread([this] { Await(); });
}

Signals::~Signals() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), kWake);
  thread_.join();
}

void Signals::Await() {
  const sigset_t set = Awaited();
  while (!ending_) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0 || signal == kWake) continue;
    // Whoever closed the window meant to end what ran in it.
    const bool hung_up = signal == SIGHUP && ends_with_terminal_ && !HasTerminal();
    if (signal == SIGUSR2) {
      handlers_.change_log_level();
    } else if (signal == SIGHUP && !hung_up) {
      handlers_.reload();
    } else {
      AskToStop();
    }
  }
}

void Signals::AskToStop() {
  switch (policy_.Next(clock_.Monotonic())) {
    case StopPolicy::Action::kStop:
      handlers_.stop();
      break;
    case StopPolicy::Action::kIgnore:
      break;
    case StopPolicy::Action::kEndNow:
      if (WritableNow(STDERR_FILENO)) Say("keymill: stopped at once\n");
      std::_Exit(kExitFailure);
  }
}

}  // namespace keymill::app
