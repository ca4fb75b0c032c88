// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "keys/alphabet.h"
#include "keys/codec.h"
#include "keys/key_shape.h"
#include "keys/recipe_fields.h"
#include "keys/snowflake_layout.h"
#include "keys/ulid.h"
#include "keys/uuid.h"

namespace keymill::keys {
namespace {

constexpr double kFewKeys = 1e6;
// What is thought of as issued when nobody says a rate.
constexpr double kIssuedGuess = 1e6;
// Keys that last this long at odds that are fine need not be longer.
constexpr double kPlentyYears = 100;
// Measured, with 7 symbols. A derived key is found by its content, too.
constexpr std::uint32_t kPooledBytes = 200;
constexpr std::uint32_t kDerivedBytes = 400;
// One symbol too many is caution; a recipe cannot be changed later.
constexpr std::uint32_t kSpareSymbols = 2;

class Planner {
 public:
  // `end` is the codec's.
  Planner(const Recipe& recipe, const Alphabet& alphabet, std::uint64_t end, double rate)
      : recipe_(recipe), radix_(alphabet.size()), end_(end), rate_(rate) {}

  Plan Make() {
    FillFormat();
    FillNature();
    FillTime();
    FillOdds();
    WarnOfTime();
    WarnOfGuesses();
    WarnOfLength();
    return std::move(plan_);
  }

 private:
  // Whether keys come in no order that anybody could see.
  [[nodiscard]] bool shuffled() const {
    return HasSecret(recipe_) || recipe_.kind == Kind::kPool || recipe_.kind == Kind::kDerived;
  }
  [[nodiscard]] bool grows() const { return recipe_.length == 0; }
  [[nodiscard]] double capacity() const { return static_cast<double>(plan_.capacity); }
  // Those of a ticket only, without the other offsets'.
  [[nodiscard]] double Texts(std::uint32_t length) const {
    return std::pow(static_cast<double>(radix_), static_cast<double>(length)) / recipe_.stride;
  }
  // The first and the last number: what a ticket's index stands for.
  [[nodiscard]] std::uint64_t NumberOf(std::uint64_t index) const {
    const bool ticket = recipe_.kind == Kind::kTicket;
    return ticket ? index * recipe_.stride + recipe_.offset : index;
  }

  void FillFormat() {
    const auto extra = static_cast<std::uint32_t>(recipe_.prefix.size()) +
                       (recipe_.check == CheckSymbol::kAppended ? 1U : 0U);
    plan_.texts = grows() ? static_cast<double>(end_) : Texts(recipe_.length);
    plan_.capacity = end_ - recipe_.start;
    plan_.size_min = extra + (grows() ? Digits(NumberOf(recipe_.start)) : recipe_.length);
    plan_.size_max = extra + (grows() ? Digits(NumberOf(end_ - 1)) : recipe_.length);
    plan_.countable = !shuffled();
    plan_.random_collision_at = std::sqrt(2 * std::log(2.0) * plan_.texts);
  }

  [[nodiscard]] std::uint32_t Digits(std::uint64_t number) const {
    std::uint32_t digits = 1;
    for (number /= radix_; number > 0; number /= radix_) ++digits;
    return digits;
  }

  void FillNature() {
    if (recipe_.kind == Kind::kSnowflake) {
      const SnowflakeLayout& layout = recipe_.layout;
      plan_.timed =
          Plan::Timed{.epoch_ms = layout.epoch_ms,
                      .per_second = std::pow(2.0, layout.sequence_bits) * 1000 / layout.unit_ms,
                      .workers = std::uint64_t{1} << layout.worker_bits};
    }
    if (recipe_.kind != Kind::kPool && recipe_.kind != Kind::kDerived) return;
    plan_.stored =
        Plan::Stored{.derived = recipe_.kind == Kind::kDerived,
                     .bytes = recipe_.kind == Kind::kDerived ? kDerivedBytes : kPooledBytes,
                     .cycling = {}};
    if (rate_ > 0 && recipe_.recycle && recipe_.expires_s > 0) {
      plan_.stored->cycling = rate_ * (static_cast<double>(recipe_.expires_s) +
                                       static_cast<double>(recipe_.quarantine_s));
    }
  }

  // Keys that can ever be there.
  [[nodiscard]] double Obtainable() const {
    return recipe_.kind == Kind::kPool ? capacity() * kPoolFillShare : capacity();
  }

  void FillTime() {
    if (recipe_.kind == Kind::kSnowflake) {
      // Since its epoch, whatever the rate: ids of a time that has passed are gone.
      plan_.lifetime_seconds =
          static_cast<double>(SnowflakeTicksEnd(recipe_.layout)) * recipe_.layout.unit_ms / 1000;
      return;
    }
    const bool endless =
        plan_.stored && plan_.stored->cycling && *plan_.stored->cycling <= Obtainable();
    if (rate_ > 0 && !endless) plan_.lifetime_seconds = Obtainable() / rate_;
  }

  void FillOdds() {
    if (plan_.countable) return;
    plan_.guess_half_full = GuessOdds(plan_, capacity() / 2);
    if (rate_ > 0) plan_.guess_after_year = GuessOdds(plan_, IssuedInAYear());
  }

  [[nodiscard]] double IssuedInAYear() const { return rate_ * kYearSeconds; }

  void Warn(PlanWarning::Kind kind, std::string text) {
    plan_.warnings.push_back({kind, std::move(text)});
  }

  // The shortest length with at least `texts` texts; 0 when no recipe is that long.
  [[nodiscard]] std::uint32_t LengthFor(double texts) const {
    Recipe longer = recipe_;
    for (longer.length = 1; longer.length <= 32; ++longer.length) {
      if (Texts(longer.length) < texts) continue;
      if (ValidateRecipe(longer).ok()) return longer.length;
    }
    return 0;
  }

  // "; --length 9 would do", or "".
  [[nodiscard]] std::string Advice(double texts) const {
    if (grows()) return "";
    const std::uint32_t length = LengthFor(texts);
    return length > recipe_.length ? fmt::format("; --length {} would do", length) : "";
  }

  void WarnOfTime() {
    if (plan_.timed) return;
    if (rate_ > 0) {
      const double never = kLifetimeYearsMin * kYearSeconds;
      if (plan_.lifetime_seconds.value_or(never) >= never) return;
      const double needed =
          rate_ * kLifetimeYearsMin * kYearSeconds + static_cast<double>(recipe_.start);
      // Beyond the largest number, no length helps.
      const bool possible = needed < static_cast<double>(kNumberEnd);
      Warn(PlanWarning::Kind::kShortLived,
           fmt::format("all keys are used up within {} years at this rate{}", kLifetimeYearsMin,
                       possible ? Advice(needed) : ""));
    } else if (capacity() < kFewKeys) {
      Warn(PlanWarning::Kind::kFewKeys,
           fmt::format("there are only {} keys, and the recipe cannot be changed later{}",
                       plan_.capacity, Advice(kFewKeys + static_cast<double>(recipe_.start))));
    }
  }

  void WarnOfGuesses() {
    if (plan_.countable) return;
    const double issued = rate_ > 0 ? std::min(IssuedInAYear(), capacity()) : kIssuedGuess;
    const double odds = GuessOdds(plan_, issued);
    if (odds * kGuessesMin <= 1) return;
    Warn(PlanWarning::Kind::kGuessable,
         fmt::format("{} more than one guess in a million hits an issued key{}; do not let a key "
                     "alone open anything",
                     rate_ > 0 ? "after a year" : "with a million keys issued",
                     Advice((rate_ > 0 ? IssuedInAYear() : kIssuedGuess) * kGuessesMin)));
  }

  void WarnOfLength() {
    if (rate_ <= 0 || grows() || plan_.timed) return;
    const double needed = rate_ * kPlentyYears * kYearSeconds;
    const double texts = std::max(needed + static_cast<double>(recipe_.start),
                                  shuffled() ? IssuedInAYear() * kGuessesMin : 0);
    const std::uint32_t enough = LengthFor(texts);
    if (enough == 0 || recipe_.length < enough + kSpareSymbols) return;
    Warn(PlanWarning::Kind::kLong,
         fmt::format("keys are longer than they need be: --length {} lasts {} years at this "
                     "rate{}",
                     enough, kPlentyYears,
                     shuffled() ? ", and less than one guess in a million hits after a year" : ""));
  }

  const Recipe& recipe_;
  const std::uint32_t radix_;
  const std::uint64_t end_;
  const double rate_;
  Plan plan_;
};

Plan PlanRandom(const Recipe& recipe, double rate) {
  const bool ulid = recipe.kind == Kind::kUlid;
  Plan::Random random;
  random.timed = recipe.kind != Kind::kUuid4;
  random.consecutive = ulid;
  random.bits = ulid ? 128 : 122;
  // Uuid7Generator starts its counter below 2^41, and adds 32 bits to each key.
  random.random_bits = ulid ? 80 : random.timed ? 73 : 122;
  if (rate > 0) {
    // Pairs of keys that could be the same: those of a year, or of each of its milliseconds.
    const double groups = random.timed ? kYearSeconds * 1e3 : 1;
    const double keys = rate * kYearSeconds / groups;
    random.collision_in_year = std::min(
        1.0, groups * keys * keys / 2 * std::pow(2.0, -static_cast<double>(random.random_bits)));
  }
  Plan plan;
  plan.texts = std::pow(2.0, random.bits);
  plan.size_max =
      static_cast<std::uint32_t>(recipe.prefix.size() + (ulid ? kUlidTextSize : kUuidTextSize));
  plan.size_min = plan.size_max;
  plan.random = random;
  return plan;
}

}  // namespace

std::string_view PlanWarningName(PlanWarning::Kind kind) {
  switch (kind) {
    case PlanWarning::Kind::kGuessable:
      return "guessable";
    case PlanWarning::Kind::kShortLived:
      return "short-lived";
    case PlanWarning::Kind::kFewKeys:
      return "few-keys";
    case PlanWarning::Kind::kLong:
      break;
  }
  return "long";
}

Result<Plan> MakePlan(const Recipe& recipe, double rate) {
  KEYMILL_CHECK(rate >= 0);
  if (Status status = ValidateRecipe(recipe); !status.ok()) return status;
  if (recipe.kind == Kind::kUuid4 || recipe.kind == Kind::kUuid7 || recipe.kind == Kind::kUlid) {
    return PlanRandom(recipe, rate);
  }
  const Result<Alphabet> alphabet = Alphabet::Parse(recipe.alphabet);
  if (!alphabet.ok()) return alphabet.status();
  if (recipe.kind == Kind::kPool || recipe.kind == Kind::kDerived) {
    const Result<KeyShape> shape = KeyShape::Make(recipe);
    if (!shape.ok()) return shape.status();
    return Planner(recipe, *alphabet, shape->capacity(), rate).Make();
  }
  const Result<std::uint64_t> end = Codec::EndOf(recipe);
  if (!end.ok()) return end.status();
  return Planner(recipe, *alphabet, *end, rate).Make();
}

double AttemptsAt(double share) { return 1 / (1 - share); }

double GuessOdds(const Plan& plan, double issued) {
  return std::min(issued, static_cast<double>(plan.capacity)) / plan.texts;
}

}  // namespace keymill::keys
