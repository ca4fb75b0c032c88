// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/reactor.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/check.h"

namespace keymill::net {
namespace {

constexpr int kEventsMax = 256;

epoll_event Event(std::uint32_t events, Watcher& watcher) {
  epoll_event event{};
  if ((events & kReadable) != 0) event.events |= EPOLLIN;
  if ((events & kWritable) != 0) event.events |= EPOLLOUT;
  event.data.ptr = &watcher;
  return event;
}

std::uint32_t EventsOf(std::uint32_t seen) {
  std::uint32_t events = 0;
  if ((seen & EPOLLIN) != 0) events |= kReadable;
  if ((seen & EPOLLOUT) != 0) events |= kWritable;
  if ((seen & (EPOLLERR | EPOLLHUP)) != 0) events |= kBroken;
  return events;
}

}  // namespace

class Reactor::Bell final : public Watcher {
 public:
  Bell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { KEYMILL_CHECK(fd_.open()); }

  [[nodiscard]] int fd() const { return fd_.get(); }

  void Ring() const { ::eventfd_write(fd_.get(), 1); }
  void OnEvents(std::uint32_t /*events*/) override {
    eventfd_t times = 0;
    ::eventfd_read(fd_.get(), &times);
    rung_ = true;
  }
  // Whether it has rung since the last call.
  bool TakeRung() { return std::exchange(rung_, false); }

 private:
  const Descriptor fd_;
  bool rung_ = false;
};

Reactor::Reactor()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      bell_(std::make_unique<Bell>()),
      now_(SystemClock().Monotonic()) {
  KEYMILL_CHECK(epoll_.open());
  KEYMILL_CHECK(Add(bell_->fd(), kReadable, *bell_));
}

Reactor::~Reactor() = default;

void Reactor::Run() {
  std::array<epoll_event, kEventsMax> events;
  while (!stop_.load(std::memory_order_acquire)) {
    int count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, PauseMs());
    // Interrupted, as by a stop of the process: what came meanwhile goes before what is overdue.
    if (count < 0) count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, 0);
    now_ = SystemClock().Monotonic();
    RunAgain();
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      static_cast<Watcher*>(event.data.ptr)->OnEvents(EventsOf(event.events));
    }
    RunPosted();
    RunTimers();
    discarded_.clear();
  }
}

void Reactor::Stop() {
  stop_.store(true, std::memory_order_release);
  bell_->Ring();
}

int Reactor::PauseMs() const {
  if (!again_.empty()) return 0;
  if (timers_.empty()) return -1;
  const MonotonicTime first = timers_.begin()->first.time;
  if (first <= now_) return 0;
  // Rounded up: one that wakes too early would find nothing to do, and do so again and again.
  const auto pause = std::chrono::ceil<std::chrono::milliseconds>(first - now_).count();
  return static_cast<int>(std::min<std::int64_t>(pause, std::numeric_limits<int>::max()));
}

bool Reactor::Add(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event = Event(events, watcher);
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Reactor::Change(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event = Event(events, watcher);
  KEYMILL_CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void Reactor::Discard(std::shared_ptr<Watcher> watcher) {
  std::erase(again_, watcher.get());
  discarded_.push_back(std::move(watcher));
}

void Reactor::RunAgain() {
  // Before the events: whoever wants to be called again after this gets its turn behind them.
  called_again_.swap(again_);
  for (Watcher* const watcher : called_again_) watcher->OnEvents(kAgain);
  called_again_.clear();
}

void Reactor::Post(std::function<void()> work) {
  bool first = false;
  {
    const MutexLock lock(mu_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (first) bell_->Ring();
}

void Reactor::RunPosted() {
  if (!bell_->TakeRung()) return;
  {
    const MutexLock lock(mu_);
    running_.swap(posted_);
  }
  for (const auto& work : running_) work();
  running_.clear();
}

Reactor::Timer Reactor::At(MonotonicTime time, std::function<void()> work) {
  const Timer timer{time, ++timers_made_};
  if (spare_timer_.empty()) {
    timers_.emplace(timer, std::move(work));
    return timer;
  }
  spare_timer_.key() = timer;
  spare_timer_.mapped() = std::move(work);
  timers_.insert(std::move(spare_timer_));
  return timer;
}

void Reactor::Cancel(const Timer& timer) {
  auto cancelled = timers_.extract(timer);
  if (cancelled.empty()) return;
  cancelled.mapped() = nullptr;  // What it holds is not needed any more.
  spare_timer_ = std::move(cancelled);
}

void Reactor::RunTimers() {
  while (!timers_.empty() && timers_.begin()->first.time <= now_) {
    spare_timer_ = timers_.extract(timers_.begin());
    const auto work = std::exchange(spare_timer_.mapped(), nullptr);
    work();
  }
}

}  // namespace keymill::net
