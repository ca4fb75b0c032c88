// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/keyspace.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace keymill::mint {
namespace {

// Failures after which nothing that is held may leave any more.
bool StopsForGood(Code code) {
  return code == Code::kQuarantined || code == Code::kFailedPrecondition ||
         code == Code::kNotFound || code == Code::kInternal;
}

}  // namespace

Status Closing::Try(const std::function<Status()>& settle) {
  Status done = away_;
  while (attempts_ > 0) {
    done = settle();
    if (done.code() != Code::kUnavailable && done.code() != Code::kDeadlineExceeded) break;
    away_ = done;
    --attempts_;
  }
  return done;
}

Keyspace::Keyspace(KeyspaceRecord record, Recipe recipe, std::size_t key_size_max,
                   bool fixed_key_size, std::uint32_t waiters_max, LowSignal low_signal)
    : next_(record.next),
      name_(std::move(record.name)),
      id_(std::move(record.id)),
      recipe_hash_(std::move(record.recipe_hash)),
      recipe_(std::move(recipe)),
      created_at_ms_(record.created_at_ms),
      begin_(record.first),
      end_(record.end),
      key_size_max_(key_size_max),
      fixed_key_size_(fixed_key_size),
      waiters_max_(waiters_max),
      low_signal_(std::move(low_signal)),
      state_(record.state) {}

Status Keyspace::Verdict() {
  if (Inherited()) {
    return {Code::kFailedPrecondition,
            fmt::format("mint {}: this process was forked; open the engine anew", name_)};
  }
  const MutexLock lock(mu_);
  return verdict_;
}

Status Keyspace::DeadlineVerdict() {
  const MutexLock lock(mu_);
  if (!verdict_.ok()) return verdict_;
  for (const Code told : {Code::kClockRegressed, Code::kOverloaded}) {
    if (last_failure_.code() == told) return last_failure_;
  }
  if (!last_failure_.ok()) {
    return {Code::kUnavailable, fmt::format("mint {}: {}", name_, last_failure_.message())};
  }
  return LateVerdict();
}

Status Keyspace::LateVerdict() const {
  return {Code::kDeadlineExceeded, fmt::format("mint {}: no block arrived in time", name_)};
}

bool Keyspace::IsNews(const Status& failure) {
  const MutexLock lock(mu_);
  return (verdict_.ok() ? last_failure_ : verdict_).code() != failure.code();
}

Result<std::uint64_t> Keyspace::Await(std::uint64_t keys, std::function<void()> wake,
                                      bool in_a_row) {
  std::uint64_t id = 0;
  {
    const MutexLock lock(mu_);
    if (!verdict_.ok() || (in_a_row ? HasRun(keys) : HasKeys())) return std::uint64_t{0};
    if (waiters_.size() >= waiters_max_) {
      return Status(Code::kOverloaded, fmt::format("mint {}: too many requests wait", name_));
    }
    wanted_ = true;
    id = ++waiter_count_;
    waiters_.push_back({id, keys, std::move(wake), in_a_row});
  }
  low_signal_();
  return id;
}

void Keyspace::Forget(std::uint64_t waiter) {
  const MutexLock lock(mu_);
  // Numbers only grow, and nearly all who come have been woken.
  const auto found =
      std::lower_bound(waiters_.begin(), waiters_.end(), waiter,
                       [](const Waiter& each, std::uint64_t id) { return each.id < id; });
  if (found != waiters_.end() && found->id == waiter) waiters_.erase(found);
}

Keyspace::Stats Keyspace::stats() {
  const MutexLock lock(mu_);
  Stats stats{.waiting = waiters_.size(),
              .waited = waiter_count_,
              .next = next_,
              .blocks_burned = blocks_burned_,
              .wanted = wanted_,
              .state = state_};
  Tell(stats);
  return stats;
}

Keyspace::Wakes Keyspace::DrainWaiters() {
  Wakes wakes;
  wakes.reserve(waiters_.size());
  for (Waiter& waiter : waiters_) wakes.push_back(std::move(waiter.wake));
  waiters_.clear();
  return wakes;
}

std::uint64_t Keyspace::KeysAwaited() const {
  std::uint64_t keys = 0;
  for (const Waiter& waiter : waiters_) keys += waiter.keys;
  return keys;
}

std::uint64_t Keyspace::RunAwaited() const {
  std::uint64_t run = 0;
  for (const Waiter& waiter : waiters_) {
    if (waiter.in_a_row) run = std::max(run, waiter.keys);
  }
  return run;
}

void Keyspace::Want() {
  const MutexLock lock(mu_);
  wanted_ = true;
}

void Keyspace::CallAll(const Wakes& wakes) {
  for (const auto& wake : wakes) wake();
}

Keyspace::Wakes Keyspace::Supplied() {
  verdict_ = Status();
  last_failure_ = Status();
  return DrainWaiters();
}

Keyspace::Wakes Keyspace::SuppliedWith(std::uint64_t keys) {
  verdict_ = Status();
  last_failure_ = Status();
  Wakes wakes;
  auto waiter = waiters_.begin();
  for (; waiter != waiters_.end() && keys > 0; ++waiter) {
    keys -= std::min(keys, waiter->keys);
    wakes.push_back(std::move(waiter->wake));
  }
  waiters_.erase(waiters_.begin(), waiter);
  return wakes;
}

Keyspace::Wakes Keyspace::End(Status verdict) {
  stopped_ = true;
  verdict_ = std::move(verdict);
  return DrainWaiters();
}

void Keyspace::RefillFailed(const Status& why) {
  if (StopsForGood(why.code())) {
    Stop(why);
    return;
  }
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    last_failure_ = why;
    if (why.code() == Code::kUnknownOutcome) ++blocks_burned_;
    if (why.code() == Code::kExhausted) {
      verdict_ = why;
      wakes = DrainWaiters();
    }
  }
  CallAll(wakes);
}

void Keyspace::Decline(Status why) {
  const MutexLock lock(mu_);
  verdict_ = std::move(why);
}

void Keyspace::Stop(Status verdict) {
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    if (verdict.code() == Code::kQuarantined) state_ = KeyspaceState::kQuarantined;
    if (!stopped_) Drop();
    wakes = End(std::move(verdict));
  }
  CallAll(wakes);
}

void Keyspace::Observe(const KeyspaceRecord& record) {
  Wakes wakes;
  {
    const MutexLock lock(mu_);
    next_ = std::max(next_, record.next);
    // What was stopped by a quarantine says so until this instance is started anew, although it may
    // be open again for others.
    if (!stopped_ || state_ != KeyspaceState::kQuarantined) state_ = record.state;
    if (stopped_) return;
    if (record.state == KeyspaceState::kSealed) {
      verdict_ =
          Status(Code::kFailedPrecondition,
                 fmt::format("keyspace {} was moved with its store to {}", name_, record.reason));
      wakes = DrainWaiters();
    }
  }
  CallAll(wakes);
  if (record.state == KeyspaceState::kQuarantined) {
    Stop({Code::kQuarantined, fmt::format("keyspace {} is quarantined: {}", name_, record.reason)});
  } else if (record.state == KeyspaceState::kRetired) {
    Stop({Code::kFailedPrecondition, fmt::format("keyspace {} is retired", name_)});
  }
}

bool Keyspace::sealed() {
  const MutexLock lock(mu_);
  return state_ == KeyspaceState::kSealed;
}

}  // namespace keymill::mint
