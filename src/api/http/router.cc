// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/router.h"

#include <array>
#include <utility>

#include "keymill/keyspace.h"

#include "mint/derived_keyspace.h"
#include "wire/percent.h"

namespace keymill::api::http {
namespace {

using wire::Method;

enum class Peer : std::uint8_t { kNone, kForge, kGenerateId, kLeaf, kTinyid };

// Peers do not look at the method. HEAD and OPTIONS mint nothing all the same.
constexpr Method kAnyMethod = Method::kOther;

struct Endpoint {
  std::string_view pattern;  // {k} is a keyspace, {x} anything; both exactly one segment.
  Method method;
  Operation operation;
  Peer peer = Peer::kNone;
};

constexpr std::string_view kDerivePattern = "/v1/keyspaces/{k}/derive";

// JSON may need six bytes for one of the content.
constexpr std::size_t kDeriveBodyMax = 6 * (mint::kContentSizeMax + mint::kSaltSizeMax) + 1024;

// What is asked for most comes first.
constexpr std::array<Endpoint, 37> kEndpoints = {{
    {"/", Method::kGet, Operation::kIndex},
    {"/livez", Method::kGet, Operation::kLive},
    {"/livez/{x}", Method::kGet, Operation::kLive},
    {"/readyz", Method::kGet, Operation::kReady},
    {"/readyz/{x}", Method::kGet, Operation::kReady},
    {"/healthz", Method::kGet, Operation::kHealth},
    {"/healthz/{x}", Method::kGet, Operation::kHealth},
    {"/metrics", Method::kGet, Operation::kMetrics},
    {"/get-key", Method::kGet, Operation::kGetKey, Peer::kForge},
    {"/v1/keyspaces", Method::kGet, Operation::kListKeyspaces},
    {"/v1/keyspaces/{k}", Method::kGet, Operation::kShowKeyspace},
    {"/v1/keyspaces/{k}", Method::kPut, Operation::kCreateKeyspace},
    {"/v1/keyspaces/{k}", Method::kDelete, Operation::kRetireKeyspace},
    {"/v1/keyspaces/{k}/keys", Method::kPost, Operation::kMint},
    {"/v1/keyspaces/{k}/keys/{x}", Method::kGet, Operation::kExplain},
    {"/v1/keyspaces/{k}/keys/{x}", Method::kPut, Operation::kClaim},
    {"/v1/keyspaces/{k}/keys/{x}", Method::kDelete, Operation::kRelease},
    {kDerivePattern, Method::kPost, Operation::kDerive},
    {"/v1/keyspaces/{k}/bounds", Method::kGet, Operation::kBounds},
    {"/openapi.json", Method::kGet, Operation::kOpenApi},
    {"/docs", Method::kGet, Operation::kDocs},
    {"/docs/{x}", Method::kGet, Operation::kDocs},
    {"/v1/keyspaces/{k}/blocks", Method::kPost, Operation::kLend},
    {"/v1/keyspaces/{k}/blocks/{x}", Method::kDelete, Operation::kTakeBack},
    {"/v1/links", Method::kPost, Operation::kCreateLink},
    {"/v1/links", Method::kGet, Operation::kListLinks},
    {"/v1/links/{x}", Method::kGet, Operation::kShowLink},
    {"/v1/links/{x}", Method::kDelete, Operation::kDeleteLink},
    {"/generate-id", kAnyMethod, Operation::kGenerateId, Peer::kGenerateId},
    {"/health", kAnyMethod, Operation::kPodHealth, Peer::kGenerateId},
    {"/api/segment/get/{x}", kAnyMethod, Operation::kLeafSegment, Peer::kLeaf},
    {"/api/snowflake/get/{x}", kAnyMethod, Operation::kLeafSnowflake, Peer::kLeaf},
    {"/decodeSnowflakeId", kAnyMethod, Operation::kLeafDecode, Peer::kLeaf},
    {"/tinyid/id/nextId", kAnyMethod, Operation::kTinyIds, Peer::kTinyid},
    {"/tinyid/id/nextIdSimple", kAnyMethod, Operation::kTinyIdsSimple, Peer::kTinyid},
    {"/tinyid/id/nextSegmentId", kAnyMethod, Operation::kTinySegment, Peer::kTinyid},
    {"/tinyid/id/nextSegmentIdSimple", kAnyMethod, Operation::kTinySegmentSimple, Peer::kTinyid},
}};

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kDelete:
      return "DELETE";
    case kAnyMethod:
      return "GET, POST";
    default:
      return "";
  }
}

bool IsServed(Peer peer, const RouterOptions& options) {
  switch (peer) {
    case Peer::kForge:
      return options.forge;
    case Peer::kGenerateId:
      return options.generate_id;
    case Peer::kLeaf:
      return options.leaf;
    case Peer::kTinyid:
      return options.tinyid;
    case Peer::kNone:
      break;
  }
  return true;
}

bool Accepts(const Endpoint& endpoint, Method method) {
  const bool reads = method == Method::kHead || method == Method::kOptions;
  if (endpoint.method == kAnyMethod && !reads) return true;
  const bool get = endpoint.method == Method::kGet || endpoint.method == kAnyMethod;
  if (method == Method::kHead && get && !MintsOnGet(endpoint.operation)) return true;
  return method == endpoint.method;
}

struct Captures {
  std::string_view keyspace;
  std::string_view other;
};

bool Matches(std::string_view pattern, std::string_view path, Captures& captures) {
  captures = {};
  for (;;) {
    const std::string_view want = pattern.substr(0, pattern.find('/', 1));
    const std::string_view got = path.substr(0, path.find('/', 1));
    if (want == "/{k}" || want == "/{x}") {
      if (got.size() < 2) return false;
      (want == "/{k}" ? captures.keyspace : captures.other) = got.substr(1);
    } else if (want != got) {
      return false;
    }
    pattern.remove_prefix(want.size());
    path.remove_prefix(got.size());
    if (pattern.empty() || path.empty()) return pattern.empty() && path.empty();
  }
}

// REQUIRES: the path is well encoded.
void Decode(const Captures& captures, Route& route) {
  route.keyspace = *wire::PercentDecode(captures.keyspace);
  route.key = *wire::PercentDecode(captures.other);
  if (route.keyspace.empty()) return;
  if (Status named = CheckKeyspaceName(route.keyspace); !named.ok()) {
    route.operation = Operation::kBadTarget;
    route.detail = named.message();
  }
}

}  // namespace

Route FindRoute(const wire::HttpRequest& request, const RouterOptions& options) {
  Route route;
  if (Status target = wire::CheckTarget(request.path, request.query); !target.ok()) {
    route.operation = Operation::kBadTarget;
    route.detail = target.message();
    return route;
  }
  for (const Endpoint& endpoint : kEndpoints) {
    Captures captures;
    if (!Matches(endpoint.pattern, request.path, captures)) continue;
    if (!IsServed(endpoint.peer, options)) continue;
    if (Accepts(endpoint, request.method)) {
      route.operation = endpoint.operation;
      Decode(captures, route);
      return route;
    }
    route.operation = Operation::kWrongMethod;
    route.cors = endpoint.peer == Peer::kGenerateId;
    if (!route.allow.empty()) route.allow += ", ";
    route.allow += MethodName(endpoint.method);
    const bool get = endpoint.method == Method::kGet || endpoint.method == kAnyMethod;
    if (get && !MintsOnGet(endpoint.operation)) route.allow += ", HEAD";
  }
  if (route.operation == Operation::kWrongMethod && request.method == Method::kOptions) {
    route.operation = Operation::kOptions;
    route.allow += ", OPTIONS";
  }
  return route;
}

// Those of peers that any method will do for are theirs to describe.
std::vector<std::string> EndpointNames() {
  std::vector<std::string> names;
  names.reserve(kEndpoints.size());
  for (const Endpoint& endpoint : kEndpoints) {
    if (endpoint.method == kAnyMethod) continue;
    names.push_back(std::string(MethodName(endpoint.method)) + ' ' + std::string(endpoint.pattern));
  }
  return names;
}

bool MintsOnGet(Operation operation) {
  switch (operation) {
    case Operation::kGetKey:
    case Operation::kGenerateId:
    case Operation::kLeafSegment:
    case Operation::kLeafSnowflake:
    case Operation::kTinyIds:
    case Operation::kTinyIdsSimple:
    case Operation::kTinySegment:
    case Operation::kTinySegmentSimple:
      return true;
    default:
      return false;
  }
}

std::size_t BodyMax(const wire::HttpRequest& request) {
  Captures captures;
  const bool derive =
      request.method == Method::kPost && Matches(kDerivePattern, request.path, captures);
  return derive ? kDeriveBodyMax : wire::HttpLimits().body;
}

}  // namespace keymill::api::http
