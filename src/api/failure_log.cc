// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/failure_log.h"

namespace keymill::api {

bool FailureLog::Admits(std::string_view message, MonotonicTime now) {
  const MutexLock lock(mu_);
  if (now >= until_) {
    until_ = now + std::chrono::seconds(1);
    written_.clear();
  }
  if (written_.size() == kMessagesMax || written_.contains(message)) return false;
  written_.emplace(message);
  return true;
}

}  // namespace keymill::api
