// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/etcd_error.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace keymill::store::etcd {
namespace {

// gRPC's, as the gateway repeats them.
enum GrpcCode : int {
  kGrpcInvalidArgument = 3,
  kGrpcPermissionDenied = 7,
  kGrpcResourceExhausted = 8,
  kGrpcFailedPrecondition = 9,
  kGrpcOutOfRange = 11,
  kGrpcUnimplemented = 12,
  kGrpcUnavailable = 14,
  kGrpcDataLoss = 15,
  kGrpcUnauthenticated = 16,
};

struct Said {
  int code = -1;
  std::string text;
};

Said ReadError(const HttpAnswer& answer) {
  Said said;
  const auto json = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return said;
  // 3.4 says "error" and "message", 3.6 "message" only.
  for (const char* const name : {"error", "message"}) {
    const auto found = json.find(name);
    if (found != json.end() && found->is_string()) said.text = found->get<std::string>();
  }
  const auto code = json.find("code");
  if (code != json.end() && code->is_number_integer()) said.code = code->get<int>();
  return said;
}

bool Has(const Said& said, std::string_view words) {
  return said.text.find(words) != std::string::npos;
}

Status InvalidArgument(std::string_view member, const Said& said) {
  const auto refused = [&](std::string_view advice) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("ask {}: {}; {}", member, said.text, advice));
  };
  if (Has(said, "invalid user ID or password")) {
    return refused("check user and password in etcd://USER:PASSWORD@…");
  }
  if (Has(said, "user name is empty")) {
    return refused("this cluster wants etcd://USER:PASSWORD@…");
  }
  if (Has(said, "revision of auth store is old") || Has(said, "auth: revision in header is old")) {
    return {Code::kUnauthenticated, fmt::format("ask {}: {}", member, said.text)};
  }
  return {Code::kInternal, fmt::format("ask {}: {}", member, said.text)};
}

}  // namespace

Status EtcdError(std::string_view member, const HttpAnswer& answer) {
  const Said said = ReadError(answer);
  const auto is = [&](Code code, std::string_view advice = "") {
    return Status(code, fmt::format("ask {}: {}{}", member, said.text, advice));
  };
  switch (said.code) {
    case kGrpcInvalidArgument:
      return InvalidArgument(member, said);
    case kGrpcPermissionDenied:
      return is(Code::kFailedPrecondition,
                "; grant it: etcdctl role grant-permission ROLE readwrite --prefix=true PREFIX/");
    case kGrpcResourceExhausted:
      return is(Code::kUnavailable, Has(said, "space exceeded")
                                        ? "; compact and defragment it, then: etcdctl alarm disarm"
                                        : "");
    case kGrpcFailedPrecondition:
      return is(Code::kFailedPrecondition);
    case kGrpcOutOfRange:
      return is(Code::kUnavailable);
    case kGrpcUnauthenticated:
      return is(Code::kUnauthenticated);
    case kGrpcDataLoss:
      return is(Code::kInternal);
    case kGrpcUnavailable:
      // Asked before anything is done, because of the header "hasleader".
      if (Has(said, "no leader")) return is(Code::kUnavailable);
      return is(Code::kUnknownOutcome);
    case kGrpcUnimplemented:
    case -1:
      if (answer.status == 404 || said.code == kGrpcUnimplemented) {
        return {Code::kFailedPrecondition,
                fmt::format("ask {}: HTTP {}; is it etcd 3.4 or later, with its JSON gateway "
                            "(--enable-grpc-gateway)?",
                            member, answer.status)};
      }
      return {Code::kUnknownOutcome, fmt::format("ask {}: HTTP {}", member, answer.status)};
    default:
      return is(Code::kUnknownOutcome);
  }
}

bool SaysAuthIsOff(const HttpAnswer& answer) {
  return Has(ReadError(answer), "authentication is not enabled");
}

}  // namespace keymill::store::etcd
