// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/backend.h"

#include <utility>

#include <fmt/format.h>

namespace keymill::api {
namespace {

constexpr std::size_t kWaitingMax = 4096;
constexpr std::size_t kPagesMax = 64;
// More than a SQL store has connections, so that these are never idle while something waits.
constexpr std::size_t kKeyThreads = 8;
// Each may hold the content of a request.
constexpr std::size_t kKeysWaitingMax = 512;
// They wait for blocks of numbers, too, as nothing else there does.
constexpr std::size_t kRetryThreads = 4;
constexpr std::size_t kMissingMax = 1024;
constexpr std::chrono::milliseconds kMissingFor{250};

Status NoSuchKeyspace(std::string_view name) {
  return {Code::kNotFound, fmt::format("there is no keyspace \"{}\"", name)};
}

}  // namespace

Backend::Backend(std::chrono::milliseconds request_timeout, const Clock& clock)
    : clock_(clock),
      request_timeout_(request_timeout),
      keyspaces_(kWaitingMax),
      keys_(kKeysWaitingMax, kKeyThreads),
      retries_(kWaitingMax, kRetryThreads),
      pages_(kPagesMax) {}

Worker& Backend::WorkerOf(Queue queue) {
  switch (queue) {
    case Queue::kKeyspaces:
      return keyspaces_;
    case Queue::kKeys:
      return keys_;
    case Queue::kRetries:
      return retries_;
    case Queue::kPages:
      break;
  }
  return pages_;
}

bool Backend::Run(Queue queue, std::shared_ptr<Errand> errand, std::function<void()> work,
                  std::function<void()> wake) {
  return WorkerOf(queue).Post(
      [errand = std::move(errand), work = std::move(work), wake = std::move(wake)] {
        if (errand->abandoned.load(std::memory_order_relaxed)) return;
        work();
        errand->done.store(true, std::memory_order_release);
        wake();
      });
}

void Backend::Stop() {
  for (Worker* const worker : {&keyspaces_, &keys_, &retries_, &pages_}) worker->Stop();
}

Result<mint::Engine*> Backend::Mill() const {
  mint::Engine* const mill = engine();
  if (mill == nullptr) return Status(Code::kUnavailable, "the store has not been reached yet");
  return mill;
}

Result<mint::Keyspace*> Backend::LookUp(const std::string& name) {
  const Result<mint::Engine*> mill = Mill();
  if (!mill.ok()) return mill.status();
  if ((*mill)->Find(name) == nullptr && RecentlyMissing(name)) return NoSuchKeyspace(name);
  Result<mint::Keyspace*> found = (*mill)->Lookup(name);
  if (found.code() == Code::kNotFound) NoteMissing(name);
  return found;
}

bool Backend::RecentlyMissing(const std::string& name) {
  const MonotonicTime now = clock_.Monotonic();
  const MutexLock lock(missing_mu_);
  const auto found = missing_.find(name);
  if (found == missing_.end()) return false;
  if (now < found->second) return true;
  missing_.erase(found);
  return false;
}

void Backend::NoteMissing(const std::string& name) {
  const MonotonicTime until = clock_.Monotonic() + kMissingFor;
  const MutexLock lock(missing_mu_);
  if (missing_.size() >= kMissingMax) missing_.clear();
  missing_[name] = until;
}

}  // namespace keymill::api
