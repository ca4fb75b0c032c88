// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include <fmt/format.h>

namespace keymill::load {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 6> kTimes = {
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
constexpr double kTimeMax = 1000.0 * 24 * 3600e9;

constexpr std::array<Unit, 10> kSizes = {{{"", 1},
                                          {"K", 1024.0},
                                          {"KB", 1024.0},
                                          {"KiB", 1024.0},
                                          {"M", 1048576.0},
                                          {"MB", 1048576.0},
                                          {"MiB", 1048576.0},
                                          {"G", 1073741824.0},
                                          {"GB", 1073741824.0},
                                          {"GiB", 1073741824.0}}};
constexpr double kSizeMax = 1e15;

constexpr std::array<Unit, 4> kNumbers = {{{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}}};
constexpr double kNumberMax = 1e15;

// Digits with at most one point in them, and one of `units` behind.
std::optional<double> ParseWithUnit(std::string_view text, std::span<const Unit> units,
                                    double most) {
  const std::size_t size = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, size);
  if (number.empty() || number.front() == '.' || number.back() == '.') return {};
  double value = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + size, value);
  if (parsed.ec != std::errc() || parsed.ptr != number.data() + size) return {};
  for (const Unit& unit : units) {
    if (unit.name != text.substr(size)) continue;
    if (value * unit.factor > most) return {};
    return value * unit.factor;
  }
  return {};
}

}  // namespace

std::optional<Nanoseconds> ParseTime(std::string_view text) {
  const std::optional<double> value = ParseWithUnit(text, kTimes, kTimeMax);
  if (!value) return {};
  return Nanoseconds(static_cast<std::int64_t>(*value));
}

std::optional<std::uint64_t> ParseSize(std::string_view text) {
  const std::optional<double> value = ParseWithUnit(text, kSizes, kSizeMax);
  if (!value) return {};
  return static_cast<std::uint64_t>(*value);
}

std::optional<double> ParseNumber(std::string_view text) {
  return ParseWithUnit(text, kNumbers, kNumberMax);
}

std::string TimeText(double nanoseconds) {
  double value = nanoseconds / 1e3;
  std::string_view unit = "us";
  if (value >= 999.5) {
    value /= 1e3;
    unit = "ms";
  }
  if (value >= 999.5 && unit == "ms") {
    value /= 1e3;
    unit = "s";
  }
  const int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, digits, unit);
}

std::string CountText(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace keymill::load
