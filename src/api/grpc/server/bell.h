// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Waiting without a thread: a call sleeps until somebody rings, or its patience ends, and goes on
// in a thread of gRPC's.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include <grpcpp/alarm.h>

#include "base/mutex.h"

namespace keymill::api::grpc {

// Whoever sleeps keeps it until the end of that sleep; those who ring may keep it for longer. Safe
// for concurrent use by multiple threads.
class Bell {
 public:
  // From any thread, at any time; blocks nobody.
  void Ring() KEYMILL_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    rung_ = true;
    if (sleeping_) alarm_->Cancel();
  }

  // What was rung before does not count any more.
  void Hush() KEYMILL_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    rung_ = false;
  }

  // Calls `then` once, from another thread, as soon as it rings or `patience` is over. False, and
  // `then` is never called, when it has rung since Hush.
  [[nodiscard]] bool Sleep(std::chrono::milliseconds patience, std::function<void()> then)
      KEYMILL_EXCLUDES(mu_);

 private:
  Mutex mu_;
  bool rung_ KEYMILL_GUARDED_BY(mu_) = false;
  bool sleeping_ KEYMILL_GUARDED_BY(mu_) = false;
  // A new one for each sleep: the one before may still be returning from its call.
  std::unique_ptr<::grpc::Alarm> alarm_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::api::grpc
