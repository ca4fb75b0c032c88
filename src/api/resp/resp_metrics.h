// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the RESP front end counts.

#pragma once

#include <array>
#include <cstddef>

#include "api/resp/commands.h"
#include "base/metrics.h"

namespace keymill::api::resp {

// Of one thread.
struct RespCounters {
  struct Pair {
    OwnedCounter answered;
    OwnedCounter refused;
  };
  std::array<Pair, kVerbCount + 1> commands;  // The last: words that are no command.
  OwnedTimes times;
};

class RespMetrics final : public MetricSource {
 public:
  // The calling thread's counters; see Sharded::Mine.
  RespCounters& Mine() { return counters_.Mine(); }

  void Collect(MetricFamilies& families) const override;

 private:
  Sharded<RespCounters> counters_;
};

}  // namespace keymill::api::resp
