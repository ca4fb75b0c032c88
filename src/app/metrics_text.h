// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Metrics in the text format of Prometheus, version 0.0.4.

#pragma once

#include <string>

#include "base/metrics.h"

namespace keymill::app {

std::string MetricsText(const MetricFamilies& families);

}  // namespace keymill::app
