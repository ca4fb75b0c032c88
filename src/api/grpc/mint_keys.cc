// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/mint_keys.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/grpc/host.h"
#include "mint/engine.h"

namespace keymill::api::grpc {

std::chrono::milliseconds PatienceUntil(MonotonicTime deadline, const Clock& clock) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.Monotonic());
  return std::max(left, std::chrono::milliseconds(0));
}

MintKeys::MintKeys(Backend& backend, std::string keyspace, bool stream, Wake wake)
    : backend_(backend),
      name_(std::move(keyspace)),
      stream_(stream),
      wake_(std::move(wake)),
      deadline_(backend.Deadline()) {}

MintKeys::~MintKeys() {
  StopWaiting();
  if (look_up_) look_up_->abandoned.store(true, std::memory_order_relaxed);
}

std::chrono::milliseconds MintKeys::patience() const {
  return PatienceUntil(deadline_, backend_.clock());
}

void MintKeys::StopWaiting() {
  if (const std::uint64_t waiter = std::exchange(waiter_, 0); waiter != 0) {
    keyspace_->Forget(waiter);
  }
}

Step MintKeys::Fail(Problem problem) {
  problem_ = std::move(problem);
  return Step::kFailed;
}

Step MintKeys::Find() {
  if (!look_up_) {
    const Result<mint::Engine*> mill = backend_.Mill();
    if (!mill.ok()) return Fail(ProblemOf(mill.status()));
    keyspace_ = (*mill)->Find(name_);
    if (keyspace_ != nullptr) return Step::kDone;
    look_up_ = std::make_shared<LookUp>();
    const bool begun = backend_.Run(
        Queue::kKeyspaces, look_up_,
        [&backend = backend_, &task = *look_up_, name = name_] {
          const Result<mint::Keyspace*> found = backend.LookUp(name);
          task.status = found.status();
          if (found.ok()) task.keyspace = *found;
        },
        wake_);
    if (begun) return Step::kLater;
    look_up_.reset();
    return Fail(ProblemOf({Code::kOverloaded, "too much is waiting for the store"}));
  }
  if (!look_up_->done.load(std::memory_order_acquire)) {
    if (patience() > std::chrono::milliseconds(0)) return Step::kLater;
    return Fail(ProblemOf({Code::kDeadlineExceeded, "a request waited for the store in vain"}));
  }
  if (look_up_->status.ok()) {
    keyspace_ = look_up_->keyspace;
    return Step::kDone;
  }
  return Fail(LookUpProblem(look_up_->status, name_));
}

Step MintKeys::AwaitBlock() {
  const auto failed = [&](const Status& verdict) {
    return Fail(KeysProblem(verdict, name_, keyspace_->stats().state));
  };
  if (backend_.clock().Monotonic() >= deadline_) return failed(keyspace_->DeadlineVerdict());
  if (const Status verdict = keyspace_->Verdict(); !verdict.ok()) return failed(verdict);
  const Result<std::uint64_t> waiter = keyspace_->Await(wanted, wake_);
  if (!waiter.ok()) return failed(waiter.status());
  waiter_ = *waiter;
  return waiter_ == 0 ? Step::kDone : Step::kLater;
}

Step MintKeys::Continue() {
  // The time that a reader took for the last batch is not ours.
  if (stream_ && taken > 0) deadline_ = backend_.Deadline();
  taken = 0;
  lines.clear();
  StopWaiting();
  if (keyspace_ == nullptr) {
    if (const Step step = Find(); step != Step::kDone) return step;
  }
  while (true) {
    lines.resize(wanted * (keyspace_->key_size_max() + 1));
    const auto written = keyspace_->TakeKeys(wanted, "\n", lines.data());
    lines.resize(written.bytes);
    taken = static_cast<std::uint32_t>(written.keys);
    if (taken > 0) return Step::kDone;
    if (const Step step = AwaitBlock(); step != Step::kDone) return step;
  }
}

}  // namespace keymill::api::grpc
