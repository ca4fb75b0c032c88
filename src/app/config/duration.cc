// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/duration.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace keymill::app {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 4> kUnits = {{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

// So many digits times the largest unit stay far from the end of an int64.
constexpr std::size_t kDigitsMax = 12;

std::int64_t UnitMs(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.ms;
  }
  return 0;
}

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  if (text == "0") return std::chrono::milliseconds(0);
  const std::size_t number_size = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, number_size);
  const std::int64_t unit_ms = UnitMs(text.substr(number_size));
  if (unit_ms == 0 || number.empty() || number.front() == '.' || number.back() == '.') return {};

  std::int64_t digits = 0;
  std::int64_t divisor = 1;
  bool after_point = false;
  if (number.size() > kDigitsMax) return {};
  for (const char c : number) {
    if (c == '.') {
      if (after_point) return {};
      after_point = true;
      continue;
    }
    digits = digits * 10 + (c - '0');
    if (after_point) divisor *= 10;
  }
  // Half a millisecond would be rounded to something that nobody wrote.
  if (digits * unit_ms % divisor != 0) return {};
  return std::chrono::milliseconds(digits * unit_ms / divisor);
}

std::string DurationText(std::chrono::milliseconds duration) {
  if (duration.count() == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (duration.count() % unit.ms == 0) {
      return fmt::format("{}{}", duration.count() / unit.ms, unit.name);
    }
  }
  return fmt::format("{}ms", duration.count());
}

}  // namespace keymill::app
