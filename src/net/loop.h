// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An event loop: one thread, one io_context, the connections that belong to it and the
// buffers that they share.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/connection.h"
#include "net/server.h"

namespace keymill::net {

class Loop {
 public:
  Loop(const ServerOptions& options, std::atomic<std::size_t>& connection_count);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void Start();
  // From any thread. Ends the thread after the handler that it is in.
  void Stop();
  void Join();

  [[nodiscard]] boost::asio::io_context& context() { return context_; }
  [[nodiscard]] const ServerOptions& options() const { return options_; }

  // ---- On the loop's thread. ----
  void Adopt(boost::asio::ip::tcp::socket socket, const SessionFactory& factory);
  void Remove(const std::shared_ptr<Connection>& connection);
  void Drain();
  [[nodiscard]] MonotonicTime now() const { return SystemClock().Monotonic(); }
  [[nodiscard]] bool draining() const { return draining_; }

  std::array<char, 64 * 1024> read_buffer;
  std::string write_buffer;  // Empty between two steps.

 private:
  void Tick();

  const ServerOptions& options_;
  std::atomic<std::size_t>& connection_count_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer tick_;
  bool ticking_ = false;
  bool draining_ = false;
  int drain_ticks_ = 0;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace keymill::net
