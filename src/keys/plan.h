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

// Of all keys of a pool, how many can be there before a fill gives up: most of what it draws is
// there already.
inline constexpr double kPoolFillShare = 0.75;

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
  // Keys that the keyspace can issue, those that its blocklist skips included. 0 for keys of random
  // bits: then `random` is there, and what is said of guesses and collisions below is not.
  std::uint64_t capacity = 0;

  // What UUIDs and ULIDs come to. They are never used up; that two are the same is only unlikely.
  struct Random {
    std::uint32_t bits = 0;  // Bits of a key, without those that are the same in all.
    // Of those, random bits that tell apart the keys of two processes, made at the same time.
    std::uint32_t random_bits = 0;
    bool timed = false;        // Begins with the time, to the millisecond.
    bool consecutive = false;  // Keys of one millisecond follow one another.
    // That any two keys of a year are the same, if each was made by another process; a process
    // does not repeat its own. None without a rate.
    std::optional<double> collision_in_year;
  };
  std::optional<Random> random;

  // Of a snowflake: its ids end with its time, and each worker makes only so many.
  struct Timed {
    std::int64_t epoch_ms = 0;
    double per_second = 0;  // Ids of one worker.
    std::uint64_t workers = 0;
  };
  std::optional<Timed> timed;

  // Of keys that the store keeps one by one.
  struct Stored {
    bool derived = false;  // From content, rather than drawn for a pool.
    // What the store needs for a key, about: SQLite's file, divided by its keys.
    std::uint32_t bytes = 0;
    // Keys that are in use or at rest at a time, of a pool whose keys expire and are handed out
    // again. None without a rate.
    std::optional<double> cycling;
  };
  std::optional<Stored> stored;

  // Texts that look like a key: what somebody who guesses has to choose from. Larger than the
  // capacity where that ends at the largest number.
  double texts = 0;

  // Bytes of the shortest and the longest key, with prefix and check symbol.
  std::uint32_t size_min = 0;
  std::uint32_t size_max = 0;

  // Until the last key is gone; of a snowflake, from its epoch on. Otherwise none without a rate,
  // nor for a pool whose keys come back as fast as they go.
  std::optional<double> lifetime_seconds;

  // Whether a key tells others: then odds mean nothing, and there are none below.
  bool countable = false;

  // How likely one guess hits an issued key: after a year (none without a rate), and when half
  // of all keys are issued.
  std::optional<double> guess_after_year;
  std::optional<double> guess_half_full;

  // Keys after which randomly drawn ones of this format would be as likely as not to have
  // collided. Of derived keys: to have met one that is taken. For comparison otherwise.
  double random_collision_at = 0;

  std::vector<PlanWarning> warnings;
};

// What `recipe` comes to when `rate` keys are issued a second; 0 when that is not known.
// Errors:
//   kInvalidArgument  ValidateRecipe's.
// REQUIRES: rate >= 0
Result<Plan> MakePlan(const Recipe& recipe, double rate);

// How many texts have to be tried, on average, until one is free when this share of all is taken.
// REQUIRES: 0 <= share < 1
double AttemptsAt(double share);

// How likely one guess hits one of `issued` keys.
double GuessOdds(const Plan& plan, double issued);

}  // namespace keymill::keys
