// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/grpc/host.h"

namespace keymill::api::grpc {
namespace {

// In the order of Method and google.rpc.Code.
constexpr std::array<const char*, kMethodCount> kMethodNames = {
    "Mint", "MintStream", "Explain", "Claim", "Derive", "ListKeyspaces"};
constexpr std::array<const char*, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

}  // namespace

void Metrics::Count(Method method, int code) {
  const auto index = static_cast<std::size_t>(code);
  counts_.at(static_cast<std::size_t>(method))
      .at(index < kCodes ? index : 2)
      .fetch_add(1, std::memory_order_relaxed);
}

void Metrics::Collect(MetricFamilies& families) const {
  MetricFamily& requests = families.Counter(
      "keymill_requests_total",
      "Requests answered, by method and class of status; \"cut\" when an answer ended early.");
  for (std::size_t method = 0; method < kMethodCount; ++method) {
    for (std::size_t code = 0; code < kCodes; ++code) {
      const std::uint64_t count = counts_[method][code].load(std::memory_order_relaxed);
      // Success is there from the start; the others when they happen, for most never do.
      if (code != 0 && count == 0) continue;
      requests.Add(
          static_cast<double>(count),
          {{"frontend", "grpc"}, {"method", kMethodNames[method]}, {"status", kCodeNames[code]}});
    }
  }
}

}  // namespace keymill::api::grpc
