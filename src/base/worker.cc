// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/worker.h"

#include <utility>

#include "base/thread_name.h"

namespace keymill {

Worker::Worker(std::size_t queue_max, std::size_t threads) : queue_max_(queue_max) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

Worker::~Worker() { Stop(); }

void Worker::Stop() {
  {
    const MutexLock lock(mu_);
    stop_ = true;
    filled_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool Worker::Post(std::function<void()> task) {
  const MutexLock lock(mu_);
  if (stop_ || tasks_.size() >= queue_max_) return false;
  tasks_.push_back(std::move(task));
  filled_.NotifyOne();
  return true;
}

void Worker::Run() {
  NameThisThread("keymill-worker");
  for (;;) {
    std::function<void()> task;
    {
      const MutexLock lock(mu_);
      while (tasks_.empty() && !stop_) filled_.Wait(mu_);
      if (stop_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace keymill
