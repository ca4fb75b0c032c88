// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a key could be when nobody says which keyspace it is of: from its form alone, with the
// reason for each guess. Nothing here is certain, and nothing is looked up.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace keymill::keys {

enum class Likelihood : std::uint8_t {
  kLikely,    // Its form is rare by chance, and the time that it tells makes sense.
  kPossible,  // Its symbols fit.
  kUnlikely,  // It fits, but tells an odd time or would be a rare chance.
};

// "likely", "possible", "unlikely"
std::string_view LikelihoodName(Likelihood likelihood);

struct KindGuess {
  Likelihood likelihood = Likelihood::kPossible;

  // "uuid7", "uuid" (no version), "ulid", "snowflake (default)", "snowflake (discord)", "base62".
  std::string what;

  // One line for people.
  std::string reason;

  // When the key would have been made, in milliseconds since 1970.
  std::optional<std::int64_t> time_ms;
};

// All that `text` could be, the most likely first:
//
// - a UUID, with its version and time;
// - a ULID, with its time;
// - a snowflake id in decimal: of Keymill's layouts "default" and "javascript", Twitter, Discord or
//   Instagram. A number is one of each; which times make sense tells them apart, where anything
//   does;
// - a key of 1 to 32 symbols of a named alphabet, with a check symbol or without.
//
// A time makes sense from 2010 until a year after `now_ms`, but not on the first day of a layout:
// small numbers are rather counters. All of this is also looked for behind a prefix, such as ord_.
//
// Empty when nothing fits.
std::vector<KindGuess> GuessKinds(std::string_view text, std::int64_t now_ms);

}  // namespace keymill::keys
