// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Threads for work that may block, so that event loops need not.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace keymill {

// Safe for concurrent use by multiple threads.
class Worker {
 public:
  // `threads` tasks run at a time: with one, each after the one before.
  explicit Worker(std::size_t queue_max, std::size_t threads = 1);
  ~Worker();  // Stops.
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // False when the queue is full; `task` is dropped then.
  [[nodiscard]] bool Post(std::function<void()> task);

  // Finishes what it is at and drops the rest, now and later. From one thread at a time.
  void Stop();

 private:
  void Run();

  const std::size_t queue_max_;
  Mutex mu_;
  CondVar filled_;
  std::deque<std::function<void()>> tasks_ KEYMILL_GUARDED_BY(mu_);
  bool stop_ KEYMILL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace keymill
