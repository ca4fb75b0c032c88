// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Which operation a request asks for. Every endpoint is one row of a table.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  kClaim,
  kRelease,
  kDerive,
  kBounds,
  kListKeyspaces,
  kShowKeyspace,
  kCreateKeyspace,
  kRetireKeyspace,
  kOpenApi,
  kDocs,
  kLend,
  kTakeBack,
  kCreateLink,
  kListLinks,
  kShowLink,
  kDeleteLink,
  // Peers'; see peers.h.
  kGenerateId,
  kPodHealth,
  kLeafSegment,
  kLeafSnowflake,
  kLeafDecode,
  kTinyIds,
  kTinyIdsSimple,
  kTinySegment,
  kTinySegmentSimple,
};

struct Route {
  Operation operation = Operation::kUnknownPath;
  bool cors = false;     // Of kOptions and kWrongMethod: the path is generate-id's.
  std::string keyspace;  // Decoded.
  std::string key;  // Decoded; also the check in /readyz/<check>, the file in /docs/<file>, and a
                    // name of Leaf's.
  std::string allow;
  std::string detail;
};

// Whose endpoints are there beside our own.
struct RouterOptions {
  bool forge = true;         // GET /get-key
  bool generate_id = false;  // /generate-id, /health
  bool leaf = false;         // /api/segment/get/{k}, /api/snowflake/get/{k}, /decodeSnowflakeId
  bool tinyid = false;       // /tinyid/id/…
};

// `request` is looked at for method and path only, and for whether its target is well encoded:
// what is not finds nothing, wherever the fault is. HEAD finds what GET finds, except where
// that would mint.
Route FindRoute(const wire::HttpRequest& request, const RouterOptions& options);

// Every endpoint of our own as "GET /v1/keyspaces/{k}", for whoever compares them with a document.
std::vector<std::string> EndpointNames();

// Whether a GET for this takes a key, because a peer's does.
bool MintsOnGet(Operation operation);

// How large the request's body may be: more where content is sent than where words are.
std::size_t BodyMax(const wire::HttpRequest& request);

}  // namespace keymill::api::http
