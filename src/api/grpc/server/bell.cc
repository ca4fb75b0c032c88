// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/server/bell.h"

#include <grpc/support/time.h>

namespace keymill::api::grpc {

bool Bell::Sleep(std::chrono::milliseconds patience, std::function<void()> then) {
  const MutexLock lock(mu_);
  if (rung_) return false;
  sleeping_ = true;
  alarm_ = std::make_unique<::grpc::Alarm>();
  const gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                          gpr_time_from_millis(patience.count(), GPR_TIMESPAN));
  alarm_->Set(until, [this, then = std::move(then)](bool /*on_time*/) {
    {
      const MutexLock waking(mu_);
      sleeping_ = false;
    }
    then();  // Last: this may be gone afterwards.
  });
  return true;
}

}  // namespace keymill::api::grpc
