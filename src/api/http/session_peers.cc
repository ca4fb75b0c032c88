// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The session's requests for blocks, and those of peers' clients.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/http/block_operations.h"
#include "api/http/parameters.h"
#include "api/http/peers.h"
#include "api/http/session.h"

namespace keymill::api::http {
namespace {

// One number, if it can be had right now.
std::optional<std::uint64_t> TakeNumber(mint::Engine* mill, const PeerRequest& request) {
  mint::Keyspace* const keyspace = mill == nullptr ? nullptr : mill->Find(request.keyspace);
  if (keyspace == nullptr || !CheckSuits(request, *keyspace).ok()) return {};
  std::array<char, keys::kKeySizeMax> key;
  const keys::Written written = keyspace->TakeKeys(1, {}, key.data());
  if (written.keys == 0) return {};
  return keyspace->NumberOf({key.data(), written.bytes});
}

}  // namespace

Progress HttpSession::BeginLend(const wire::HttpRequest& request, const Route& route,
                                std::string& output) {
  if (!MayBeJson(request)) {
    return Answer(WrongType("send the body with Content-Type: application/json, or use ?count=N"),
                  output);
  }
  const Result<LoanWish> wish = ParseLoanWish(request);
  if (!wish.ok()) return Answer(StatusProblem(wish.status()), output);
  return AnswerKeyLater(
      [k = route.keyspace, wish = *wish](Service& service) { return LendBlock(service, k, wish); },
      output);
}

Progress HttpSession::BeginTakeBack(const wire::HttpRequest& request, const Route& route,
                                    std::string& output) {
  const Result<std::uint64_t> used = ParseUsed(request.query);
  if (!used.ok()) return Answer(StatusProblem(used.status()), output);
  return AnswerKeyLater([k = route.keyspace, block = route.key, used = *used](
                            Service& service) { return TakeBlockBack(service, k, block, used); },
                        output);
}

Progress HttpSession::BeginPeer(const wire::HttpRequest& request, const Route& route,
                                std::string& output) {
  if (route.operation == Operation::kPodHealth) return Answer(PodHealth(service_), output);
  if (route.operation == Operation::kLeafDecode) {
    return Answer(LeafDecode(request.query, service_.clock().WallMs()), output);
  }
  Result<PeerRequest> read = ReadPeerRequest(request, route, service_.options());
  if (!read.ok()) return Answer(StatusProblem(read.status()), output);
  const bool segment = WantsSegment(read->operation);
  if (!read->admitted) return Answer(PeerProblem(*read, {}, service_.clock().WallMs()), output);
  if (!segment && read->count == 0) return Answer(PeerNumbers(*read, {}), output);
  if (!segment && read->count == 1) {
    if (const auto number = TakeNumber(service_.engine(), *read)) {
      return Answer(PeerNumbers(*read, {&*number, 1}), output);
    }
  }
  auto deferred = service_.Defer(
      Queue::kRetries,
      [read = *std::move(read), deadline = service_.Deadline()](Service& service,
                                                                Service::Deferred& prepared) {
        prepared.reply = ServePeer(service, read, deadline);
      },
      waker_);
  return Await(std::move(deferred), "too many requests wait for the store", output, {});
}

}  // namespace keymill::api::http
