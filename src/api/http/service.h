// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the HTTP front end shares between its connections: the way to the mint, and the answers
// that do not depend on a connection.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"

#include "api/backend.h"
#include "api/http/http_metrics.h"
#include "api/http/parameters.h"
#include "api/http/reply.h"
#include "api/http/router.h"
#include "links/link_book.h"
#include "mint/engine.h"
#include "net/session.h"

namespace keymill::api::http {

struct ServiceOptions {
  RouterOptions router = {};
  std::string version = {};
  std::string default_keyspace = "default";
  std::string ids_keyspace = "ids";  // Of /generate-id.
  // Where this runs in Kubernetes, for /health; "" where nobody says.
  std::string pod_name = {};
  std::string pod_uid = {};
  std::string node_name = {};
  // Where to find us, for examples, when a client does not say how it did.
  std::string address = "localhost:8080";
  // The short links of /v1/links; none without. Outlives the service.
  keymill::links::LinkBook* links = nullptr;
  // The page at /metrics; none without. Must not wait for anything.
  std::function<std::string()> metrics_page = {};
};

// Safe for concurrent use by multiple threads.
class Service {
 public:
  // `backend` outlives it.
  Service(ServiceOptions options, Backend& backend);
  ~Service();  // Stops the backend, which may be at work for it.
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  [[nodiscard]] Backend& backend() const { return backend_; }
  [[nodiscard]] mint::Engine* engine() const { return backend_.engine(); }
  [[nodiscard]] const ServiceOptions& options() const { return options_; }
  [[nodiscard]] const Clock& clock() const { return backend_.clock(); }
  [[nodiscard]] HttpMetrics& metrics() { return metrics_; }

  // When a request that begins now has waited for long enough.
  [[nodiscard]] MonotonicTime Deadline() const { return backend_.Deadline(); }

  // The factory to hand to net::Server.
  net::SessionFactory Sessions();

  // An answer that another thread prepares.
  struct Deferred : Errand {
    Reply reply;
    mint::Keyspace* keyspace = nullptr;  // Set instead of `reply` by a look-up that found it.
  };
  // Runs `work` as Backend::Run does. nullptr when too much is waiting already.
  using Work = std::function<void(Service&, Deferred&)>;
  std::shared_ptr<Deferred> Defer(Queue queue, Work work, net::Waker wake);

  // Finds the keyspace, asking the store: for Defer. Null when there is none, and then `refusal`
  // says so.
  mint::Keyspace* LookUp(const std::string& name, Reply& refusal);

  // Everything that is no minting. These may wait for the store: for Queue::kKeyspaces; Explain for
  // kKeys. What else there is to do with keys is in key_operations.h.
  Reply ListKeyspaces(const ListPage& page);
  Reply ShowKeyspace(const std::string& name);
  Reply CreateKeyspace(const std::string& name, std::string_view body);
  Reply RetireKeyspace(const std::string& name);
  Reply Explain(const std::string& keyspace, const std::string& key);
  Reply ShowBounds(const std::string& keyspace, const TimeRange& range);

  // Never waits, but takes a while where there are many keyspaces: for kPages.
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
  // Why /get-key cannot mint and will not soon: its keyspace is exhausted, quarantined or
  // retired. One that others use is their trouble, and no reason to send everybody elsewhere.
  Status GetKeyVerdict() const;
  // A line for each keyspace from which nothing can be minted for a lasting reason.
  [[nodiscard]] std::string TroubledKeyspaces() const;
  // A line about an unsafe store that somebody has accepted, or "".
  [[nodiscard]] std::string AcceptedRisk() const;

  const ServiceOptions options_;
  Backend& backend_;
  HttpMetrics metrics_;
};

}  // namespace keymill::api::http
