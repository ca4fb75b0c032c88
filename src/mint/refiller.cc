// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The engine's background half: one thread that makes blocking calls to the store, so that
// no request has to. It keeps every reservoir supplied. What it looks at before is in auditor.cc.

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/thread_name.h"
#include "mint/engine.h"

namespace keymill::mint {
namespace {

// After a failure the store is left alone for this long, however many requests arrive.
constexpr std::chrono::milliseconds kRetryPause{50};

// How often a stop asks a store that does not answer, over all its blocks.
constexpr int kCloseAttempts = 2;

}  // namespace

void Engine::Notify() {
  const MutexLock lock(mu_);
  notified_ = true;
  wake_.NotifyOne();
  if (!ticker_.joinable()) return;
  tick_notified_ = true;
  tick_wake_.NotifyOne();
}

void Engine::Run() {
  NameThisThread("keymill-refill");
  for (;;) {
    const MonotonicTime due = Step();
    const MutexLock lock(mu_);
    while (!notified_ && !stop_) {
      if (!wake_.WaitUntil(mu_, due)) break;
    }
    notified_ = false;
    if (stop_) return;
  }
}

void Engine::StartTicks() {
  if (!options_.background) return;
  const MutexLock lock(mu_);
  if (stop_ || ticker_.joinable()) return;
  ticker_ = std::thread([this] { RunTicks(); });
}

void Engine::RunTicks() {
  NameThisThread("keymill-tick");
  for (;;) {
    const MonotonicTime due = std::min(Tick(), clock_.Monotonic() + std::chrono::hours(1));
    const MutexLock lock(mu_);
    while (!tick_notified_ && !stop_) {
      if (!tick_wake_.WaitUntil(mu_, due)) break;
    }
    tick_notified_ = false;
    if (stop_) return;
  }
}

MonotonicTime Engine::Tick() {
  MonotonicTime due = MonotonicTime::max();
  for (Keyspace* const keyspace : catalog_.All()) due = std::min(due, keyspace->Tick());
  return due;
}

MonotonicTime Engine::Step() {
  const MutexLock lock(refill_mu_);
  const MonotonicTime now = clock_.Monotonic();
  if (failed_) return now + std::chrono::hours(1);
  if (now < retry_not_before_) return retry_not_before_;
  const bool audit = now >= audit_due_;
  if (audit || now >= watch_due_) {
    if (const Status seen = Audit(/*full=*/audit); !seen.ok()) return LeaveAlone(seen);
  }
  if (const Status wait = MayReserve(); !wait.ok()) {
    for (Keyspace* const keyspace : catalog_.All()) keyspace->RefillFailed(wait);
    return timeline_.Settled(now) ? watch_due_ : std::min(watch_due_, timeline_.settled_at());
  }
  bool reachable = true;
  for (Keyspace* const keyspace : catalog_.All()) {
    // An exhausted keyspace is asked again only now and then: somebody may give back.
    if (!audit && keyspace->Verdict().code() == Code::kExhausted) continue;
    if (keyspace->sealed()) continue;
    reachable = Refill(*keyspace);
    if (!reachable) break;
  }
  if (reachable) {
    reserving_ = true;  // Nobody wants what was refused any more.
  } else {
    retry_not_before_ = clock_.Monotonic() + kRetryPause;
    watch_due_ = retry_not_before_;  // It may have come back as another one.
    return retry_not_before_;
  }
  return std::min(watch_due_, audit_due_);
}

MonotonicTime Engine::LeaveAlone(const Status& why) {
  SetStoreUp(false, why.message());
  for (Keyspace* const keyspace : catalog_.All()) keyspace->RefillFailed(why);
  retry_not_before_ = clock_.Monotonic() + kRetryPause;
  watch_due_ = retry_not_before_;
  return retry_not_before_;
}

bool Engine::Refill(Keyspace& keyspace) {
  if (const Status wait = MayReserve(); !wait.ok()) {
    keyspace.RefillFailed(wait);
    return true;
  }
  const Keyspace::Refilled done = keyspace.Refill(MakeSupply());
  if (!done.status.ok() && done.alone) {
    const bool news = keyspace.IsNews(done.status);
    keyspace.RefillFailed(done.status);
    if (news) Log(LogLevel::kInfo, "mint", "{}: {}", keyspace.name(), done.status.message());
    return true;
  }
  if (!done.status.ok()) return RefillFailed(keyspace, done.status);
  if (done.granted) SetReserving(true, {});
  if (done.more) Notify();
  return true;
}

bool Engine::RefillFailed(Keyspace& keyspace, const Status& failure) {
  if (failure.code() == Code::kFailedPrecondition) {
    // What a sealed store has granted before is still ours to hand out.
    const Result<KeyspaceRecord> record =
        store_.store().FindKeyspace(keyspace.name(), StoreDeadline());
    if (!record.ok() && record.code() != Code::kNotFound) {
      SetReserving(false, record.status().message());
      return false;
    }
    if (record.ok() && record->state == KeyspaceState::kSealed) {
      keyspace.Observe(*record);
      return true;
    }
  }
  if (failure.code() == Code::kNotFound) {
    // S2: it is not gone where another store has taken the place of the one that has it.
    if (const Status right = WatchTimeline(); !right.ok()) return RefillFailed(keyspace, right);
  }
  const bool news = keyspace.IsNews(failure);
  keyspace.RefillFailed(failure);
  switch (failure.code()) {
    case Code::kInternal:
      Fatal(failure);
      return false;
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      SetReserving(false, failure.message());
      return false;
    case Code::kUnknownOutcome:
      Log(LogLevel::kWarn, "mint", "a block of {} is burned: {}", keyspace.name(),
          failure.message());
      return false;
    case Code::kExhausted:
    case Code::kOverloaded:
    case Code::kClockRegressed:
      SetReserving(true, {});
      if (news) Log(LogLevel::kWarn, "mint", "{}", failure.message());
      return true;
    default:
      SetReserving(true, {});
      Log(LogLevel::kError, "mint", "keyspace {} stops: {}", keyspace.name(), failure.message());
      return true;
  }
}

void Engine::SetReserving(bool works, std::string_view why) {
  reserving_ = works;
  SetStoreUp(works, why);
}

void Engine::SetStoreUp(bool up, std::string_view why) {
  if (store_up_.exchange(up) == up) return;
  if (up) {
    Log(LogLevel::kInfo, "mint", "the store is back");
  } else {
    Log(LogLevel::kWarn, "mint", "the store is away: {}", why);
  }
}

void Engine::SetRefill(const RefillOptions& refill) {
  const MutexLock lock(refill_mu_);
  refill_ = refill;
}

void Engine::WarmUp(Keyspace& keyspace) {
  keyspace.Want();
  const MutexLock lock(refill_mu_);
  if (!failed_ && !closed_) Refill(keyspace);
}

void Engine::Fatal(const Status& why) {
  if (failed_.exchange(true)) return;
  Log(LogLevel::kError, "mint", "the store failed for good: {}", why.message());
  for (Keyspace* const keyspace : catalog_.All()) keyspace->RefillFailed(why);
  if (options_.on_fatal) options_.on_fatal(why);
}

std::uint64_t Engine::Close(MonotonicTime deadline) {
  if (closed_.exchange(true)) return 0;
  {
    const MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyAll();
    tick_wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  if (ticker_.joinable()) ticker_.join();
  const MutexLock lock(refill_mu_);
  // S4: what somebody may still object to is not changed, not even to give something back.
  if (compare_ || !timeline_.Settled(clock_.Monotonic())) deadline = MonotonicTime::min();
  // A busy sibling may hold the witness or the store for a moment. Once nothing answers, the
  // rest is burned: somebody waits for us to end.
  Closing closing(MakeSupply(), deadline, kCloseAttempts);
  std::uint64_t given_back = 0;
  std::uint64_t too_late = 0;
  for (Keyspace* const keyspace : catalog_.All()) {
    const Keyspace::Closed closed = keyspace->Close(closing);
    given_back += closed.given_back;
    too_late += closed.too_late;
  }
  if (too_late > 0) {
    Log(LogLevel::kWarn, "mint", "{}; {} numbers are burned",
        deadline == MonotonicTime::min() ? "the store's server has just changed"
                                         : "the time for a stop has passed",
        too_late);
  }
  return given_back;
}

}  // namespace keymill::mint
