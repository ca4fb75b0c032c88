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

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "net/loop.h"

namespace keymill::net {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using asio::ip::tcp;

namespace {

constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::milliseconds kWarnEvery{1'000};
constexpr std::chrono::milliseconds kDrainPoll{5};

// Of the time for a drain, what is kept for the connections that nobody has accepted yet.
constexpr std::chrono::milliseconds kQueueTime{1'000};

}  // namespace

// One listener, on the first loop, deals connections to the loops in turn: each gets its
// share even when there are few, and no connection is lost in the queue of a listener that
// closes (docs/adr/0003).
class Server::Impl {
 public:
  Impl(const ServerOptions& options, SessionFactory factory)
      : options_(options), factory_(std::move(factory)) {
    for (std::uint32_t i = 0; i < std::max(1U, options_.threads); ++i) {
      loops_.push_back(std::make_unique<Loop>(options_, connections_));
    }
    acceptor_ = std::make_unique<tcp::acceptor>(loops_.front()->context());
    retry_ = std::make_unique<asio::steady_timer>(loops_.front()->context());
  }

  ~Impl() {
    for (const auto& loop : loops_) loop->Stop();
    for (const auto& loop : loops_) loop->Join();
  }

  Status Listen() {
    Error error;
    const auto address = asio::ip::make_address(options_.address, error);
    if (error) {
      return {Code::kInvalidArgument,
              fmt::format("listen on {}: this is no IP address", options_.address)};
    }
    const tcp::endpoint endpoint(address, options_.port);
    acceptor_->open(endpoint.protocol(), error);
    if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(kBacklog, error);
    if (!error) acceptor_->non_blocking(true, error);
    if (error == asio::error::address_in_use) {
      return {Code::kAlreadyExists,
              fmt::format("listen on {}:{}: port {} is in use by another process", options_.address,
                          options_.port, options_.port)};
    }
    if (error) {
      return {Code::kInvalidArgument,
              fmt::format("listen on {}:{}: {}", options_.address, options_.port, error.message())};
    }
    port_ = acceptor_->local_endpoint().port();
    return {};
  }

  void Run() {
    asio::post(loops_.front()->context(), [this] { Accept(); });
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
    if (!RunOn(
            *loops_.front(), [this] { EmptyQueue(); }, deadline))
      return false;
    // A connection that was accepted just before may still be on its way to its loop; behind
    // this it is counted.
    if (!RunOn(
            *loops_.front(), [] {}, deadline))
      return false;
    while (connections_.load(std::memory_order_relaxed) > 0) {
      if (SystemClock().Monotonic() >= deadline) return false;
      std::this_thread::sleep_for(kDrainPoll);
    }
    return true;
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::size_t connections() const {
    return connections_.load(std::memory_order_relaxed);
  }

 private:
  // Runs `work` on the loop's thread. False when it was not done by `deadline`; it may still
  // run then.
  static bool RunOn(Loop& loop, std::function<void()> work, MonotonicTime deadline) {
    const auto done = std::make_shared<std::promise<void>>();
    asio::post(loop.context(), [work = std::move(work), done] {
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

  void Accept() {
    if (!acceptor_->is_open()) return;  // Drained meanwhile.
    Loop& loop = NextLoop();
    acceptor_->async_accept(loop.context(), [this, &loop](const Error& error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) return PauseAccepting(error);
      Deal(loop, std::move(socket));
      Accept();
    });
  }

  // Out of file descriptors, most likely: trying again at once would only burn the core that
  // the open connections need to finish.
  void PauseAccepting(const Error& error) {
    const MonotonicTime now = SystemClock().Monotonic();
    if (now >= warn_not_before_) {
      warn_not_before_ = now + kWarnEvery;
      Log(LogLevel::kWarn, "net", "accept on port {}: {}", port_, error.message());
    }
    retry_->expires_after(kAcceptPause);
    retry_->async_wait([this](const Error& cancelled) {
      if (!cancelled) Accept();
    });
  }

  // On the first loop's thread.
  void EmptyQueue() {
    retry_->cancel();
    Error error;
    acceptor_->cancel(error);
    // Whoever comes faster than we accept must not keep us here.
    for (int i = 0; i < kBacklog; ++i) {
      Loop& loop = NextLoop();
      tcp::socket socket(loop.context());
      acceptor_->accept(socket, error);
      if (error) break;
      Deal(loop, std::move(socket));
    }
    acceptor_->close(error);
  }

  void Deal(Loop& loop, tcp::socket socket) {
    if (connections_.fetch_add(1, std::memory_order_relaxed) >= options_.connections_max) {
      connections_.fetch_sub(1, std::memory_order_relaxed);
      return TurnAway(std::move(socket));
    }
    asio::post(loop.context(), [this, &loop, moved = std::move(socket)]() mutable {
      loop.Adopt(std::move(moved), factory_);
    });
  }

  void TurnAway(tcp::socket socket) const {
    Error ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(options_.busy_answer), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
    // A request that is here already would turn the close into a reset.
    std::array<char, 4096> request{};
    socket.read_some(asio::buffer(request), ignored);
  }

  Loop& NextLoop() { return *loops_[next_loop_++ % loops_.size()]; }

  const ServerOptions options_;
  const SessionFactory factory_;
  std::atomic<std::size_t> connections_{0};
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<tcp::acceptor> acceptor_;
  std::unique_ptr<asio::steady_timer> retry_;
  // The first loop's thread.
  std::size_t next_loop_ = 0;
  MonotonicTime warn_not_before_{};

  std::uint16_t port_ = 0;
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
bool Server::Drain(std::chrono::milliseconds timeout) { return impl_->Drain(timeout); }

}  // namespace keymill::net
