// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/http_metrics.h"

#include <string>

namespace keymill::api::http {
namespace {

// In the order of wire::Method and Ending.
constexpr std::array<const char*, HttpCounters::kMethods> kMethodNames = {
    "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "other"};
constexpr std::array<const char*, HttpCounters::kEndings> kEndingNames = {"2xx", "3xx", "4xx",
                                                                          "5xx", "cut"};

}  // namespace

Ending EndingOf(int status) {
  if (status < 300) return Ending::kSuccess;
  if (status < 400) return Ending::kRedirect;
  return status < 500 ? Ending::kClientError : Ending::kServerError;
}

void HttpMetrics::Collect(MetricFamilies& families) const {
  std::array<std::array<std::uint64_t, HttpCounters::kEndings>, HttpCounters::kMethods> sums{};
  TimeCounts times;
  counters_.ForEach([&](const HttpCounters& counters) {
    for (std::size_t method = 0; method < sums.size(); ++method) {
      for (std::size_t ending = 0; ending < sums[method].size(); ++ending) {
        sums[method][ending] += counters.by_method[method][ending].value();
      }
    }
    counters.times.AddTo(times);
  });
  MetricFamily& requests = families.Counter(
      "keymill_requests_total",
      "Requests answered, by method and class of status; \"cut\" when an answer ended early.");
  for (std::size_t method = 0; method < sums.size(); ++method) {
    for (std::size_t ending = 0; ending < sums[method].size(); ++ending) {
      requests.Add(static_cast<double>(sums[method][ending]), {{"frontend", frontend_},
                                                               {"method", kMethodNames[method]},
                                                               {"status", kEndingNames[ending]}});
    }
  }
  families
      .Times("keymill_request_duration_seconds",
             "From the beginning of the event loop's round that read the request to the moment "
             "when its answer is handed to the system. Time in socket buffers is not in it.")
      .Add(times, {{"frontend", frontend_}});
}

}  // namespace keymill::api::http
