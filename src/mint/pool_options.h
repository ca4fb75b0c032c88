// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <chrono>
#include <cstdint>

#include "keymill/key_table.h"

namespace keymill::mint {

// How an instance serves pools. Instances on one store may differ in it.
struct PoolOptions {
  // Fewer available keys than this and new ones are made in the background, up to twice as many.
  // 0: never; somebody fills the pool.
  std::uint64_t low = 10'000;

  // Keys marked as used in one transaction where each is marked before it leaves. 1 shows what
  // that costs without company. Range: [1, KeyTable::kKeysMax].
  std::uint32_t group_max = KeyTable::kKeysMax;

  // How long keys that an instance took, and did not mark as used, are left to it. Whoever takes
  // them over afterwards does so safely, even from one that is alive: its token does not fit any
  // more.
  std::chrono::milliseconds reclaim_after{600'000};

  // How often the pool is looked through for what has expired, may be used again or was left
  // behind, and how many are available counted.
  std::chrono::milliseconds tidy_interval{30'000};
};

}  // namespace keymill::mint
