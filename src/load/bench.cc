// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/bench.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "keymill/clock.h"

#include "base/mutex.h"
#include "load/bench_worker.h"
#include "load/key_checker.h"

namespace keymill::load {
namespace {

constexpr std::chrono::seconds kReportEvery{1};
// In an open loop, what was due before the end is sent up to so much after it.
constexpr std::chrono::nanoseconds kLateSends = std::chrono::seconds(1);

double Seconds(MonotonicTime::duration time) { return std::chrono::duration<double>(time).count(); }

class Bench {
 public:
  Bench(BenchOptions options, const std::function<void(const BenchProgress&)>& observe,
        const std::atomic<bool>& stop)
      : options_(std::move(options)), observe_(observe), stop_(stop) {}

  Result<BenchResult> Run();

 private:
  Status ReachTargets();
  void SetLimits(BenchRun& run) const;
  void Start(BenchRun& run);
  void Supervise(const BenchRun& run) KEYMILL_EXCLUDES(mu_);
  void Report(const BenchRun& run, bool finishing);
  void FinishCheck(BenchResult& result);

  BenchOptions options_;
  const std::function<void(const BenchProgress&)>& observe_;
  const std::atomic<bool>& stop_;
  std::optional<Schedule> schedule_;
  std::optional<KeyChecker> checker_;
  std::vector<std::unique_ptr<BenchWorker>> workers_;
  std::vector<std::thread> threads_;
  BenchStats total_;
  MonotonicTime reported_;

  Mutex mu_;
  CondVar ended_;
  std::size_t running_ KEYMILL_GUARDED_BY(mu_) = 0;
  Status failure_ KEYMILL_GUARDED_BY(mu_);
};

Result<BenchResult> Bench::Run() {
  if (Status status = ReachTargets(); !status.ok()) return status;
  options_.threads = std::clamp<std::size_t>(options_.threads, 1, options_.connections);
  if (!options_.stages.empty()) schedule_.emplace(options_.stages);
  if (options_.check) checker_.emplace(options_.finder, options_.threads);
  BenchRun run{.options = options_,
               .schedule = schedule_ ? &*schedule_ : nullptr,
               .checker = checker_ ? &*checker_ : nullptr,
               .stop = stop_,
               .start = SystemClock().Monotonic()};
  SetLimits(run);
  Start(run);
  Supervise(run);
  for (std::thread& thread : threads_) thread.join();
  BenchResult result;
  result.seconds = Seconds(SystemClock().Monotonic() - run.start);
  Report(run, true);
  {
    const MutexLock lock(mu_);
    if (!failure_.ok()) return failure_;
  }
  result.stats = total_;
  result.open_loop = schedule_.has_value();
  result.threads = options_.threads;
  if (options_.await.count() > 0) {
    const std::chrono::nanoseconds reached(run.reached_ns.load(std::memory_order_relaxed));
    if (reached.count() == BenchRun::kNotReached) {
      return Status(Code::kUnavailable,
                    "connect to " + options_.targets.front().url +
                        ": nobody listens there; --duration ended before --await");
    }
    result.awaited = {std::chrono::duration<double>(reached).count(), total_.knocks};
  }
  if (checker_) FinishCheck(result);
  return result;
}

// Targets without an address are left out: nothing could be sent to them. Those that merely
// refuse stay, because a server that comes back is a thing to measure.
Status Bench::ReachTargets() {
  Status first;
  bool reached = false;
  for (Target& target : options_.targets) {
    Status status = Reach(target);
    const bool may_come = options_.await.count() > 0 && target.address_size > 0;
    reached = reached || may_come || status.ok();
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  if (!reached) return first;
  std::erase_if(options_.targets, [](const Target& target) { return target.address_size == 0; });
  return Status::Ok();
}

void Bench::SetLimits(BenchRun& run) const {
  run.requests_max = options_.requests;
  run.end_ns = options_.duration.count();
  if (!schedule_) return;
  run.end_ns = (schedule_->length() + kLateSends).count();
  run.requests_max =
      options_.requests == 0 ? schedule_->total() : std::min(options_.requests, schedule_->total());
}

void Bench::Start(BenchRun& run) {
  reported_ = run.start;
  for (std::size_t i = 0; i < options_.threads; ++i) {
    workers_.push_back(std::make_unique<BenchWorker>(run, i, options_.threads));
  }
  {
    const MutexLock lock(mu_);
    running_ = workers_.size();
  }
  for (const auto& worker : workers_) {
    threads_.emplace_back([this, &worker] {
      Status status = worker->Run();
      const MutexLock lock(mu_);
      if (failure_.ok()) failure_ = std::move(status);
      --running_;
      ended_.NotifyAll();
    });
  }
}

void Bench::Supervise(const BenchRun& run) {
  for (MonotonicTime next = run.start + kReportEvery;; next += kReportEvery) {
    {
      const MutexLock lock(mu_);
      while (running_ > 0 && ended_.WaitUntil(mu_, next)) {
      }
      if (running_ == 0) return;
    }
    Report(run, false);
  }
}

void Bench::Report(const BenchRun& run, bool finishing) {
  BenchStats recent;
  for (const auto& worker : workers_) worker->TakeStats(recent);
  total_.Add(recent);
  const MonotonicTime now = SystemClock().Monotonic();
  BenchProgress progress{.seconds = Seconds(now - run.start),
                         .interval = Seconds(now - std::exchange(reported_, now)),
                         .recent = recent,
                         .total = total_};
  if (schedule_) progress.wanted_rate = schedule_->RateAt(now - run.start);
  if (checker_) {
    const KeyChecker::Live live = checker_->live();
    progress.checked = true;
    progress.repeats = live.repeats;
    progress.at_least = live.spilled;
  }
  progress.finishing = finishing;
  observe_(progress);
}

void Bench::FinishCheck(BenchResult& result) {
  result.check_stalled_seconds = std::chrono::duration<double>(checker_->stalled()).count();
  const Result<const DuplicateFinder*> finder = checker_->Finish();
  if (!finder.ok()) {
    result.check_failure = finder.status();
    return;
  }
  result.checked = true;
  result.repeats = (*finder)->repeats();
  result.duplicate_keys = (*finder)->duplicate_keys();
  result.examples = (*finder)->first();
}

}  // namespace

Result<BenchResult> RunBench(BenchOptions options,
                             const std::function<void(const BenchProgress&)>& observe,
                             const std::atomic<bool>& stop) {
  return Bench(std::move(options), observe, stop).Run();
}

}  // namespace keymill::load
