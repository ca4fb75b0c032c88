// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/router.h"

#include <array>
#include <utility>
#include <vector>

#include "keymill/keyspace.h"

#include "wire/percent.h"

namespace keymill::api::http {
namespace {

using wire::Method;

struct Endpoint {
  std::string_view pattern;  // {k} is a keyspace, {x} anything; both exactly one segment.
  Method method;
  Operation operation;
};

constexpr std::array<Endpoint, 15> kEndpoints = {{
    {"/", Method::kGet, Operation::kIndex},
    {"/livez", Method::kGet, Operation::kLive},
    {"/livez/{x}", Method::kGet, Operation::kLive},
    {"/readyz", Method::kGet, Operation::kReady},
    {"/readyz/{x}", Method::kGet, Operation::kReady},
    {"/healthz", Method::kGet, Operation::kHealth},
    {"/healthz/{x}", Method::kGet, Operation::kHealth},
    {"/metrics", Method::kGet, Operation::kMetrics},
    {"/get-key", Method::kGet, Operation::kGetKey},
    {"/v1/keyspaces", Method::kGet, Operation::kListKeyspaces},
    {"/v1/keyspaces/{k}", Method::kGet, Operation::kShowKeyspace},
    {"/v1/keyspaces/{k}", Method::kPut, Operation::kCreateKeyspace},
    {"/v1/keyspaces/{k}", Method::kDelete, Operation::kRetireKeyspace},
    {"/v1/keyspaces/{k}/keys", Method::kPost, Operation::kMint},
    {"/v1/keyspaces/{k}/keys/{x}", Method::kGet, Operation::kExplain},
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
    default:
      return "";
  }
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

// Mints on GET for the sake of an older service, so HEAD must not find it.
bool HeadAllowed(Operation operation) { return operation != Operation::kGetKey; }

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
    if (endpoint.operation == Operation::kGetKey && !options.forge) continue;
    Captures captures;
    if (!Matches(endpoint.pattern, request.path, captures)) continue;
    const bool head = request.method == Method::kHead && endpoint.method == Method::kGet &&
                      HeadAllowed(endpoint.operation);
    if (request.method == endpoint.method || head) {
      route.operation = endpoint.operation;
      Decode(captures, route);
      return route;
    }
    route.operation = Operation::kWrongMethod;
    if (!route.allow.empty()) route.allow += ", ";
    route.allow += MethodName(endpoint.method);
    if (endpoint.method == Method::kGet && HeadAllowed(endpoint.operation)) route.allow += ", HEAD";
  }
  if (route.operation == Operation::kWrongMethod && request.method == Method::kOptions) {
    route.operation = Operation::kOptions;
    route.allow += ", OPTIONS";
  }
  return route;
}

}  // namespace keymill::api::http
