// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/refill_policy.h"

#include <algorithm>
#include <cmath>

#include "keymill/store.h"

namespace keymill::mint {
namespace {

constexpr std::uint64_t kGrowthMax = 8;
constexpr double kHalfLifeSeconds = 5;
constexpr double kShortestWindowSeconds = 1e-3;  // Below this a rate is noise.

// A small keyspace need not pay one transaction for each number.
constexpr std::uint64_t kBlockMaxLeast = 16;

// The largest block that this keyspace may see at this point of its life.
std::uint64_t BlockMax(const RefillState& state) {
  const std::uint64_t by_capacity = std::max(kBlockMaxLeast, state.capacity >> 16);
  const std::uint64_t by_remaining = std::max<std::uint64_t>(1, state.remaining / 64);
  return std::min({std::uint64_t{Store::kBlockCountMax}, by_capacity, by_remaining});
}

}  // namespace

std::uint64_t RefillTarget(const RefillOptions& options, const RefillState& state) {
  const double seconds = std::chrono::duration<double>(options.runway_target).count();
  const double by_rate = std::min(state.rate * seconds, 1e18);
  const std::uint64_t wanted = std::max(
      {std::uint64_t{options.block_size}, static_cast<std::uint64_t>(by_rate), state.waiting});
  // Near the end nobody hoards: others may be asked for the keys that we would hold.
  const std::uint64_t fair = std::max(BlockMax(state), (state.remaining + state.ahead) / 32);
  return std::min(wanted, std::max<std::uint64_t>(1, fair));
}

std::uint64_t RefillPace(const RefillState& state) { return (state.last_block + 1) / 2; }

std::uint32_t RefillCount(const RefillOptions& options, const RefillState& state) {
  if (!options.ahead_of_need) {
    if (state.waiting <= state.ahead) return 0;
    return static_cast<std::uint32_t>(std::min(state.waiting - state.ahead, BlockMax(state)));
  }
  const std::uint64_t target = RefillTarget(options, state);
  const bool low = state.ahead <= target / 2 && state.consumed >= RefillPace(state);
  const bool starving = state.waiting > state.ahead;
  if (state.last_block != 0 && !low && !starving) return 0;
  std::uint64_t count = options.block_size;
  if (options.grow) {
    const std::uint64_t last = std::max<std::uint64_t>(state.last_block, options.block_size);
    const std::uint64_t missing = target > state.ahead ? target - state.ahead : 1;
    count = std::clamp<std::uint64_t>(missing, 1, last * kGrowthMax);
  }
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count, 1, BlockMax(state)));
}

std::uint32_t FirstCount(const RefillOptions& options, std::uint64_t capacity) {
  RefillState newborn;
  newborn.capacity = newborn.remaining = capacity;
  return RefillCount(options, newborn);
}

void RateMeter::Observe(std::uint64_t total, MonotonicTime now) {
  if (!started_) {
    started_ = true;
    total_ = total;
    at_ = now;
    return;
  }
  const double seconds = std::chrono::duration<double>(now - at_).count();
  if (seconds < kShortestWindowSeconds) return;
  const double current = static_cast<double>(total - total_) / seconds;
  const double keep = std::exp2(-seconds / kHalfLifeSeconds);
  rate_ = std::max(current, rate_ * keep + current * (1 - keep));
  if (rate_ < 1e-3) rate_ = 0;
  total_ = total;
  at_ = now;
}

}  // namespace keymill::mint
