// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/foreign_snowflake.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "base/suggest.h"

namespace keymill::keys {
namespace {

constexpr std::int64_t kTwitterEpochMs = 1'288'834'974'657;

struct Bits {
  std::string_view name;
  std::uint32_t count = 0;
};

struct Service {
  std::string_view name;
  std::int64_t epoch_ms = 0;
  bool is_signed = true;
  // Below the time, upper ones first; the time is all that remains above. No name: none.
  std::array<Bits, 3> fields;
};

constexpr std::array<Service, 4> kServices = {{
    {"twitter", kTwitterEpochMs, true, {{{"datacenter", 5}, {"worker", 5}, {"sequence", 12}}}},
    {"discord", 1'420'070'400'000, false, {{{"worker", 5}, {"process", 5}, {"increment", 12}}}},
    {"instagram", 1'314'220'021'721, true, {{{"shard", 13}, {"sequence", 10}, {}}}},
    {"leaf", kTwitterEpochMs, true, {{{"worker", 10}, {"sequence", 12}, {}}}},
}};

constexpr std::array<std::string_view, kServices.size()> kNames = [] {
  std::array<std::string_view, kServices.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kServices[i].name;
  return names;
}();

ForeignSnowflake Decode(const Service& service, std::uint64_t id) {
  std::uint32_t shift = 0;
  for (const Bits& bits : service.fields) shift += bits.count;
  ForeignSnowflake decoded;
  decoded.time_ms = service.epoch_ms + static_cast<std::int64_t>(id >> shift);
  for (const Bits& bits : service.fields) {
    if (bits.count == 0) continue;
    shift -= bits.count;
    const std::uint64_t mask = (std::uint64_t{1} << bits.count) - 1;
    decoded.fields.push_back({.name = bits.name, .value = (id >> shift) & mask});
  }
  return decoded;
}

}  // namespace

std::span<const std::string_view> ForeignSnowflakeNames() { return kNames; }

Result<ForeignSnowflake> DecodeForeignSnowflake(std::string_view service, std::uint64_t id) {
  for (const Service& candidate : kServices) {
    if (candidate.name != service) continue;
    if (candidate.is_signed && id >> 63 != 0) {
      return Status(Code::kInvalidArgument,
                    fmt::format("snowflake {}: ids of {} are below 2^63", id, service));
    }
    return Decode(candidate, id);
  }
  return Status(Code::kInvalidArgument,
                fmt::format("snowflake: nothing is known about \"{}\"{}; use one of {}", service,
                            DidYouMean(service, kNames), fmt::join(kNames, ", ")));
}

}  // namespace keymill::keys
