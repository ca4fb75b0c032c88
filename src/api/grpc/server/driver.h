// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What all our calls have in common: a step at a time until the mint has what they want, sleeping
// in between, and nothing more as soon as the caller is gone.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "api/grpc/module.h"
#include "api/grpc/server/bell.h"
#include "base/mutex.h"

namespace keymill::api::grpc {

// Calls at once, on all connections.
inline constexpr std::size_t kCallsMax = 10'000;

// The calls of a server. Safe for concurrent use by multiple threads.
class Calls {
 public:
  explicit Calls(Host& host) : host_(host) {}

  [[nodiscard]] Host& host() const { return host_; }

  // One more. Why it should not be, if so; it counts all the same.
  Problem Enter() KEYMILL_EXCLUDES(mu_);
  void Leave() KEYMILL_EXCLUDES(mu_);

  // From now on new ones are refused, and streams end.
  void SetStopping() { stopping_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  // False when some are left at `deadline`.
  bool AwaitNone(std::chrono::steady_clock::time_point deadline) KEYMILL_EXCLUDES(mu_);

 private:
  Host& host_;
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  CondVar left_;
  std::size_t open_ KEYMILL_GUARDED_BY(mu_) = 0;
};

// The part of a reactor that is no reactor. Its functions are called by one thread at a time,
// except Gone.
class Driver {
 public:
  Driver(Calls& calls, Method method, ::grpc::CallbackServerContext& context);
  virtual ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

 protected:
  [[nodiscard]] Host& host() const { return calls_.host(); }
  [[nodiscard]] bool stopping() const { return calls_.stopping(); }
  // To hand to the host.
  [[nodiscard]] Wake MakeWake() const;

  // Drives `call` until it has something, fails, or the caller is gone, now or later in another
  // thread; until then nothing may end this. A null `call` ends it as `refusal` says.
  void Begin(std::unique_ptr<Call> call, const Problem& refusal = {});
  void Advance();

  // From any thread: the caller has cancelled, or its deadline has passed.
  void Gone() const { bell_->Ring(); }

  // The call has something. Whether to go on at once; otherwise somebody calls Advance, or End.
  virtual bool Got() = 0;
  // The call has failed.
  virtual void Failed(const Problem& problem) { End(StatusOfProblem(problem)); }
  // Ends the reactor: at most once, and last.
  virtual void DoFinish(::grpc::Status status) = 0;

  void End(::grpc::Status status);
  static ::grpc::Status StatusOfProblem(const Problem& problem);

 private:
  Calls& calls_;
  const Method method_;
  ::grpc::CallbackServerContext& context_;
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  std::unique_ptr<Call> call_;
  const Problem unwelcome_;
};

}  // namespace keymill::api::grpc
