// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How much to reserve, and when. Pure arithmetic, so that every corner can be tested.

#pragma once

#include <chrono>
#include <cstdint>

#include "keymill/clock.h"

namespace keymill::mint {

struct RefillOptions {
  // Numbers in the first block. Larger: fewer trips to the store, and a larger gap in the
  // numbering after a crash. Range: [1, Store::kBlockCountMax].
  std::uint32_t block_size = 1000;

  // Whether blocks follow demand. Off: every block has block_size numbers.
  bool grow = true;

  // Whether numbers are reserved ahead of need. Off: only what waiting callers ask for, so
  // that a process that mints once and ends leaves nothing to be given back.
  bool ahead_of_need = true;

  // How long minting should go on at the present rate with the store gone.
  std::chrono::milliseconds runway_target{60'000};
};

// What the refiller knows of a keyspace when it decides.
struct RefillState {
  std::uint64_t ahead = 0;       // Numbers in the reservoir.
  std::uint64_t waiting = 0;     // Keys that parked requests ask for.
  double rate = 0;               // Keys per second.
  std::uint64_t last_block = 0;  // Size of the previous block; 0 before the first.
  std::uint64_t consumed = 0;    // Numbers taken since it arrived.
  std::uint64_t capacity = 0;    // Numbers of the keyspace in all.
  std::uint64_t remaining = 0;   // Of those, never reserved by anybody.
};

// How many numbers should be in the reservoir.
std::uint64_t RefillTarget(const RefillOptions& options, const RefillState& state);

// Numbers that must be taken after the previous block before another one is asked for: a
// reservoir grows because it is being used, never because time passes.
std::uint64_t RefillPace(const RefillState& state);

// How many to ask the store for now; 0 when there is enough. Never more than 2^24,
// capacity/2^16 or remaining/64 (but at least 1), so that a crash costs little and the last
// keys are shared fairly; never more than eight times the previous block, so that a short
// burst does not reserve an hour's worth.
std::uint32_t RefillCount(const RefillOptions& options, const RefillState& state);

// The first block of a keyspace that is being created; 0 when nothing is reserved ahead.
std::uint32_t FirstCount(const RefillOptions& options, std::uint64_t capacity);

// Keys per second, smoothed. Rises at once, falls by half in five seconds without demand.
class RateMeter {
 public:
  // `total` only grows. Call at any interval.
  void Observe(std::uint64_t total, MonotonicTime now);
  [[nodiscard]] double rate() const { return rate_; }

 private:
  bool started_ = false;
  std::uint64_t total_ = 0;
  MonotonicTime at_;
  double rate_ = 0;
};

}  // namespace keymill::mint
