// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Ids made of a time, a worker and a sequence: which bits hold what, and the arithmetic between
// ids and moments. Nothing here reads a clock or hands anything out. Nothing wraps either: what
// does not fit its bits is an error or ends the process, because a masked number would be
// somebody else's id.
//
//   0 | time, in units since the epoch | worker | sequence
//
// The uppermost of the 64 bits stays 0, so that an id fits a signed column.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill::keys {

// OK, or kInvalidArgument with a message that names the field and what to do.
// All that follows REQUIRES a layout for which this is OK.
Status CheckSnowflakeLayout(const SnowflakeLayout& layout);

// "default", "twitter", "41-11-11", "javascript" (53 bits: what a JavaScript number holds
// exactly), in the order of the documentation. Their layouts are promises.
std::span<const std::string_view> SnowflakePresetNames();
// kInvalidArgument when there is no such preset; the message lists those that are.
Result<SnowflakeLayout> ParseSnowflakePreset(std::string_view name);

// "41/10/12, epoch 2025-01-01T00:00:00.000Z, unit 1 ms", for people.
std::string SnowflakeLayoutText(const SnowflakeLayout& layout);

// What an id is made of.
struct SnowflakeParts {
  std::uint64_t ticks = 0;  // Units since the epoch.
  std::uint32_t worker = 0;
  std::uint32_t sequence = 0;

  friend bool operator==(const SnowflakeParts&, const SnowflakeParts&) = default;
};

// The first values that do not fit.
constexpr std::uint64_t SnowflakeTicksEnd(const SnowflakeLayout& layout) {
  return std::uint64_t{1} << layout.time_bits;
}
constexpr std::uint32_t SnowflakeWorkersEnd(const SnowflakeLayout& layout) {
  return std::uint32_t{1} << layout.worker_bits;
}
constexpr std::uint32_t SnowflakeSequencesEnd(const SnowflakeLayout& layout) {
  return std::uint32_t{1} << layout.sequence_bits;
}

// The largest id. That of a layout with 63 bits is 2^63 - 1.
constexpr std::uint64_t SnowflakeMaxId(const SnowflakeLayout& layout) {
  return (std::uint64_t{1} << (layout.time_bits + layout.worker_bits + layout.sequence_bits)) - 1;
}

// The id of `parts`: different parts give different ids, and a later time a larger one.
// REQUIRES: each part is below its end. Checked in every build.
std::uint64_t ComposeSnowflake(const SnowflakeLayout& layout, const SnowflakeParts& parts);

// The inverse. kInvalidArgument when `id` is above SnowflakeMaxId.
Result<SnowflakeParts> DecomposeSnowflake(const SnowflakeLayout& layout, std::uint64_t id);

// The unit of time in which the wall clock's `wall_ms` lies.
// Errors:
//   kFailedPrecondition  it lies before the epoch: the clock is wrong, or the epoch is.
//   kExhausted           it lies at or after SnowflakeEndMs. Permanent.
Result<std::uint64_t> SnowflakeTicks(const SnowflakeLayout& layout, std::int64_t wall_ms);

// The first millisecond of a unit of time. REQUIRES: ticks <= SnowflakeTicksEnd(layout)
std::int64_t SnowflakeTimeMs(const SnowflakeLayout& layout, std::uint64_t ticks);

// The first millisecond that has no id any more.
std::int64_t SnowflakeEndMs(const SnowflakeLayout& layout);

// From `now_ms` until then. Not negative.
double SnowflakeYearsLeft(const SnowflakeLayout& layout, std::int64_t now_ms);

// Ids, both included.
struct SnowflakeBounds {
  std::uint64_t first = 0;
  std::uint64_t last = 0;

  friend bool operator==(const SnowflakeBounds&, const SnowflakeBounds&) = default;
};

// The smallest and the largest id whose time (SnowflakeTimeMs of its ticks: with a unit of more
// than a millisecond, the beginning of its unit) lies in [from_ms, to_ms). Ranges that adjoin have
// ids that adjoin: none is in both, none in neither. What reaches beyond the first or the last id
// is cut off there.
//
// Errors:
//   kInvalidArgument  the range is empty, holds no beginning of a unit, or lies before the epoch
//                     or after the end as a whole. The message says which.
Result<SnowflakeBounds> SnowflakeBoundsOf(const SnowflakeLayout& layout, std::int64_t from_ms,
                                          std::int64_t to_ms);

}  // namespace keymill::keys
