// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the listener for short links shares between its connections. People follow links there;
// they are made over the HTTP API (api/http/link_operations.h).

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "api/backend.h"
#include "api/http/http_metrics.h"
#include "links/link_book.h"
#include "net/session.h"

namespace keymill::api::links {

struct LinkServiceOptions {
  // Where keys that lead nowhere lead to, and "/"; "" for a 404.
  std::string homepage = {};
};

// Safe for concurrent use by multiple threads.
class LinkService {
 public:
  // `backend` and `book` outlive it.
  LinkService(LinkServiceOptions options, Backend& backend, keymill::links::LinkBook& book);
  LinkService(const LinkService&) = delete;
  LinkService& operator=(const LinkService&) = delete;

  [[nodiscard]] const LinkServiceOptions& options() const { return options_; }
  [[nodiscard]] Backend& backend() const { return backend_; }
  [[nodiscard]] keymill::links::LinkBook& book() const { return book_; }
  [[nodiscard]] const Clock& clock() const { return backend_.clock(); }
  [[nodiscard]] http::HttpMetrics& metrics() { return metrics_; }

  // The factory to hand to net::Server.
  net::SessionFactory Sessions();

  // Where a key leads, as the store says on another thread.
  struct Loading : Errand {
    Result<std::string> url = std::string();  // "" for nowhere.
  };
  // Asks the store, counting `hits`; null when too much is waiting already.
  std::shared_ptr<Loading> Load(std::string key, std::uint64_t hits, net::Waker wake);
  // The same for nobody in particular; not at all when there is too much to do.
  void Refresh(std::string key) {
    Load(std::move(key), 0, [] {});
  }

 private:
  const LinkServiceOptions options_;
  Backend& backend_;
  keymill::links::LinkBook& book_;
  http::HttpMetrics metrics_{"links"};
};

}  // namespace keymill::api::links
