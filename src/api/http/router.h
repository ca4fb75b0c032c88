// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Which operation a request asks for. Every endpoint is one row of a table.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/http_request.h"

namespace keymill::api::http {

enum class Operation : std::uint8_t {
  kUnknownPath,
  kWrongMethod,  // `allow` lists the right ones.
  kBadTarget,    // `detail` says why.
  kOptions,
  kIndex,
  kLive,
  kReady,
  kHealth,
  kMetrics,
  kGetKey,
  kMint,
  kExplain,
  kListKeyspaces,
  kShowKeyspace,
  kCreateKeyspace,
  kRetireKeyspace,
};

struct Route {
  Operation operation = Operation::kUnknownPath;
  std::string keyspace;  // Decoded.
  std::string key;       // Decoded; also the check in /readyz/<check>.
  std::string allow;
  std::string detail;
};

struct RouterOptions {
  bool forge = true;  // GET /get-key
};

// `request` is looked at for method and path only, and for whether its target is well encoded:
// what is not finds nothing, wherever the fault is. HEAD finds what GET finds, except where
// that would mint.
Route FindRoute(const wire::HttpRequest& request, const RouterOptions& options);

}  // namespace keymill::api::http
