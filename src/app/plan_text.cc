// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/plan_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "keys/recipe_text.h"
#include "load/quantity.h"

namespace keymill::app {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 60 * kMinute;
constexpr double kDay = 24 * kHour;
constexpr double kRateMax = 1e15;

struct Unit {
  std::string_view name;
  double size;
};

// From the largest on.
constexpr std::array<Unit, 5> kSpans = {{{"years", keys::kYearSeconds},
                                         {"days", kDay},
                                         {"hours", kHour},
                                         {"minutes", kMinute},
                                         {"seconds", 1}}};
constexpr std::array<Unit, 5> kAmounts = {{{"quintillion", 1e18},
                                           {"quadrillion", 1e15},
                                           {"trillion", 1e12},
                                           {"billion", 1e9},
                                           {"million", 1e6}}};

// Two digits are enough to judge by.
std::string Rough(double number) {
  return number < 9.95 ? fmt::format("{:.1f}", number) : fmt::format("{:.0f}", number);
}

std::string SizeText(const keys::Plan& plan) {
  return plan.size_min == plan.size_max
             ? fmt::format("{} characters", plan.size_max)
             : fmt::format("{} to {} characters", plan.size_min, plan.size_max);
}

std::string Lifetime(const keys::Plan& plan, std::string_view rate_text) {
  if (plan.lifetime_seconds) {
    return fmt::format("{} at {}", SpanText(*plan.lifetime_seconds), rate_text);
  }
  const auto capacity = static_cast<double>(plan.capacity);
  // Beyond that, slower rates have nothing to add.
  if (SpanText(capacity / 1e6) == SpanText(capacity)) {
    return fmt::format("{} at 1M/s", SpanText(capacity / 1e6));
  }
  return fmt::format("{} at 1/s, {} at 1000/s, {} at 1M/s", SpanText(capacity),
                     SpanText(capacity / 1e3), SpanText(capacity / 1e6));
}

// A number, or null.
nlohmann::ordered_json OrNull(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<double> ParseRate(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {};
  static constexpr std::array<Unit, 9> kPer = {{{"s", 1},
                                                {"sec", 1},
                                                {"m", kMinute},
                                                {"min", kMinute},
                                                {"h", kHour},
                                                {"hour", kHour},
                                                {"d", kDay},
                                                {"day", kDay},
                                                {"year", keys::kYearSeconds}}};
  const std::string_view name = text.substr(slash + 1);
  const auto* const per =
      std::find_if(kPer.begin(), kPer.end(), [&](const Unit& unit) { return unit.name == name; });
  const std::optional<double> number = load::ParseNumber(text.substr(0, slash));
  if (per == kPer.end() || !number) return {};
  const double rate = *number / per->size;
  if (!(rate > 0) || rate > kRateMax) return {};
  return rate;
}

std::string SpanText(double seconds) {
  constexpr double kYearsMax = 10'000;
  if (seconds > kYearsMax * keys::kYearSeconds) return "more than 10,000 years";
  for (const Unit& unit : kSpans) {
    // 90 minutes say more than 1.5 hours.
    if (seconds >= 2 * unit.size)
      return fmt::format("{} {}", Rough(seconds / unit.size), unit.name);
  }
  return fmt::format("{} seconds", Rough(seconds));
}

std::string OddsText(double odds) {
  constexpr double kCountable = 1e15;
  if (odds >= 1) return "certain";
  if (!(odds > 0)) return "none";
  const double one_in = 1 / odds;
  if (one_in < 9.95) return fmt::format("1 in {:.3g}", std::round(one_in * 10) / 10);
  if (one_in > kCountable) return fmt::format("1 in {:.1e}", one_in);
  return fmt::format("1 in {}", load::CountText(static_cast<std::uint64_t>(std::round(one_in))));
}

std::string AmountText(double amount) {
  for (const Unit& unit : kAmounts) {
    if (amount >= unit.size) return fmt::format("{} {}", Rough(amount / unit.size), unit.name);
  }
  return load::CountText(static_cast<std::uint64_t>(std::round(amount)));
}

std::vector<PlanRow> PlanNature(const keys::Plan& plan, std::string_view rate_text,
                                std::optional<double> issued) {
  std::vector<PlanRow> rows;
  rows.emplace_back("lifetime", Lifetime(plan, rate_text));
  if (plan.countable) {
    rows.emplace_back("guess", "easy: whoever has one key can count to the others");
    rows.emplace_back("collision", "none: each number is used once");
  } else {
    std::string odds;
    if (issued) odds = fmt::format("{} now; ", OddsText(GuessOdds(plan, *issued)));
    if (plan.guess_after_year) {
      odds += fmt::format("{} after a year; ", OddsText(*plan.guess_after_year));
    }
    rows.emplace_back("guess",
                      fmt::format("{}{} when half full", odds, OddsText(*plan.guess_half_full)));
    rows.emplace_back("collision",
                      fmt::format("none: a permutation (random keys: even odds after {})",
                                  AmountText(plan.random_collision_at)));
  }
  rows.emplace_back("storage", "0 bytes per key: one counter, and a row per block");
  return rows;
}

std::vector<PlanRow> PlanRows(const Recipe& recipe, const keys::Plan& plan,
                              std::string_view rate_text) {
  std::vector<PlanRow> rows;
  rows.emplace_back("kind", std::string(KindName(recipe.kind)));
  rows.emplace_back("key", SizeText(plan));
  rows.emplace_back("capacity", fmt::format("{} ({})", plan.capacity,
                                            AmountText(static_cast<double>(plan.capacity))));
  for (PlanRow& row : PlanNature(plan, rate_text, {})) rows.push_back(std::move(row));
  return rows;
}

std::string PlanJson(const Recipe& recipe, const keys::Plan& plan, double rate) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["recipe"] = Json::parse(keys::RecipeText(recipe));
  json["recipe"]["start"] = std::to_string(recipe.start);
  json["key_size"] = {{"min", plan.size_min}, {"max", plan.size_max}};
  json["capacity"] = std::to_string(plan.capacity);
  json["rate_per_second"] = rate > 0 ? Json(rate) : Json(nullptr);
  json["lifetime_seconds"] = OrNull(plan.lifetime_seconds);
  json["guess_odds"] = {{"after_a_year", OrNull(plan.guess_after_year)},
                        {"half_full", OrNull(plan.guess_half_full)},
                        {"countable", plan.countable}};
  json["collision_odds"] = 0;
  json["storage_bytes_per_key"] = 0;
  json["warnings"] = Json::array();
  for (const keys::PlanWarning& warning : plan.warnings) {
    json["warnings"].push_back(
        {{"kind", keys::PlanWarningName(warning.kind)}, {"text", warning.text}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace keymill::app
