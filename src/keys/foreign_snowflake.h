// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Reads the ids of other services. They are only decoded here, never made: their bits are facts
// about somebody else's system, and some use the bit that our ids leave alone.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "keymill/status.h"

namespace keymill::keys {

struct ForeignSnowflake {
  struct Field {
    std::string_view name;  // As the service calls it: "worker", "shard", …
    std::uint64_t value = 0;

    friend bool operator==(const Field&, const Field&) = default;
  };

  std::int64_t time_ms = 0;   // Since 1970.
  std::vector<Field> fields;  // From the upper bits to the lower.
};

// "twitter", "discord", "instagram", "leaf".
std::span<const std::string_view> ForeignSnowflakeNames();

// Errors:
//   kInvalidArgument  no such service, in which case the message lists them; or an id of 2^63 or
//                     more from a service whose ids are signed.
Result<ForeignSnowflake> DecodeForeignSnowflake(std::string_view service, std::uint64_t id);

}  // namespace keymill::keys
