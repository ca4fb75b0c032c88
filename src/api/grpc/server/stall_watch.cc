// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/server/stall_watch.h"

#include <utility>

#include <grpc/support/time.h>

namespace keymill::api::grpc {
namespace {

std::int64_t NowMs() {
  const gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
  return now.tv_sec * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace

void StallWatch::WriteBegins() {
  since_ms_.store(NowMs(), std::memory_order_relaxed);
  if (armed_.exchange(true, std::memory_order_relaxed)) return;
  const MutexLock lock(mu_);
  Arm(limit_);
}

void StallWatch::Stop() {
  const MutexLock lock(mu_);
  stopped_ = true;
  if (alarm_) alarm_->Cancel();
}

void StallWatch::Arm(std::chrono::milliseconds after) {
  if (stopped_) return;
  alarm_ = std::make_unique<::grpc::Alarm>();
  const gpr_timespec until =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(after.count(), GPR_TIMESPAN));
  alarm_->Set(until, [self = shared_from_this()](bool on_time) { self->GoOff(on_time); });
}

void StallWatch::GoOff(bool on_time) {
  std::unique_ptr<::grpc::Alarm> done;  // Which keeps us: one of both has to go first.
  const MutexLock lock(mu_);
  done = std::move(alarm_);
  if (stopped_ || !on_time) return;
  const std::int64_t since_ms = since_ms_.load(std::memory_order_relaxed);
  const std::chrono::milliseconds age(since_ms == kNone ? 0 : NowMs() - since_ms);
  if (age < limit_) return Arm(limit_ - age);
  // Under the lock, so that the stream is there. It ends in another thread, or after this call:
  // gRPC enters no reactor from inside an alarm.
  cut_();
}

}  // namespace keymill::api::grpc
