// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "net/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/metrics.h"
#include "net/listener.h"
#include "net/loop.h"

namespace keymill::net {
namespace {

constexpr int kAcceptedMax = 64;  // In one go, before the connections that are open get a turn.
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::milliseconds kWarnEvery{1'000};
constexpr std::chrono::milliseconds kDrainPoll{5};

// Of the time for a drain, what is kept for the connections that nobody has accepted yet.
constexpr std::chrono::milliseconds kQueueTime{1'000};

}  // namespace

// One listener, on the first loop, deals connections to the loops in turn: each gets its
// share even when there are few, and no connection is lost in the queue of a listener that
// closes (docs/adr/0003).
class Server::Impl final : public Watcher {
 public:
  Impl(const ServerOptions& options, SessionFactory factory)
      : options_(options), factory_(std::move(factory)) {
    for (std::uint32_t i = 0; i < std::max(1U, options_.threads); ++i) {
      loops_.push_back(std::make_unique<Loop>(options_, connections_));
    }
  }

  ~Impl() override {
    for (const auto& loop : loops_) loop->Stop();
    for (const auto& loop : loops_) loop->Join();
  }

  Status Listen() {
    Result<Listener> listener = Listener::Open(options_.address, options_.port);
    if (!listener.ok()) return listener.status();
    listener_ = *std::move(listener);
    if (!acceptor().Add(listener_.fd(), kReadable, *this)) {
      return {Code::kInvalidArgument,
              fmt::format("listen on {}:{}: the system watches too many files (see "
                          "/proc/sys/fs/epoll/max_user_watches)",
                          options_.address, port())};
    }
    return {};
  }

  void Run() {
    for (const auto& loop : loops_) loop->Start();
  }

  bool Drain(std::chrono::milliseconds timeout) {
    const MonotonicTime deadline = SystemClock().Monotonic() + timeout;
    for (const auto& loop : loops_) {
      if (!RunOn(
              *loop, [&each = *loop] { each.Drain(); }, deadline))
        return false;
    }
    // Whoever takes long must not cost those behind it their answers.
    static_cast<void>(AwaitOwed(deadline - std::min(kQueueTime, timeout / 4)));
    if (!AwaitEmptyQueue(deadline)) return false;
    while (connections_.load(std::memory_order_relaxed) > 0) {
      if (SystemClock().Monotonic() >= deadline) return false;
      std::this_thread::sleep_for(kDrainPoll);
    }
    return true;
  }

  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }
  [[nodiscard]] std::size_t connections() const {
    return connections_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t accepted() const { return accepted_.value(); }
  [[nodiscard]] std::uint64_t turned_away() const { return turned_away_.value(); }

  // Somebody has connected.
  void OnEvents(std::uint32_t /*events*/) override {
    for (int i = 0; i < kAcceptedMax && listener_.open(); ++i) {
      Descriptor socket = listener_.Accept();
      if (!socket.open()) {
        if (listener_.exhausted()) PauseAccepting();
        return;
      }
      Deal(std::move(socket));
    }
  }

 private:
  // Runs `work` on the loop's thread. False when it was not done by `deadline`; it may still
  // run then.
  static bool RunOn(Loop& loop, std::function<void()> work, MonotonicTime deadline) {
    const auto done = std::make_shared<std::promise<void>>();
    loop.reactor().Post([work = std::move(work), done] {
      work();
      done->set_value();
    });
    return done->get_future().wait_until(deadline) == std::future_status::ready;
  }

  // Until no connection that was here when the drain began has anything in flight.
  bool AwaitOwed(MonotonicTime deadline) {
    for (const auto& loop : loops_) {
      const auto owes = std::make_shared<std::atomic<bool>>(true);
      for (;;) {
        if (!RunOn(
                *loop, [&each = *loop, owes] { *owes = each.Owes(); }, deadline))
          return false;
        if (!*owes) break;
        std::this_thread::sleep_for(kDrainPoll);
      }
    }
    return true;
  }

  // Until everybody in the queue is accepted, and the listener closed.
  bool AwaitEmptyQueue(MonotonicTime deadline) {
    for (;;) {
      const auto empty = std::make_shared<std::atomic<bool>>(false);
      if (!RunOn(
              *loops_.front(), [this, empty] { *empty = EmptyQueue(); }, deadline))
        return false;
      if (*empty) return true;
      std::this_thread::sleep_for(kDrainPoll);
    }
  }

  Reactor& acceptor() { return loops_.front()->reactor(); }

  // Out of file descriptors, most likely: trying again at once would only burn the core that
  // the open connections need to finish.
  void PauseAccepting() {
    const MonotonicTime now = acceptor().now();
    if (now >= warn_not_before_) {
      warn_not_before_ = now + kWarnEvery;
      Log(LogLevel::kWarn, "net", "accept on port {}: {}", port(), listener_.failure());
    }
    acceptor().Change(listener_.fd(), 0, *this);
    acceptor().At(now + kAcceptPause, [this] {
      if (listener_.open()) acceptor().Change(listener_.fd(), kReadable, *this);
    });
  }

  // On the first loop's thread. False while there are not enough file descriptors: those that
  // are open end one by one.
  bool EmptyQueue() {
    // Whoever comes faster than we accept must not keep us here.
    for (int i = 0; i < Listener::kBacklog; ++i) {
      Descriptor socket = listener_.Accept();
      if (!socket.open() && listener_.exhausted()) return false;
      if (!socket.open()) break;
      Deal(std::move(socket));
    }
    listener_.Close();
    return true;
  }

  void Deal(Descriptor socket) {
    accepted_.Add(1);
    if (connections_.fetch_add(1, std::memory_order_relaxed) >= options_.connections_max) {
      connections_.fetch_sub(1, std::memory_order_relaxed);
      turned_away_.Add(1);
      return TurnAway(std::move(socket));
    }
    Loop& loop = *loops_[next_loop_++ % loops_.size()];
    if (&loop == loops_.front().get()) return loop.Adopt(std::move(socket), factory_);
    const auto moved = std::make_shared<Descriptor>(std::move(socket));
    loop.reactor().Post([this, &loop, moved] { loop.Adopt(std::move(*moved), factory_); });
  }

  void TurnAway(Descriptor socket) const {
    const std::string& answer = options_.busy_answer;
    ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    ::shutdown(socket.get(), SHUT_WR);
    // A request that is here already would turn the close into a reset.
    std::array<char, 4096> request;
    ::recv(socket.get(), request.data(), request.size(), 0);
  }

  const ServerOptions options_;
  const SessionFactory factory_;
  std::atomic<std::size_t> connections_{0};
  std::vector<std::unique_ptr<Loop>> loops_;
  // The first loop's thread.
  Listener listener_;
  std::size_t next_loop_ = 0;
  OwnedCounter accepted_;
  OwnedCounter turned_away_;
  MonotonicTime warn_not_before_{};
};

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                              SessionFactory factory) {
  auto impl = std::make_unique<Impl>(options, std::move(factory));
  if (Status listening = impl->Listen(); !listening.ok()) return listening;
  impl->Run();
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

std::uint16_t Server::port() const { return impl_->port(); }
std::size_t Server::connections() const { return impl_->connections(); }
std::uint64_t Server::accepted() const { return impl_->accepted(); }
std::uint64_t Server::turned_away() const { return impl_->turned_away(); }
bool Server::Drain(std::chrono::milliseconds timeout) { return impl_->Drain(timeout); }

}  // namespace keymill::net
