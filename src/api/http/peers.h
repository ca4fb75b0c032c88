// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The endpoints of other services, in their own bytes, errors included, so that their clients work
// unchanged: numbers are JSON numbers here where the peer's are. docs/migrating.md says what
// differs.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keymill/status.h"

#include "api/http/reply.h"
#include "api/http/router.h"
#include "api/http/service.h"
#include "mint/keyspace.h"
#include "mint/lending.h"
#include "wire/http_request.h"

namespace keymill::api::http {

// What generate-id's service says on every answer.
inline constexpr std::string_view kCors =
    "Access-Control-Allow-Origin: *\r\n"
    "Access-Control-Allow-Credentials: true\r\n"
    "Access-Control-Allow-Methods: *\r\n"
    "Access-Control-Allow-Headers: *\r\n";

// What is asked for, whichever peer's client asks.
struct PeerRequest {
  Operation operation = Operation::kUnknownPath;
  std::string keyspace;
  std::uint64_t count = 1;
  bool admitted = true;  // False: it lacks the token that tinyid asks for.
  std::string path;      // As it was sent, for Leaf's errors.
};
// REQUIRES: `route` is for one of those that mint.
// Errors: kInvalidArgument; never with what a parameter is.
Result<PeerRequest> ReadPeerRequest(const wire::HttpRequest& request, const Route& route,
                                    const ServiceOptions& options);

// Whether it asks for a block of numbers, and not for the numbers.
bool WantsSegment(Operation operation);

// Whether numbers for this peer are made here: OK, or kNotFound; kFailedPrecondition when it is the
// only keyspace that could be meant.
Status CheckSuits(const PeerRequest& request, const mint::Keyspace& keyspace);

Reply PeerNumbers(const PeerRequest& request, std::span<const std::uint64_t> numbers);
Reply PeerSegment(const PeerRequest& request, const mint::Loan& segment);
// How the peer says that there are none. For tinyid without a token, whatever `why` says.
Reply PeerProblem(const PeerRequest& request, const Status& why, std::int64_t wall_ms);

// Mints, or takes a segment. May wait for the store: for Queue::kRetries.
Reply ServePeer(Service& service, const PeerRequest& request, MonotonicTime deadline);

// Leaf's: what an id in Twitter's layout is made of. In the time zone of this process, as there.
Reply LeafDecode(std::string_view query, std::int64_t wall_ms);

// Never waits.
Reply PodHealth(const Service& service);

}  // namespace keymill::api::http
