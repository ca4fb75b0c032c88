// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// std::mutex and std::condition_variable with clang's thread-safety annotations, so
// that the `clang` preset turns a read without the lock into a compile error.

#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define KEYMILL_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define KEYMILL_THREAD_ANNOTATION(x)
#endif

#define KEYMILL_CAPABILITY(x) KEYMILL_THREAD_ANNOTATION(capability(x))
#define KEYMILL_SCOPED_CAPABILITY KEYMILL_THREAD_ANNOTATION(scoped_lockable)
#define KEYMILL_GUARDED_BY(x) KEYMILL_THREAD_ANNOTATION(guarded_by(x))
#define KEYMILL_REQUIRES(...) KEYMILL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define KEYMILL_EXCLUDES(...) KEYMILL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define KEYMILL_ACQUIRE(...) KEYMILL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define KEYMILL_RELEASE(...) KEYMILL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
// For a function that nobody else can meet. It says why.
#define KEYMILL_UNSHARED KEYMILL_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace keymill {

class KEYMILL_CAPABILITY("mutex") Mutex {
 public:
  void Lock() KEYMILL_ACQUIRE() { mutex_.lock(); }
  void Unlock() KEYMILL_RELEASE() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class KEYMILL_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) KEYMILL_ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() KEYMILL_RELEASE() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  void Wait(Mutex& mutex) KEYMILL_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns false when `deadline` passed first.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline)
      KEYMILL_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const auto outcome = condition_.wait_until(lock, deadline);
    lock.release();
    return outcome == std::cv_status::no_timeout;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace keymill
