// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/utc_text.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace keymill {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
constexpr std::int64_t kEraDays = 146'097;        // 400 years.
constexpr std::int64_t kDaysBefore1970 = 719468;  // Since 0000-03-01.

struct Date {
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
};

// Years begin in March here, so that the day that is not always there comes last. The library's
// calendar ends with the year 32767, before the times of the widest layouts do.
Date DateOf(std::int64_t days_since_1970) {
  const std::int64_t days = days_since_1970 + kDaysBefore1970;
  const std::int64_t era = (days >= 0 ? days : days - (kEraDays - 1)) / kEraDays;
  const std::int64_t day_of_era = days - era * kEraDays;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;  // 0 is March.
  return {.year = year_of_era + era * 400 + (month >= 10 ? 1 : 0),
          .month = month < 10 ? month + 3 : month - 9,
          .day = day_of_year - (153 * month + 2) / 5 + 1};
}

// Reads exactly `width` digits and moves on.
bool TakeDigits(std::string_view& text, std::size_t width, std::int64_t& out) {
  if (text.size() < width) return false;
  out = 0;
  for (const char c : text.substr(0, width)) {
    if (c < '0' || c > '9') return false;
    out = out * 10 + (c - '0');
  }
  text.remove_prefix(width);
  return true;
}

bool TakeSymbol(std::string_view& text, char symbol) {
  if (!text.starts_with(symbol)) return false;
  text.remove_prefix(1);
  return true;
}

// The inverse of DateOf. Nothing when there is no such day.
std::optional<std::int64_t> DaysOf(const Date& date) {
  if (date.month < 1 || date.month > 12 || date.day < 1 || date.day > 31) return {};
  const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const std::int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
  const std::int64_t days = year * 365 + year / 4 - year / 100 + year / 400 +
                            (153 * month + 2) / 5 + date.day - 1 - kDaysBefore1970;
  const Date back = DateOf(days);
  if (back.month != date.month || back.day != date.day) return {};
  return days;
}

// "T12:00Z" and longer, behind a date.
std::optional<std::int64_t> TimeOfDayMs(std::string_view text) {
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  std::int64_t fraction = 0;
  if (!TakeSymbol(text, 'T') || !TakeDigits(text, 2, hour) || !TakeSymbol(text, ':') ||
      !TakeDigits(text, 2, minute)) {
    return {};
  }
  if (TakeSymbol(text, ':')) {
    if (!TakeDigits(text, 2, second)) return {};
    if (TakeSymbol(text, '.')) {
      std::int64_t worth = 100;
      std::int64_t digit = 0;
      for (; worth > 0 && TakeDigits(text, 1, digit); worth /= 10) fraction += digit * worth;
      if (worth == 100) return {};  // A point, and nothing behind it.
    }
  }
  if (text != "Z" || hour > 23 || minute > 59 || second > 59) return {};
  return ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
}

std::optional<std::int64_t> MomentMs(std::string_view text) {
  constexpr std::int64_t kEndMs = 253'402'300'800'000;  // The year 10000.
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::int64_t ms = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), ms);
    if (read.ec != std::errc() || ms >= kEndMs) return {};
    return ms;
  }
  Date date;
  if (!TakeDigits(text, 4, date.year) || !TakeSymbol(text, '-') ||
      !TakeDigits(text, 2, date.month) || !TakeSymbol(text, '-') ||
      !TakeDigits(text, 2, date.day) || date.year < 1970) {
    return {};
  }
  const std::optional<std::int64_t> days = DaysOf(date);
  if (!days) return {};
  if (text.empty()) return *days * kDayMs;
  const std::optional<std::int64_t> rest = TimeOfDayMs(text);
  if (!rest) return {};
  return *days * kDayMs + *rest;
}

}  // namespace

Result<std::int64_t> ParseUtcText(std::string_view text) {
  const std::optional<std::int64_t> ms = MomentMs(text);
  if (ms) return *ms;
  return {Code::kInvalidArgument,
          fmt::format("expected a time such as 2025-01-01, 2025-01-01T12:00:00Z or milliseconds "
                      "since 1970, not \"{:.32}\"",
                      text)};
}

std::string UtcText(std::int64_t ms) {
  const std::int64_t days = (ms >= 0 ? ms : ms - (kDayMs - 1)) / kDayMs;
  const std::int64_t rest = ms - days * kDayMs;
  const Date date = DateOf(days);
  const std::string year = date.year >= 0 && date.year <= 9999 ? fmt::format("{:04}", date.year)
                                                               : fmt::format("{:+05}", date.year);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", year, date.month, date.day,
                     rest / 3'600'000, rest / 60'000 % 60, rest / 1000 % 60, rest % 1000);
}

}  // namespace keymill
