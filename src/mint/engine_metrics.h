// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the mint tells about itself.

#pragma once

#include <cstddef>

#include "keymill/clock.h"

#include "base/metrics.h"
#include "mint/engine.h"

namespace keymill::mint {

// So many keyspaces have figures of their own, those that this instance met first. The counts of
// the others are added up under a name that no keyspace can have: whoever may create keyspaces
// must not be able to flood a monitoring system.
inline constexpr std::size_t kMeteredKeyspacesMax = 200;
inline constexpr const char* kOtherKeyspaces = "(others)";

// From memory only: neither the store nor the refiller is asked, so that it answers when they
// hang.
class EngineMetrics final : public MetricSource {
 public:
  // `engine` outlives this object.
  explicit EngineMetrics(const Engine& engine) : engine_(engine) {}

  void Collect(MetricFamilies& families) const override;

 private:
  const Engine& engine_;
};

}  // namespace keymill::mint
