// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/snowflake_layout.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/check.h"
#include "base/suggest.h"
#include "base/utc_text.h"
#include "keys/plan.h"

namespace keymill::keys {
namespace {

constexpr std::uint32_t kTimeBitsMax = 48;  // With the largest unit, the end still fits 2^63 ms.
constexpr std::uint32_t kFieldBitsMax = 31;
constexpr std::uint32_t kUnitMsMax = 1000;
constexpr std::int64_t kEpochMsEnd = 4'102'444'800'000;  // 2100-01-01T00:00:00Z

struct Preset {
  std::string_view name;
  SnowflakeLayout layout;
};

// Do not change existing entries: ids that were made with them are out in the world.
constexpr std::array<Preset, 4> kPresets = {{
    {"default", {}},
    {"twitter", {.epoch_ms = 1'288'834'974'657}},
    {"41-11-11", {.worker_bits = 11, .sequence_bits = 11}},
    {"javascript", {.worker_bits = 6, .sequence_bits = 6}},
}};

constexpr std::array<std::string_view, kPresets.size()> kPresetNames = [] {
  std::array<std::string_view, kPresets.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kPresets[i].name;
  return names;
}();

Status Refuse(const std::string& why) { return {Code::kInvalidArgument, "snowflake: " + why}; }

Status CheckRange(std::string_view field, std::uint32_t value, std::uint32_t max) {
  if (value >= 1 && value <= max) return Status::Ok();
  return Refuse(fmt::format("{} is {}, the range is 1 to {}", field, value, max));
}

// The tick of the first unit that begins at or after `ms`, which is not before the epoch.
std::uint64_t TicksNotBefore(const SnowflakeLayout& layout, std::int64_t ms) {
  const auto since = static_cast<std::uint64_t>(ms - layout.epoch_ms);
  return (since + layout.unit_ms - 1) / layout.unit_ms;
}

std::uint32_t WorkerShift(const SnowflakeLayout& layout) { return layout.sequence_bits; }

std::uint32_t TimeShift(const SnowflakeLayout& layout) {
  return layout.sequence_bits + layout.worker_bits;
}

}  // namespace

Status CheckSnowflakeLayout(const SnowflakeLayout& layout) {
  const std::array<Status, 4> ranges = {
      CheckRange("time_bits", layout.time_bits, kTimeBitsMax),
      CheckRange("worker_bits", layout.worker_bits, kFieldBitsMax),
      CheckRange("sequence_bits", layout.sequence_bits, kFieldBitsMax),
      CheckRange("unit_ms", layout.unit_ms, kUnitMsMax),
  };
  for (const Status& status : ranges) {
    if (!status.ok()) return status;
  }
  const std::uint32_t sum = layout.time_bits + layout.worker_bits + layout.sequence_bits;
  if (sum > kSnowflakeBitsMax) {
    return Refuse(fmt::format(
        "{} + {} + {} bits are {}, and an id has {}: one more is the sign of a signed 64-bit "
        "number, and ids would turn negative; take {} away, as 41 + 11 + 11 or 41 + 10 + 12 do",
        layout.time_bits, layout.worker_bits, layout.sequence_bits, sum, kSnowflakeBitsMax,
        sum - kSnowflakeBitsMax));
  }
  if (layout.epoch_ms < 0 || layout.epoch_ms >= kEpochMsEnd) {
    return Refuse(
        fmt::format("epoch_ms is {}, the range is 0 (1970) to {} (2100); give milliseconds "
                    "since 1970, such as {} for 2025-01-01",
                    layout.epoch_ms, kEpochMsEnd - 1, kSnowflakeEpochMs));
  }
  return Status::Ok();
}

std::span<const std::string_view> SnowflakePresetNames() { return kPresetNames; }

Result<SnowflakeLayout> ParseSnowflakePreset(std::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset.layout;
  }
  return Refuse(fmt::format("there is no preset \"{}\"{}; use one of {}", name,
                            DidYouMean(name, kPresetNames), fmt::join(kPresetNames, ", ")));
}

std::string SnowflakeLayoutText(const SnowflakeLayout& layout) {
  return fmt::format("{}/{}/{}, epoch {}, unit {} ms", layout.time_bits, layout.worker_bits,
                     layout.sequence_bits, UtcText(layout.epoch_ms), layout.unit_ms);
}

std::uint64_t ComposeSnowflake(const SnowflakeLayout& layout, const SnowflakeParts& parts) {
  KEYMILL_CHECK(parts.ticks < SnowflakeTicksEnd(layout));         // E1
  KEYMILL_CHECK(parts.worker < SnowflakeWorkersEnd(layout));      // U2
  KEYMILL_CHECK(parts.sequence < SnowflakeSequencesEnd(layout));  // U2
  return parts.ticks << TimeShift(layout) | std::uint64_t{parts.worker} << WorkerShift(layout) |
         parts.sequence;
}

Result<SnowflakeParts> DecomposeSnowflake(const SnowflakeLayout& layout, std::uint64_t id) {
  if (id > SnowflakeMaxId(layout)) {
    return Refuse(fmt::format("{} is above {}, the largest id of {}/{}/{}", id,
                              SnowflakeMaxId(layout), layout.time_bits, layout.worker_bits,
                              layout.sequence_bits));
  }
  return SnowflakeParts{
      .ticks = id >> TimeShift(layout),
      .worker =
          static_cast<std::uint32_t>(id >> WorkerShift(layout)) & (SnowflakeWorkersEnd(layout) - 1),
      .sequence = static_cast<std::uint32_t>(id) & (SnowflakeSequencesEnd(layout) - 1)};
}

Result<std::uint64_t> SnowflakeTicks(const SnowflakeLayout& layout, std::int64_t wall_ms) {
  if (wall_ms < layout.epoch_ms) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("snowflake: the clock says {} ms, which is before the epoch {}; set "
                              "the clock, or make a keyspace with an earlier epoch",
                              wall_ms, UtcText(layout.epoch_ms)));
  }
  if (wall_ms >= SnowflakeEndMs(layout)) {
    return Status(
        Code::kExhausted,
        fmt::format("snowflake: {} time_bits from the epoch {} ended at {}; make a keyspace with a "
                    "later epoch or more time_bits",
                    layout.time_bits, UtcText(layout.epoch_ms), UtcText(SnowflakeEndMs(layout))));
  }
  return static_cast<std::uint64_t>(wall_ms - layout.epoch_ms) / layout.unit_ms;
}

std::int64_t SnowflakeTimeMs(const SnowflakeLayout& layout, std::uint64_t ticks) {
  return layout.epoch_ms + static_cast<std::int64_t>(ticks * layout.unit_ms);
}

std::int64_t SnowflakeEndMs(const SnowflakeLayout& layout) {
  return SnowflakeTimeMs(layout, SnowflakeTicksEnd(layout));
}

double SnowflakeYearsLeft(const SnowflakeLayout& layout, std::int64_t now_ms) {
  // In floating point before the subtraction: any now_ms is allowed.
  const double left = static_cast<double>(SnowflakeEndMs(layout)) - static_cast<double>(now_ms);
  return std::max(0.0, left / 1000 / kYearSeconds);
}

Result<SnowflakeBounds> SnowflakeBoundsOf(const SnowflakeLayout& layout, std::int64_t from_ms,
                                          std::int64_t to_ms) {
  if (from_ms >= to_ms) {
    return Refuse(fmt::format("the range from {} to {} ms is empty; `to` must be later than `from`",
                              from_ms, to_ms));
  }
  if (to_ms <= layout.epoch_ms) {
    return Refuse(fmt::format("the range ends before the first id, which is of {}",
                              UtcText(layout.epoch_ms)));
  }
  const std::int64_t end_ms = SnowflakeEndMs(layout);
  if (from_ms >= end_ms) {
    return Refuse(
        fmt::format("the range begins after the last id, which is before {}; there are "
                    "none from then on",
                    UtcText(end_ms)));
  }
  const std::uint64_t first = TicksNotBefore(layout, std::max(from_ms, layout.epoch_ms));
  const std::uint64_t end = TicksNotBefore(layout, std::min(to_ms, end_ms));
  if (first >= end) {
    return Refuse(
        fmt::format("no id has a time from {} to {}: they are {} ms apart; take a longer range",
                    UtcText(from_ms), UtcText(to_ms), layout.unit_ms));
  }
  return SnowflakeBounds{.first = first << TimeShift(layout),
                         .last = (end << TimeShift(layout)) - 1};
}

}  // namespace keymill::keys
