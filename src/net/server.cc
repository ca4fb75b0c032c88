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

// One listener for each endpoint, on the first loop, deals connections to the loops in turn: each
// gets its share even when there are few, and no connection is lost in the queue of a listener
// that closes (docs/adr/0003).
class Server::Impl {
 public:
  explicit Impl(const ServerOptions& options) : options_(options) {
    for (std::uint32_t i = 0; i < std::max(1U, options_.threads); ++i) {
      loops_.push_back(std::make_unique<Loop>(connections_));
    }
  }

  ~Impl() {
    for (const auto& loop : loops_) loop->Stop();
    for (const auto& loop : loops_) loop->Join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<std::uint16_t> Listen(const Endpoint& endpoint, SessionFactory factory) {
    Result<Listener> listener = Listener::Open(endpoint.address, endpoint.port);
    if (!listener.ok()) return listener.status();
    const std::uint16_t port = listener->port();
    auto door = std::make_unique<Door>(*this, endpoint, std::move(factory), *std::move(listener));
    if (!acceptor().Add(door->listener.fd(), kReadable, *door)) {
      return Status(Code::kInvalidArgument,
                    fmt::format("listen on {}:{}: the system watches too many files (see "
                                "/proc/sys/fs/epoll/max_user_watches)",
                                endpoint.address, port));
    }
    doors_.push_back(std::move(door));
    return port;
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

  [[nodiscard]] std::size_t connections() const {
    return connections_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] Counts counts(std::uint16_t port) const {
    for (const auto& door : doors_) {
      if (door->port != port) continue;
      return {door->open.load(std::memory_order_relaxed), door->accepted.value(),
              door->turned_away.value()};
    }
    return {};
  }

 private:
  // One endpoint. Used by the first loop's thread.
  struct Door final : Watcher {
    Door(Impl& of, Endpoint at, SessionFactory makes, Listener bound)
        : server(of),
          endpoint(std::move(at)),
          factory(std::move(makes)),
          listener(std::move(bound)),
          port(listener.port()) {}

    // Somebody has connected.
    void OnEvents(std::uint32_t /*events*/) override {
      for (int i = 0; i < kAcceptedMax && listener.open(); ++i) {
        Descriptor socket = listener.Accept();
        if (!socket.open()) {
          if (listener.exhausted()) server.PauseAccepting(*this);
          return;
        }
        server.Deal(std::move(socket), *this);
      }
    }

    Impl& server;
    const Endpoint endpoint;
    const SessionFactory factory;
    Listener listener;
    const std::uint16_t port;
    MonotonicTime warn_not_before{};
    std::atomic<std::size_t> open{0};
    OwnedCounter accepted;
    OwnedCounter turned_away;
  };

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

  // Until everybody in the queues is accepted, and the listeners are closed.
  bool AwaitEmptyQueue(MonotonicTime deadline) {
    for (;;) {
      const auto empty = std::make_shared<std::atomic<bool>>(false);
      if (!RunOn(
              *loops_.front(), [this, empty] { *empty = EmptyQueues(); }, deadline))
        return false;
      if (*empty) return true;
      std::this_thread::sleep_for(kDrainPoll);
    }
  }

  Reactor& acceptor() { return loops_.front()->reactor(); }

  // Out of file descriptors, most likely: trying again at once would only burn the core that
  // the open connections need to finish.
  void PauseAccepting(Door& door) {
    const MonotonicTime now = acceptor().now();
    if (now >= door.warn_not_before) {
      door.warn_not_before = now + kWarnEvery;
      Log(LogLevel::kWarn, "net", "accept on port {}: {}", door.listener.port(),
          door.listener.failure());
    }
    acceptor().Change(door.listener.fd(), 0, door);
    acceptor().At(now + kAcceptPause, [this, &door] {
      if (door.listener.open()) acceptor().Change(door.listener.fd(), kReadable, door);
    });
  }

  // On the first loop's thread. False while there are not enough file descriptors: those that
  // are open end one by one.
  bool EmptyQueues() {
    return std::all_of(doors_.begin(), doors_.end(),
                       [this](const auto& door) { return EmptyQueue(*door); });
  }

  bool EmptyQueue(Door& door) {
    // Whoever comes faster than we accept must not keep us here.
    for (int i = 0; i < Listener::kBacklog && door.listener.open(); ++i) {
      Descriptor socket = door.listener.Accept();
      if (!socket.open() && door.listener.exhausted()) return false;
      if (!socket.open()) break;
      Deal(std::move(socket), door);
    }
    door.listener.Close();
    return true;
  }

  void Deal(Descriptor socket, Door& door) {
    door.accepted.Add(1);
    if (connections_.fetch_add(1, std::memory_order_relaxed) >= options_.connections_max) {
      connections_.fetch_sub(1, std::memory_order_relaxed);
      door.turned_away.Add(1);
      return TurnAway(std::move(socket), door.endpoint.busy_answer);
    }
    door.open.fetch_add(1, std::memory_order_relaxed);
    Loop& loop = *loops_[next_loop_++ % loops_.size()];
    if (&loop == loops_.front().get()) {
      return loop.Adopt(std::move(socket), door.endpoint, door.factory, door.open);
    }
    const auto moved = std::make_shared<Descriptor>(std::move(socket));
    loop.reactor().Post([&loop, &door, moved] {
      loop.Adopt(std::move(*moved), door.endpoint, door.factory, door.open);
    });
  }

  static void TurnAway(Descriptor socket, std::string_view answer) {
    ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    ::shutdown(socket.get(), SHUT_WR);
    // A request that is here already would turn the close into a reset.
    std::array<char, 4096> request;
    ::recv(socket.get(), request.data(), request.size(), 0);
  }

  const ServerOptions options_;
  std::atomic<std::size_t> connections_{0};
  std::vector<std::unique_ptr<Door>> doors_;  // Fixed once the loops run, which use them.
  std::vector<std::unique_ptr<Loop>> loops_;
  std::size_t next_loop_ = 0;  // The first loop's thread.
};

Server::Server(const ServerOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Server::~Server() = default;

Result<std::uint16_t> Server::Listen(const Endpoint& endpoint, SessionFactory factory) {
  return impl_->Listen(endpoint, std::move(factory));
}
void Server::Run() { impl_->Run(); }
std::size_t Server::connections() const { return impl_->connections(); }
Server::Counts Server::counts(std::uint16_t port) const { return impl_->counts(port); }
bool Server::Drain(std::chrono::milliseconds timeout) { return impl_->Drain(timeout); }

}  // namespace keymill::net
