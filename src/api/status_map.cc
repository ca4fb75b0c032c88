// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/status_map.h"

#include <array>

namespace keymill::api {
namespace {

constexpr std::array<StatusMapping, kCodeCount> kTable = {{
    {Code::kOk, 200, "", "OK", 0, "OK", 0},
    {Code::kInvalidArgument, 400, "bad-request", "Bad request", 3, "INVALID", 0},
    {Code::kNotFound, 404, "keyspace-not-found", "No such keyspace", 5, "NOTFOUND", 0},
    {Code::kAlreadyExists, 409, "alias-taken", "Already taken", 6, "CONFLICT", 0},
    {Code::kFailedPrecondition, 409, "recipe-mismatch", "Another recipe", 9, "CONFLICT", 0},
    {Code::kExhausted, 507, "keyspace-exhausted", "Keyspace exhausted", 8, "EXHAUSTED", 0},
    {Code::kQuarantined, 503, "keyspace-quarantined", "Keyspace quarantined", 14, "UNAVAILABLE",
     60},
    {Code::kOverloaded, 503, "overloaded", "Overloaded", 8, "RATELIMITED", 1},
    {Code::kDeadlineExceeded, 503, "deadline", "No key in time", 4, "UNAVAILABLE", 1},
    {Code::kUnavailable, 503, "store-unavailable", "Store unavailable", 14, "UNAVAILABLE", 1},
    {Code::kUnknownOutcome, 503, "store-unavailable", "Store unavailable", 14, "UNAVAILABLE", 1},
    {Code::kClockRegressed, 503, "clock-went-back", "The clock went back", 14, "UNAVAILABLE", 1},
    {Code::kUnauthenticated, 401, "unauthenticated", "Who are you?", 16, "NOAUTH", 0},
    {Code::kPermissionDenied, 403, "forbidden", "Forbidden", 7, "NOPERM", 0},
    {Code::kInternal, 500, "internal", "Internal error", 13, "INTERNAL", 0},
}};

}  // namespace

const StatusMapping& MapStatus(Code code) { return kTable.at(static_cast<std::size_t>(code)); }

std::string_view PublicDetail(Code code) {
  switch (code) {
    case Code::kUnavailable:
      return "the store cannot be reached; try again";
    case Code::kUnknownOutcome:
      return "the store did not say what became of it; try again";
    case Code::kDeadlineExceeded:
      return "the store did not answer in time; try again";
    case Code::kInternal:
      return "something is broken here; the server's log says what";
    default:
      return {};
  }
}

}  // namespace keymill::api
