// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace keymill::app {

// 250ms, 2s, 1.5s, 1m, 1h, or a plain 0. Nothing when `text` is none of these, is no whole
// number of milliseconds, or is longer than a thousand years.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

// The shortest text that ParseDuration reads as `duration`: "250ms", "1500ms", "2s", "1m".
// REQUIRES: duration >= 0
std::string DurationText(std::chrono::milliseconds duration);

}  // namespace keymill::app
