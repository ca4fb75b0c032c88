// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The process as the system sees it, under the names that every exporter uses (process_*).

#pragma once

#include "base/metrics.h"

namespace keymill {

class ProcessMetrics final : public MetricSource {
 public:
  // What /proc does not tell is left out.
  void Collect(MetricFamilies& families) const override;
};

}  // namespace keymill
