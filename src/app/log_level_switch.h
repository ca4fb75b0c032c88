// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The level of the log as configured, and more of it for a while.

#pragma once

#include "base/log.h"
#include "base/mutex.h"

namespace keymill::app {

// Safe for concurrent use by multiple threads.
class LogLevelSwitch {
 public:
  // The configured level, from now on.
  void Configure(LogLevel level) {
    const MutexLock lock(mu_);
    configured_ = level;
    more_ = false;
    SetLogLevel(level);
  }

  // Debug messages too (trace, if those are there anyway), or what was configured again. Returns
  // the level that counts now.
  LogLevel Flip() {
    const MutexLock lock(mu_);
    more_ = !more_;
    const LogLevel louder = configured_ <= LogLevel::kDebug ? LogLevel::kTrace : LogLevel::kDebug;
    const LogLevel level = more_ ? louder : configured_;
    SetLogLevel(level);
    return level;
  }

 private:
  Mutex mu_;
  LogLevel configured_ KEYMILL_GUARDED_BY(mu_) = LogLevel::kInfo;
  bool more_ KEYMILL_GUARDED_BY(mu_) = false;
};

}  // namespace keymill::app
