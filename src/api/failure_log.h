// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The log of failures that clients are not told in full. A store that is away fails every
// request, and each would write the same line.

#pragma once

#include <set>
#include <string>
#include <string_view>

#include "keymill/clock.h"

#include "base/mutex.h"

namespace keymill::api {

// Safe for concurrent use by multiple threads.
class FailureLog {
 public:
  // Messages that are let through in one second.
  static constexpr std::size_t kMessagesMax = 8;

  // Whether `message` should be written: once a second each, and not too many different ones.
  bool Admits(std::string_view message, MonotonicTime now);

 private:
  Mutex mu_;
  MonotonicTime until_ KEYMILL_GUARDED_BY(mu_);
  std::set<std::string, std::less<>> written_ KEYMILL_GUARDED_BY(mu_);  // Since until_ - 1 s.
};

}  // namespace keymill::api
