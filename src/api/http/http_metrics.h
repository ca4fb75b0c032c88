// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a front end that speaks HTTP counts.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/metrics.h"
#include "wire/http_request.h"

namespace keymill::api::http {

// How a request ended, by the first digit of its status.
enum class Ending : std::uint8_t { kSuccess, kRedirect, kClientError, kServerError, kCut };
Ending EndingOf(int status);

// Of one thread. Three plain additions for all requests that were answered together.
struct HttpCounters {
  static constexpr std::size_t kMethods = static_cast<std::size_t>(wire::Method::kOther) + 1;
  static constexpr std::size_t kEndings = static_cast<std::size_t>(Ending::kCut) + 1;

  OwnedCounter& requests(wire::Method method, Ending ending) {
    return by_method[static_cast<std::size_t>(method)][static_cast<std::size_t>(ending)];
  }

  std::array<std::array<OwnedCounter, kEndings>, kMethods> by_method;
  OwnedTimes times;
};

class HttpMetrics final : public MetricSource {
 public:
  // `frontend` tells it from others that speak HTTP, too.
  explicit HttpMetrics(std::string frontend = "http") : frontend_(std::move(frontend)) {}

  // The calling thread's counters; see Sharded::Mine.
  HttpCounters& Mine() { return counters_.Mine(); }

  void Collect(MetricFamilies& families) const override;

 private:
  const std::string frontend_;
  Sharded<HttpCounters> counters_;
};

}  // namespace keymill::api::http
