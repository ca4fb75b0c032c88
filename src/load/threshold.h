// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a load must not show: "p99>5ms", "errors>0.1%", "duplicates>0", "rate<1000".

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "load/bench.h"

namespace keymill::load {

// A rule that fails the run when it is true.
struct Threshold {
  enum class Metric : std::uint8_t {
    kPercentile,  // `share` of the latencies; p50, p95, p99, p99.9 …
    kMax,
    kMean,
    kErrors,      // A number of requests.
    kErrorShare,  // The same, of all requests.
    kDuplicates,
    kRate,  // Successful requests per second.
    kKeys,  // Keys per second.
  };
  std::string text;  // As given.
  Metric metric = Metric::kErrors;
  double share = 0;
  bool greater = true;  // Fails when the value is greater; otherwise when it is smaller.
  double limit = 0;     // Latencies in nanoseconds, shares from 0 to 1.
};

// One rule or several with commas between: METRIC>VALUE or METRIC<VALUE. METRIC is pNN, max or
// mean (VALUE is a time), errors (a number, or a share such as 0.1%), duplicates (a number),
// rate or keys (per second).
// Errors: kInvalidArgument, with the rule and what was expected.
Result<std::vector<Threshold>> ParseThresholds(std::string_view text);

struct Verdict {
  Threshold threshold;
  bool failed = false;
  std::string value;  // What was measured, for people.
};

// A rule about something that was not measured (duplicates without a check, the latency of no
// answer) fails: a guard that cannot see must not say that all is well.
Verdict Judge(const Threshold& threshold, const BenchResult& result);

}  // namespace keymill::load
