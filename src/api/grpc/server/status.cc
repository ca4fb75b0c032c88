// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/server/status.h"

#include <string>
#include <string_view>

namespace keymill::api::grpc {
namespace {

// Debian has no package with google/rpc/*.proto. These are the four messages in their encoding:
//   Status    { int32 code = 1; string message = 2; repeated Any details = 3; }
//   Any       { string type_url = 1; bytes value = 2; }
//   ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
//   RetryInfo { Duration retry_delay = 1; }    Duration { int64 seconds = 1; }

void AppendVarint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  out += static_cast<char>(value);
}

std::string Number(unsigned field, int value) {
  std::string out;
  AppendVarint(out, field << 3);
  AppendVarint(out, static_cast<std::uint64_t>(value));
  return out;
}

std::string Bytes(unsigned field, std::string_view value) {
  std::string out;
  AppendVarint(out, field << 3 | 2);
  AppendVarint(out, value.size());
  return out.append(value);
}

std::string Any(std::string_view type, std::string_view value) {
  return Bytes(1, std::string("type.googleapis.com/").append(type)) + Bytes(2, value);
}

// "keyspace-not-found" as reasons are written: KEYSPACE_NOT_FOUND.
std::string Reason(std::string_view slug) {
  std::string reason(slug);
  for (char& c : reason) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return reason;
}

}  // namespace

::grpc::Status StatusOf(const Problem& problem) {
  if (problem.ok()) return ::grpc::Status::OK;
  const std::string info = Bytes(1, Reason(problem.slug)) + Bytes(2, "keymill") +
                           Bytes(3, Bytes(1, "slug") + Bytes(2, problem.slug));
  std::string details = Number(1, problem.code) + Bytes(2, problem.message) +
                        Bytes(3, Any("google.rpc.ErrorInfo", info));
  if (problem.retry_after_seconds > 0) {
    const std::string delay = Bytes(1, Number(1, problem.retry_after_seconds));
    details += Bytes(3, Any("google.rpc.RetryInfo", delay));
  }
  return {static_cast<::grpc::StatusCode>(problem.code), problem.message, details};
}

}  // namespace keymill::api::grpc
