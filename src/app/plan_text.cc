// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/plan_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utc_text.h"
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

// The storage of a key that the store remembers.
std::string StoredText(const keys::Plan::Stored& stored) {
  return fmt::format("about {} bytes per key: a row that the store keeps for ever", stored.bytes);
}

std::string Lifetime(const keys::Plan& plan, std::string_view rate_text) {
  if (plan.timed) {
    const auto end_ms =
        plan.timed->epoch_ms + static_cast<std::int64_t>(*plan.lifetime_seconds * 1e3);
    return fmt::format("{}, from {} to {}", SpanText(*plan.lifetime_seconds),
                       UtcText(plan.timed->epoch_ms), UtcText(end_ms));
  }
  if (plan.stored && plan.stored->cycling && !plan.lifetime_seconds) {
    return fmt::format("no end: at {} {} keys are in use or at rest at a time", rate_text,
                       AmountText(*plan.stored->cycling));
  }
  if (plan.lifetime_seconds) {
    return fmt::format("{} at {}", SpanText(*plan.lifetime_seconds), rate_text);
  }
  const bool pool = plan.stored && !plan.stored->derived;
  const auto capacity = static_cast<double>(plan.capacity) * (pool ? keys::kPoolFillShare : 1);
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

namespace {

std::vector<PlanRow> RandomNature(const keys::Plan::Random& random, std::string_view rate_text) {
  const double pair = std::pow(2.0, -static_cast<double>(random.random_bits));
  std::vector<PlanRow> rows;
  rows.emplace_back("lifetime",
                    random.timed ? "until the year 10889: 48 bits of milliseconds" : "no end");
  rows.emplace_back("guess",
                    random.consecutive ? "easy within a millisecond: its keys follow one another"
                    : random.timed
                        ? fmt::format("{} for a key whose millisecond is known", OddsText(pair))
                        : fmt::format("{} for any one key", OddsText(pair)));
  const std::string_view where =
      random.timed ? "two processes, one key each in one millisecond" : "any two keys";
  std::string collision = fmt::format("{}: {}", where, OddsText(pair));
  if (random.collision_in_year) {
    collision += fmt::format("; in a year at {}{}: {}", rate_text, random.timed ? ", at worst" : "",
                             OddsText(*random.collision_in_year));
  }
  rows.emplace_back("collision", std::move(collision));
  rows.emplace_back("order",
                    random.timed ? "by time; within a process as they were issued" : "none");
  rows.emplace_back("storage", "0 bytes per key: the store is not asked");
  return rows;
}

std::vector<PlanRow> TimedNature(const keys::Plan& plan) {
  std::vector<PlanRow> rows;
  rows.emplace_back("lifetime", Lifetime(plan, ""));
  rows.emplace_back(
      "speed",
      fmt::format("{} ids a second for each of {} workers",
                  load::CountText(static_cast<std::uint64_t>(std::round(plan.timed->per_second))),
                  load::CountText(plan.timed->workers)));
  rows.emplace_back("guess", "easy: an id is its time, and the ids of a time follow one another");
  rows.emplace_back("collision", "none: each worker reserves its time before it uses it");
  rows.emplace_back("order", "by time, as far as the clocks agree");
  rows.emplace_back("storage", "0 bytes per key: a row per worker");
  return rows;
}

// How a key that is taken already is avoided, and what that costs.
std::string StoredCollision(const keys::Plan& plan) {
  if (!plan.stored->derived) {
    return fmt::format(
        "none: what is drawn twice is not added; a fill gives up when three of four draws "
        "are there already: at about {:.0f} % of all, later in a small pool",
        keys::kPoolFillShare * 100);
  }
  return fmt::format(
      "none: other digits are taken; even odds of the first after {}; attempts per new key: {} "
      "when "
      "half full, {} at 90 %, {} at 99 %",
      AmountText(plan.random_collision_at), Rough(keys::AttemptsAt(0.5)),
      Rough(keys::AttemptsAt(0.9)), Rough(keys::AttemptsAt(0.99)));
}

// 2^bits in decimal. REQUIRES: bits <= 128
std::string PowerOfTwo(std::uint32_t bits) {
  std::string digits = "1";  // Least significant first.
  for (std::uint32_t i = 0; i < bits; ++i) {
    int carry = 0;
    for (char& digit : digits) {
      const int twice = (digit - '0') * 2 + carry;
      digit = static_cast<char>('0' + twice % 10);
      carry = twice / 10;
    }
    if (carry > 0) digits.push_back('1');
  }
  return {digits.rbegin(), digits.rend()};
}

}  // namespace

std::vector<PlanRow> PlanNature(const keys::Plan& plan, std::string_view rate_text,
                                std::optional<double> issued) {
  if (plan.random) return RandomNature(*plan.random, rate_text);
  if (plan.timed) return TimedNature(plan);
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
                      plan.stored
                          ? StoredCollision(plan)
                          : fmt::format("none: a permutation (random keys: even odds after {})",
                                        AmountText(plan.random_collision_at)));
  }
  rows.emplace_back("storage", plan.stored ? StoredText(*plan.stored)
                                           : "0 bytes per key: one counter, and a row per block");
  return rows;
}

std::vector<PlanRow> PlanRows(const Recipe& recipe, const keys::Plan& plan,
                              std::string_view rate_text) {
  std::vector<PlanRow> rows;
  rows.emplace_back("kind", std::string(KindName(recipe.kind)));
  rows.emplace_back("key", SizeText(plan));
  rows.emplace_back("capacity", plan.random
                                    ? fmt::format("2^{} ({:.1e})", plan.random->bits, plan.texts)
                                    : fmt::format("{} ({})", plan.capacity,
                                                  AmountText(static_cast<double>(plan.capacity))));
  for (PlanRow& row : PlanNature(plan, rate_text, {})) rows.push_back(std::move(row));
  return rows;
}

std::string PlanJson(const Recipe& recipe, const keys::Plan& plan, double rate) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["recipe"] = Json::parse(keys::RecipeText(recipe));
  if (json["recipe"].contains("start")) json["recipe"]["start"] = std::to_string(recipe.start);
  json["key_size"] = {{"min", plan.size_min}, {"max", plan.size_max}};
  json["capacity"] = plan.random ? PowerOfTwo(plan.random->bits) : std::to_string(plan.capacity);
  json["rate_per_second"] = rate > 0 ? Json(rate) : Json(nullptr);
  json["lifetime_seconds"] = OrNull(plan.lifetime_seconds);
  json["guess_odds"] = {{"after_a_year", OrNull(plan.guess_after_year)},
                        {"half_full", OrNull(plan.guess_half_full)},
                        {"countable", plan.countable}};
  if (plan.random) {
    json["guess_odds"] = nullptr;
    json["collision_odds"] = OrNull(plan.random->collision_in_year);
    json["random_bits"] = plan.random->random_bits;
    json["time_ordered"] = plan.random->timed;
  } else {
    json["collision_odds"] = 0;
  }
  if (plan.timed) {
    json["ids_per_second_per_worker"] = plan.timed->per_second;
    json["workers"] = plan.timed->workers;
  }
  if (plan.stored) {
    if (plan.stored->derived) {
      json["attempts"] = {{"half_full", keys::AttemptsAt(0.5)},
                          {"90_percent_full", keys::AttemptsAt(0.9)}};
    } else {
      json["fill_share_max"] = keys::kPoolFillShare;
      json["keys_cycling"] = OrNull(plan.stored->cycling);
    }
  }
  json["storage_bytes_per_key"] = plan.stored ? plan.stored->bytes : 0;
  json["warnings"] = Json::array();
  for (const keys::PlanWarning& warning : plan.warnings) {
    json["warnings"].push_back(
        {{"kind", keys::PlanWarningName(warning.kind)}, {"text", warning.text}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace keymill::app
