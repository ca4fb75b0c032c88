// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Waits for many file descriptors at once, and calls whoever watches one that is ready
// (docs/adr/0008).

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "keymill/clock.h"

#include "base/descriptor.h"
#include "base/mutex.h"

namespace keymill::net {

// What a watcher can wait for, and be told: bits of a mask.
inline constexpr std::uint32_t kReadable = 1;
inline constexpr std::uint32_t kWritable = 2;
inline constexpr std::uint32_t kBroken = 4;  // Told without being asked for: reset or closed.
inline constexpr std::uint32_t kAgain = 8;   // Asked for by Reactor::Again.

class Watcher {
 public:
  virtual ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // The watched descriptor is ready for `events`. Called again in the next round as long as it
  // stays so: whoever cannot use an event must stop watching for it.
  virtual void OnEvents(std::uint32_t events) = 0;

 protected:
  Watcher() = default;
};

// Belongs to the thread that calls Run, but for Post and Stop.
class Reactor {
 public:
  Reactor();
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  // Calls watchers, posted work and timers, round by round, until Stop.
  void Run();
  // From any thread. Run returns after its present round.
  void Stop();

  // Runs `work` on the reactor's thread, soon, in the order of the calls. From any thread. What
  // is left when Run has returned is dropped with the reactor.
  void Post(std::function<void()> work) KEYMILL_EXCLUDES(mu_);

  // `fd` is watched for `events` from now on, until it is closed. False when the system has no
  // room for it.
  // REQUIRES: `watcher` lives as long, and until the round in which that happens is over.
  [[nodiscard]] bool Add(int fd, std::uint32_t events, Watcher& watcher);
  // For which events `fd`, which is watched, is watched from now on.
  void Change(int fd, std::uint32_t events, Watcher& watcher);
  // Calls `watcher` in the next round, without waiting for anything.
  void Again(Watcher& watcher) { again_.push_back(&watcher); }
  // Ends a watcher whose descriptor is closed. It is kept for as long as it may be called, which
  // is until this round is over.
  void Discard(std::shared_ptr<Watcher> watcher);

  struct Timer {
    MonotonicTime time;
    std::uint64_t id = 0;  // 0: none.
    friend bool operator<(const Timer& a, const Timer& b) {
      return a.time != b.time ? a.time < b.time : a.id < b.id;
    }
  };
  // Calls `work` once, at `time` or soon after.
  Timer At(MonotonicTime time, std::function<void()> work);
  // Harmless for one that has been called, and for none.
  void Cancel(const Timer& timer);

  // When this round began. A look at the clock for each event would cost more than most of them.
  [[nodiscard]] MonotonicTime now() const { return now_; }

 private:
  class Bell;  // Wakes Run from another thread.

  [[nodiscard]] int PauseMs() const;
  void RunAgain();
  void RunPosted() KEYMILL_EXCLUDES(mu_);
  void RunTimers();

  const Descriptor epoll_;
  const std::unique_ptr<Bell> bell_;
  std::atomic<bool> stop_{false};
  MonotonicTime now_;
  std::uint64_t timers_made_ = 0;
  using Timers = std::map<Timer, std::function<void()>>;
  Timers timers_;
  Timers::node_type spare_timer_;  // The memory of one that is over, for the next.
  std::vector<Watcher*> again_;
  std::vector<std::shared_ptr<Watcher>> discarded_;
  // Used within one call each; members so that they keep their memory.
  std::vector<Watcher*> called_again_;
  std::vector<std::function<void()>> running_;

  Mutex mu_;
  std::vector<std::function<void()>> posted_ KEYMILL_GUARDED_BY(mu_);
};

}  // namespace keymill::net
