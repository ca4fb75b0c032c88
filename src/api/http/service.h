// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the HTTP front end shares between its connections: the mint, the thread for work that
// may wait for the store, and the answers that do not depend on a connection.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"

#include "api/http/http_metrics.h"
#include "api/http/parameters.h"
#include "api/http/reply.h"
#include "api/http/router.h"
#include "base/worker.h"
#include "mint/engine.h"
#include "net/session.h"

namespace keymill::api::http {

struct ServiceOptions {
  // The longest that a request waits for a block, or for the store, unless it is set anew.
  std::chrono::milliseconds request_timeout{2'000};
  RouterOptions router = {};
  std::string version = {};
  std::string default_keyspace = "default";
  // Where to find us, for examples, when a client does not say how it did.
  std::string address = "localhost:8080";
  // The page at /metrics; none without. Must not wait for anything.
  std::function<std::string()> metrics_page = {};
};

// Safe for concurrent use by multiple threads.
class Service {
 public:
  explicit Service(ServiceOptions options, const Clock& clock = SystemClock());

  // The mint, once there is one: a server may start before its store is reachable.
  void SetEngine(mint::Engine* engine) { engine_.store(engine, std::memory_order_release); }
  [[nodiscard]] mint::Engine* engine() const { return engine_.load(std::memory_order_acquire); }

  // For requests that begin from now on.
  void SetRequestTimeout(std::chrono::milliseconds timeout) {
    request_timeout_.store(timeout, std::memory_order_relaxed);
  }

  // From now on /readyz says 503.
  void SetDraining() { draining_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] const ServiceOptions& options() const { return options_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] HttpMetrics& metrics() { return metrics_; }

  // When a request that begins now has waited for long enough.
  [[nodiscard]] MonotonicTime Deadline() const {
    return clock_.Monotonic() + request_timeout_.load(std::memory_order_relaxed);
  }

  // The factory to hand to net::Server.
  net::SessionFactory Sessions();

  // An answer that another thread prepares.
  struct Deferred {
    std::atomic<bool> done{false};       // Set by the worker: the rest may be read.
    std::atomic<bool> abandoned{false};  // Set by whoever waited: do not begin with it any more.
    Reply reply;
    mint::Keyspace* keyspace = nullptr;  // Set instead of `reply` by a look-up that found it.
  };
  // Runs `work` on the worker thread and calls `wake` when it is done. What `work` captures
  // must not depend on the caller, who may be gone by then. nullptr when too much is waiting
  // already.
  using Work = std::function<void(Service&, Deferred&)>;
  std::shared_ptr<Deferred> Defer(Work work, net::Waker wake);

  // The same for work that takes its time and never waits: it does not stand behind a store that
  // hangs.
  std::shared_ptr<Deferred> DeferPage(Work work, net::Waker wake);

  // Finds the keyspace for minting, asking the store. For Defer.
  void LookUp(const std::string& name, Deferred& deferred);

  // Everything that is no minting. These may wait for the store: for Defer.
  Reply ListKeyspaces(const ListPage& page);
  Reply ShowKeyspace(const std::string& name);
  Reply CreateKeyspace(const std::string& name, std::string_view body);
  Reply RetireKeyspace(const std::string& name);
  Reply Explain(const std::string& keyspace, const std::string& key);

  // Never waits, but takes a while where there are many keyspaces: for DeferPage.
  Reply Metrics() const;

  // These never wait.
  Reply Index(std::string_view accept, std::string_view host);
  // The probes. `only` names one check, "" means all of them; those in `excluded` may fail.
  static Reply Live(std::string_view only, bool verbose);
  Reply Ready(std::string_view name, std::string_view only, bool verbose,
              const std::vector<std::string_view>& excluded);

  static Reply KeyspaceNotFound(std::string_view name);
  static Reply NoEngine();

 private:
  std::shared_ptr<Deferred> Post(Worker& worker, Work work, net::Waker wake);

  // Names that the store did not know a moment ago, so that a loop of bad requests does not
  // become a loop of store queries. Used by the worker thread only.
  bool RecentlyMissing(const std::string& name);

  // Why /get-key cannot mint and will not soon: its keyspace is exhausted, quarantined or
  // retired. One that others use is their trouble, and no reason to send everybody elsewhere.
  Status GetKeyVerdict() const;
  // A line for each keyspace from which nothing can be minted for a lasting reason.
  [[nodiscard]] std::string TroubledKeyspaces() const;

  const ServiceOptions options_;
  const Clock& clock_;
  std::atomic<std::chrono::milliseconds> request_timeout_;
  std::atomic<mint::Engine*> engine_{nullptr};
  std::atomic<bool> draining_{false};
  HttpMetrics metrics_;
  std::map<std::string, MonotonicTime> missing_;
  // Last: their threads use everything above.
  Worker worker_;
  Worker pages_;
};

}  // namespace keymill::api::http
