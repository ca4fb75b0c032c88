// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/forecast.h"

#include <algorithm>

namespace keymill::mint {
namespace {

constexpr double kYoungSeconds = 60;                 // A first block says nothing about a year.
constexpr double kTenThousandYearsSeconds = 3.2e11;  // Beyond this a date says nothing.

}  // namespace

std::optional<std::int64_t> ExhaustedAtMs(const Consumption& consumption, std::int64_t now_ms) {
  const double age = static_cast<double>(now_ms - consumption.created_at_ms) / 1000;
  const double average = age > kYoungSeconds ? static_cast<double>(consumption.used) / age : 0;
  const double pace = std::max(consumption.rate, average);
  if (pace <= 0) return {};
  const double seconds = static_cast<double>(consumption.left) / pace;
  if (seconds >= kTenThousandYearsSeconds) return {};
  return now_ms + static_cast<std::int64_t>(seconds * 1000);
}

}  // namespace keymill::mint
