// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Where a server listens: one endpoint for each front end, on shared event loops.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "api/http/service.h"
#include "api/links/service.h"
#include "api/resp/service.h"
#include "app/config/config.h"
#include "net/server.h"

namespace keymill::app {

struct OpenListener {
  std::string frontend;  // "http", "resp", "links"
  std::uint16_t port = 0;
  std::string url;  // "http://127.0.0.1:8080"
};

struct Listening {
  std::unique_ptr<net::Server> server;  // Runs.
  std::vector<OpenListener> listeners;

  // The address of a front end; "" when it is off.
  [[nodiscard]] std::string_view UrlOf(std::string_view frontend) const;

  // {"http":8080,"resp":6380,"grpc":9090}; without `grpc` when that is 0.
  [[nodiscard]] std::string PortsJson(std::uint16_t grpc) const;
};

// Whether RESP listens where nobody has asked it to.
bool RespByDefault(const Config& config);

// kFailedPrecondition when a server with this configuration would listen nowhere for certain.
Status CheckListening(const Config& config);

// What is spoken where.
struct FrontEnds {
  api::http::Service& http;
  api::resp::RespService& resp;
  api::links::LinkService& links;
};

// Binds and listens wherever the settings say, gRPC aside, and begins to serve. With
// `resp_by_default`, a port for RESP that somebody else has is only worth a warning. Errors:
// kAlreadyExists when a port is taken, which is a failure of this start; kFailedPrecondition for
// what another configuration has to mend.
Result<Listening> OpenListeners(const Settings& settings, bool resp_by_default,
                                const FrontEnds& front_ends);

}  // namespace keymill::app
