// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What tests of the Redis store have in common.

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "keymill/store.h"

#include "base/random.h"
#include "store/redis/redis_store.h"
#include "support/redis_process.h"

namespace keymill::store {

inline MonotonicTime In(std::chrono::milliseconds time) { return SystemClock().Monotonic() + time; }
inline MonotonicTime Soon() { return In(std::chrono::milliseconds(30'000)); }

inline Result<std::unique_ptr<Store>> Open(std::string_view url, bool create = true,
                                           MonotonicTime deadline = Soon()) {
  return OpenRedisStore(*ParseStoreUrl(url), create, SystemClock(), deadline);
}

inline std::string UrlOf(std::uint16_t port) { return fmt::format("redis://127.0.0.1:{}/0", port); }

// A command to the server; and what redis-cli says of one.
inline void Tell(const RedisProcess& server, const std::string& words) {
  const std::string command = fmt::format("redis-cli -p {} {} > /dev/null", server.port(), words);
  ASSERT_EQ(std::system(command.c_str()), 0) << command;  // NOLINT(concurrency-mt-unsafe)
}

inline std::string Told(const RedisProcess& server, const std::string& words) {
  const std::string command = fmt::format("redis-cli -p {} {}", server.port(), words);
  FILE* const pipe = ::popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  EXPECT_NE(pipe, nullptr);
  std::array<char, 256> line{};
  const std::size_t size = std::fread(line.data(), 1, line.size(), pipe);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  std::string said(line.data(), size);
  if (said.ends_with('\n')) said.pop_back();
  return said;
}

inline NewKeyspace Links() {
  return {.name = "links",
          .id = RandomHex(16),
          .recipe = "r",
          .recipe_hash = "h",
          .secret = "s",
          .first = 0,
          .end = 1000};
}

// Passes everything on, until a request holds `trap`: that one is passed on, its reply is not.
class TrapProxy {
 public:
  TrapProxy(std::uint16_t target, std::string trap)
      : target_(target), trap_(std::move(trap)), listener_(ListenAnywhere(port_)) {
    thread_ = std::thread([this] { Serve(); });
  }
  ~TrapProxy() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  void Disarm() { armed_ = false; }

 private:
  // One connection at a time, which is what one thread's calls need.
  void Serve() {
    while (!stop_) {
      pollfd waiting{listener_, POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int client = ::accept(listener_, nullptr, nullptr);
      const int server = DialLoopback(target_);
      while (!stop_ && Pump(client, server)) {
      }
      ::close(client);
      ::close(server);
    }
  }

  bool Pump(int client, int server) {
    std::array<pollfd, 2> both = {{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    if (::poll(both.data(), both.size(), 20) <= 0) return true;
    std::array<char, 65536> buffer{};
    for (const auto& [from, to] : {std::pair(0, server), std::pair(1, client)}) {
      if (both.at(static_cast<std::size_t>(from)).revents == 0) continue;
      const ssize_t size =
          ::recv(both.at(static_cast<std::size_t>(from)).fd, buffer.data(), buffer.size(), 0);
      if (size <= 0) return false;
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
      ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (from == 0 && armed_ && bytes.find(trap_) != std::string_view::npos) {
        ::recv(server, buffer.data(), buffer.size(), 0);  // The server has done it.
        return false;
      }
    }
    return true;
  }

  const std::uint16_t target_;
  const std::string trap_;
  std::uint16_t port_ = 0;
  const int listener_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> armed_{true};
  std::thread thread_;
};

}  // namespace keymill::store
