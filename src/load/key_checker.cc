// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/key_checker.h"

#include <utility>

#include "keymill/clock.h"

namespace keymill::load {
namespace {

// 8 MiB, some 900,000 keys: what comes while the table grows or goes to disk.
constexpr std::size_t kBatchesPerProducer = 128;

}  // namespace

KeyChecker::KeyChecker(const DuplicateFinderOptions& options, std::size_t producers)
    : finder_(options), batches_left_(producers * kBatchesPerProducer) {
  thread_ = std::thread([this] { Work(); });
}

KeyChecker::~KeyChecker() { Stop(); }

void KeyChecker::Submit(std::unique_ptr<KeyBatch>& batch) {
  const MutexLock lock(mu_);
  if (empty_.empty() && batches_left_ > 0) {
    --batches_left_;
    empty_.push_back(std::make_unique<KeyBatch>());
  }
  if (empty_.empty()) {
    const MonotonicTime began = SystemClock().Monotonic();
    while (empty_.empty()) changed_.Wait(mu_);
    stalled_ns_ += std::chrono::nanoseconds(SystemClock().Monotonic() - began).count();
  }
  full_.push_back(std::exchange(batch, std::move(empty_.back())));
  empty_.pop_back();
  changed_.NotifyAll();
}

KeyChecker::Live KeyChecker::live() const {
  return {.keys = keys_.load(), .repeats = repeats_.load(), .spilled = spilled_.load()};
}

std::chrono::nanoseconds KeyChecker::stalled() const {
  return std::chrono::nanoseconds(stalled_ns_.load());
}

Result<const DuplicateFinder*> KeyChecker::Finish() {
  Stop();
  if (failure_.ok()) failure_ = finder_.Finish();
  if (!failure_.ok()) return failure_;
  return &finder_;
}

void KeyChecker::Stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void KeyChecker::Work() {
  for (;;) {
    std::unique_ptr<KeyBatch> batch;
    {
      const MutexLock lock(mu_);
      while (full_.empty() && !stopping_) changed_.Wait(mu_);
      if (full_.empty()) return;
      batch = std::move(full_.front());
      full_.pop_front();
    }
    Compare(*batch);
    batch->Clear();
    const MutexLock lock(mu_);
    empty_.push_back(std::move(batch));
    changed_.NotifyAll();
  }
}

void KeyChecker::Compare(const KeyBatch& batch) {
  keys_at_hand_.clear();
  batch.ForEach([this](std::string_view key) { keys_at_hand_.push_back(key); });
  if (failure_.ok()) failure_ = finder_.Add(keys_at_hand_, finder_.keys() + 1);
  keys_.store(finder_.keys());
  repeats_.store(finder_.repeats());
  spilled_.store(finder_.spilled());
}

}  // namespace keymill::load
