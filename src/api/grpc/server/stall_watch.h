// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Ends a stream whose reader takes nothing. A message costs a look at the clock: there is one alarm
// for each stream, which looks again when the message that is under way by then would be too old.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <grpcpp/alarm.h>

#include "base/mutex.h"

namespace keymill::api::grpc {

// Safe for concurrent use by multiple threads. The alarm keeps it until it has gone off.
class StallWatch : public std::enable_shared_from_this<StallWatch> {
 public:
  // Calls `cut` once, from another thread, when a write has lasted for `limit`, and never after
  // Stop.
  StallWatch(std::chrono::milliseconds limit, std::function<void()> cut)
      : limit_(limit), cut_(std::move(cut)) {}

  void WriteBegins() KEYMILL_EXCLUDES(mu_);
  void WriteEnds() { since_ms_.store(kNone, std::memory_order_relaxed); }

  // The stream is over.
  void Stop() KEYMILL_EXCLUDES(mu_);

 private:
  static constexpr std::int64_t kNone = -1;

  void Arm(std::chrono::milliseconds after) KEYMILL_REQUIRES(mu_);
  void GoOff(bool on_time) KEYMILL_EXCLUDES(mu_);

  const std::chrono::milliseconds limit_;
  const std::function<void()> cut_;
  std::atomic<std::int64_t> since_ms_{kNone};  // When the present write began.
  std::atomic<bool> armed_{false};             // Ever.
  Mutex mu_;
  bool stopped_ KEYMILL_GUARDED_BY(mu_) = false;
  std::unique_ptr<::grpc::Alarm> alarm_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::api::grpc
