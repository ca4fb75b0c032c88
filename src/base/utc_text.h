// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill {

// "2016-04-30T11:18:25.796Z": milliseconds since 1970 as people write them, always in UTC. What
// lies outside of the years 0 to 9999 has a sign and as many digits as it needs, as ISO 8601 asks.
// REQUIRES: -2^62 < ms < 2^62
std::string UtcText(std::int64_t ms);

// A moment as people write it: "2025-01-01", "2025-01-01T12:00Z", "2025-01-01T12:00:00Z" or with up
// to three digits of a second's fraction, or the milliseconds since 1970 themselves. Always UTC,
// in the years 1970 to 9999.
// kInvalidArgument when it is none of these; the message says what is expected.
Result<std::int64_t> ParseUtcText(std::string_view text);

}  // namespace keymill
