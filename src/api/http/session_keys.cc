// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The session's requests for single keys.

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/http/key_operations.h"
#include "api/http/parameters.h"
#include "api/http/session.h"
#include "mint/retries.h"

namespace keymill::api::http {

Progress HttpSession::BeginMintOnce(std::string_view name, std::string_view retry,
                                    const MintWish& wish, std::string& output) {
  if (wish.count > mint::kRetryKeysMax) {
    return Answer(Problem(413, "too-many-keys", "Too many keys",
                          fmt::format("at most {} keys can be asked for with Idempotency-Key",
                                      mint::kRetryKeysMax)),
                  output);
  }
  auto deferred = service_.Defer(
      Queue::kRetries,
      [k = std::string(name), retry = std::string(retry), wish, deadline = service_.Deadline()](
          Service& service, Service::Deferred& prepared) {
        prepared.reply = MintOnce(service, k, retry, wish, deadline);
      },
      waker_);
  return Await(std::move(deferred), "too many requests wait for the store", output, {});
}

Progress HttpSession::BeginClaim(const wire::HttpRequest& request, const Route& route,
                                 std::string& output) {
  if (!MayBeJson(request)) {
    return Answer(WrongType("send the owner with Content-Type: application/json, or no body"),
                  output);
  }
  return AnswerKeyLater([k = route.keyspace, alias = route.key, body = std::string(request.body)](
                            Service& service) { return ClaimKey(service, k, alias, body); },
                        output);
}

Progress HttpSession::BeginRelease(const wire::HttpRequest& request, const Route& route,
                                   std::string& output) {
  std::optional<std::uint64_t> generation;
  if (request.if_match) {
    const Result<std::optional<std::uint64_t>> parsed = ParseGeneration(*request.if_match);
    if (!parsed.ok()) return Answer(StatusProblem(parsed.status()), output);
    generation = *parsed;
  }
  return AnswerKeyLater([k = route.keyspace, key = route.key, generation](
                            Service& service) { return ReleaseKey(service, k, key, generation); },
                        output);
}

Progress HttpSession::BeginDerive(const wire::HttpRequest& request, const Route& route,
                                  std::string& output) {
  if (!MayBeJson(request)) {
    return Answer(WrongType("send the content with Content-Type: application/json"), output);
  }
  return AnswerKeyLater([k = route.keyspace, body = std::string(request.body)](
                            Service& service) { return DeriveKey(service, k, body); },
                        output);
}

}  // namespace keymill::api::http
