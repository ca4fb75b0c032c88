// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the RESP front end shares between its connections.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "keymill/clock.h"

#include "api/backend.h"
#include "api/resp/resp_metrics.h"
#include "mint/engine.h"
#include "net/session.h"

namespace keymill::api::resp {

struct RespOptions {
  std::string version = {};
};

// Safe for concurrent use by multiple threads.
class RespService {
 public:
  // `backend` outlives it.
  RespService(RespOptions options, Backend& backend);
  RespService(const RespService&) = delete;
  RespService& operator=(const RespService&) = delete;

  [[nodiscard]] Backend& backend() const { return backend_; }
  [[nodiscard]] mint::Engine* engine() const { return backend_.engine(); }
  [[nodiscard]] const Clock& clock() const { return backend_.clock(); }
  [[nodiscard]] const RespOptions& options() const { return options_; }
  [[nodiscard]] RespMetrics& metrics() { return metrics_; }
  // When it was made.
  [[nodiscard]] MonotonicTime born() const { return born_; }

  // The factory to hand to net::Server.
  net::SessionFactory Sessions();

  // A number that no other connection has.
  std::uint64_t NewClient() {
    clients_.fetch_add(1, std::memory_order_relaxed);
    return last_client_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  void ClientGone() { clients_.fetch_sub(1, std::memory_order_relaxed); }
  // Connections that are open.
  [[nodiscard]] std::uint64_t clients() const { return clients_.load(std::memory_order_relaxed); }

  // An answer that another thread prepares.
  struct Deferred : Errand {
    std::string reply;
    bool failed = false;                 // It is an error.
    mint::Keyspace* keyspace = nullptr;  // Set instead of `reply` by a look-up that found it.
  };
  // Runs `work` as Backend::Run does. nullptr when too much is waiting already.
  using Work = std::function<void(Backend&, Deferred&)>;
  std::shared_ptr<Deferred> Defer(Queue queue, Work work, net::Waker wake);

 private:
  const RespOptions options_;
  Backend& backend_;
  const MonotonicTime born_;
  RespMetrics metrics_;
  std::atomic<std::uint64_t> last_client_{0};
  std::atomic<std::uint64_t> clients_{0};
};

}  // namespace keymill::api::resp
