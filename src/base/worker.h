// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One thread for work that may block, so that event loops need not.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace keymill {

// Safe for concurrent use by multiple threads.
class Worker {
 public:
  explicit Worker(std::size_t queue_max);
  ~Worker();  // Finishes what it is at and drops the rest.
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // False when the queue is full; `task` is dropped then.
  [[nodiscard]] bool Post(std::function<void()> task);

 private:
  void Run();

  const std::size_t queue_max_;
  Mutex mu_;
  CondVar filled_;
  std::deque<std::function<void()>> tasks_ KEYMILL_GUARDED_BY(mu_);
  bool stop_ KEYMILL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace keymill
