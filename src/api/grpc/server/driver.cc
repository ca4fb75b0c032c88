// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/server/driver.h"

#include <utility>

#include <grpc/support/time.h>

#include "api/grpc/server/status.h"

namespace keymill::api::grpc {

Problem Calls::Enter() {
  const MutexLock lock(mu_);
  ++open_;
  if (stopping()) return host_.Draining();
  return open_ > kCallsMax ? host_.Overloaded() : Problem();
}

void Calls::Leave() {
  const MutexLock lock(mu_);
  if (--open_ == 0) left_.NotifyAll();
}

bool Calls::AwaitNone(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mu_);
  while (open_ > 0 && left_.WaitUntil(mu_, deadline)) {
  }
  return open_ == 0;
}

Driver::Driver(Calls& calls, Method method, ::grpc::CallbackServerContext& context)
    : calls_(calls), method_(method), context_(context), unwelcome_(calls.Enter()) {}

Driver::~Driver() { calls_.Leave(); }

Wake Driver::MakeWake() const {
  return [bell = bell_] { bell->Ring(); };
}

::grpc::Status Driver::StatusOfProblem(const Problem& problem) { return StatusOf(problem); }

void Driver::Begin(std::unique_ptr<Call> call, const Problem& refusal) {
  if (!unwelcome_.ok()) return End(StatusOf(unwelcome_));
  if (!refusal.ok()) return End(StatusOf(refusal));
  call_ = std::move(call);
  Advance();
}

void Driver::Advance() {
  while (true) {
    bell_->Hush();
    // Before anything is taken for a caller who will not get it.
    const gpr_timespec deadline = context_.raw_deadline();
    if (gpr_time_cmp(deadline, gpr_now(deadline.clock_type)) <= 0) {
      return End({::grpc::StatusCode::DEADLINE_EXCEEDED, "the deadline has passed"});
    }
    if (context_.IsCancelled()) return End(::grpc::Status::CANCELLED);
    switch (call_->Continue()) {
      case Step::kDone:
        if (!Got()) return;
        break;
      case Step::kFailed:
        return Failed(call_->problem());
      case Step::kLater:
        if (bell_->Sleep(call_->patience(), [this] { Advance(); })) return;
        break;
    }
  }
}

void Driver::End(::grpc::Status status) {
  call_.reset();
  host().Answered(method_, status.error_code());
  DoFinish(std::move(status));
}

}  // namespace keymill::api::grpc
