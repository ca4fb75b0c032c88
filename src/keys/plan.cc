// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "keys/alphabet.h"
#include "keys/codec.h"

namespace keymill::keys {
namespace {

constexpr double kFewKeys = 1e6;
// What is thought of as issued when nobody says a rate.
constexpr double kIssuedGuess = 1e6;
// Keys that last this long at odds that are fine need not be longer.
constexpr double kPlentyYears = 100;
// One symbol too many is caution; a recipe cannot be changed later.
constexpr std::uint32_t kSpareSymbols = 2;

class Planner {
 public:
  Planner(const Recipe& recipe, const Alphabet& alphabet, double rate)
      : recipe_(recipe), radix_(alphabet.size()), rate_(rate) {}

  Plan Make() {
    FillFormat();
    FillTime();
    FillOdds();
    WarnOfTime();
    WarnOfGuesses();
    WarnOfLength();
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool shuffled() const { return recipe_.kind == Kind::kShuffled; }
  [[nodiscard]] bool grows() const { return recipe_.length == 0; }
  [[nodiscard]] double capacity() const { return static_cast<double>(plan_.capacity); }
  [[nodiscard]] double Texts(std::uint32_t length) const {
    return std::pow(static_cast<double>(radix_), static_cast<double>(length));
  }

  void FillFormat() {
    const auto extra = static_cast<std::uint32_t>(recipe_.prefix.size()) +
                       (recipe_.check == CheckSymbol::kAppended ? 1U : 0U);
    const auto last = static_cast<double>(kNumberEnd);
    plan_.texts = grows() ? last : Texts(recipe_.length);
    // The same bounds as the codec's, in whole numbers where they are below the last one.
    std::uint64_t end = kNumberEnd;
    if (plan_.texts < last) {
      end = 1;
      for (std::uint32_t i = 0; i < recipe_.length; ++i) end *= radix_;
    }
    plan_.capacity = end - recipe_.start;
    plan_.size_min = extra + (grows() ? Digits(recipe_.start) : recipe_.length);
    plan_.size_max = extra + (grows() ? Digits(kNumberEnd - 1) : recipe_.length);
    plan_.countable = !shuffled();
    plan_.random_collision_at = std::sqrt(2 * std::log(2.0) * plan_.texts);
  }

  [[nodiscard]] std::uint32_t Digits(std::uint64_t number) const {
    std::uint32_t digits = 1;
    for (number /= radix_; number > 0; number /= radix_) ++digits;
    return digits;
  }

  void FillTime() {
    if (rate_ > 0) plan_.lifetime_seconds = capacity() / rate_;
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
      if (Codec::Validate(longer).ok()) return longer.length;
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
    if (rate_ > 0) {
      if (*plan_.lifetime_seconds >= kLifetimeYearsMin * kYearSeconds) return;
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
    if (rate_ <= 0 || grows()) return;
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
  const double rate_;
  Plan plan_;
};

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
  if (Status status = Codec::Validate(recipe); !status.ok()) return status;
  const Result<Alphabet> alphabet = Alphabet::Parse(recipe.alphabet);
  if (!alphabet.ok()) return alphabet.status();
  return Planner(recipe, *alphabet, rate).Make();
}

double GuessOdds(const Plan& plan, double issued) {
  return std::min(issued, static_cast<double>(plan.capacity)) / plan.texts;
}

}  // namespace keymill::keys
