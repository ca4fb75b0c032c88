// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Times, sizes and numbers as people write them, and back.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace keymill::load {

using Nanoseconds = std::chrono::nanoseconds;

// 250us, 5ms, 1.5s, 2m, 1h. Nothing when `text` is none of these or longer than 1000 days.
std::optional<Nanoseconds> ParseTime(std::string_view text);

// 65536, 512K, 256M, 1G (powers of 1024; KiB and KB mean the same). Nothing otherwise.
std::optional<std::uint64_t> ParseSize(std::string_view text);

// 1000, 2.5, 50k, 1M (powers of 1000). Nothing when it is none of these or negative.
std::optional<double> ParseNumber(std::string_view text);

// Three digits and a unit: "85.3us", "1.20ms", "12.0s".
std::string TimeText(double nanoseconds);

// 1234567 as "1,234,567".
std::string CountText(std::uint64_t count);

}  // namespace keymill::load
