// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a recipe comes to: how many keys it has, how long they last, how easily one is guessed.
// Arithmetic only, so that a recipe can be judged before a keyspace is made of it: afterwards it
// is fixed for ever.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/keyspace.h"
#include "keymill/status.h"

namespace keymill::keys {

inline constexpr double kYearSeconds = 365.25 * 24 * 3600;

// Guesses per hit: fewer are warned of.
inline constexpr double kGuessesMin = 1e6;
// A keyspace that is full sooner is warned of.
inline constexpr double kLifetimeYearsMin = 5;

// Something about a recipe that its owner will probably regret.
struct PlanWarning {
  enum class Kind : std::uint8_t {
    kGuessable,   // A guess hits an issued key in fewer than kGuessesMin tries.
    kShortLived,  // Full within kLifetimeYearsMin.
    kFewKeys,     // Fewer than a million keys, and nobody said how many are needed.
    kLong,        // Much shorter keys would do as well.
  };
  Kind kind = Kind::kGuessable;
  std::string text;
};

// "guessable", "short-lived", "few-keys", "long"
std::string_view PlanWarningName(PlanWarning::Kind kind);

struct Plan {
  // Keys that the keyspace can issue, those that its blocklist skips included.
  std::uint64_t capacity = 0;

  // Texts that look like a key: what somebody who guesses has to choose from. Larger than the
  // capacity where that ends at the largest number.
  double texts = 0;

  // Bytes of the shortest and the longest key, with prefix and check symbol.
  std::uint32_t size_min = 0;
  std::uint32_t size_max = 0;

  // Until the last key is gone. None without a rate.
  std::optional<double> lifetime_seconds;

  // Whether a key tells others: then odds mean nothing, and there are none below.
  bool countable = false;

  // How likely one guess hits an issued key: after a year (none without a rate), and when half
  // of all keys are issued.
  std::optional<double> guess_after_year;
  std::optional<double> guess_half_full;

  // Keys after which randomly drawn ones of this format would be as likely as not to have
  // collided. For comparison: ours are permutations, and cannot.
  double random_collision_at = 0;

  std::vector<PlanWarning> warnings;
};

// What `recipe` comes to when `rate` keys are issued a second; 0 when that is not known.
// Errors:
//   kInvalidArgument  Codec::Validate's.
// REQUIRES: rate >= 0
Result<Plan> MakePlan(const Recipe& recipe, double rate);

// How likely one guess hits one of `issued` keys.
double GuessOdds(const Plan& plan, double issued);

}  // namespace keymill::keys
