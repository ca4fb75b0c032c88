// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a keyspace is: a named stream of keys with one recipe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/status.h"

namespace keymill {

// Numbers behind keys lie in [0, kNumberEnd). They fit a signed 64-bit column in every store.
inline constexpr std::uint64_t kNumberEnd = (std::uint64_t{1} << 63) - 1;

// How a keyspace turns a counter into text. The order is a promise: do not change
// existing entries.
enum class Kind : std::uint8_t {
  kSequence = 0,  // The counter itself, as digits of the alphabet.
  kShuffled = 1,  // The counter through a keyed permutation, then digits.
};

enum class CheckSymbol : std::uint8_t {
  kNone = 0,
  kAppended = 1,  // One symbol after the body: catches every single error and most swaps.
};

// How a keyspace makes keys. Fixed for ever when the keyspace is created: a keyspace
// whose recipe could change could not promise that its keys differ.
struct Recipe {
  Kind kind = Kind::kShuffled;

  // base62, base64url, base58, base36, base32 (Crockford), hex, decimal, or the symbols
  // themselves (2 to 94 different printable ASCII characters).
  std::string alphabet = "base62";

  // Symbols in the body of a key; counts neither prefix nor check symbol. 0: as many as
  // the number needs, without leading zeros (sequence only). Range: [0, 32].
  std::uint32_t length = 0;

  // Text in front of every key: [A-Za-z0-9_.-]{0,16}.
  std::string prefix;

  CheckSymbol check = CheckSymbol::kNone;

  // The first number. Range: [0, capacity of the format).
  std::uint64_t start = 0;

  // Words that no key may spell, in any case. Numbers whose key would are skipped.
  // Up to 1000 words of 3 to 16 symbols.
  std::vector<std::string> blocklist;

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

// The recipe that a kind has when nothing else is said: shuffled keys are 7 symbols
// long and start at number 0; a sequence grows and starts at 1.
Recipe DefaultRecipe(Kind kind);

// "sequence", "shuffled". ParseKind gives kInvalidArgument, naming the kinds that exist.
std::string_view KindName(Kind kind);
Result<Kind> ParseKind(std::string_view name);

inline constexpr std::size_t kKeyspaceNameSizeMax = 64;

// [A-Za-z0-9][A-Za-z0-9_.-]{0,63}. Names compare as bytes.
Status CheckKeyspaceName(std::string_view name);

}  // namespace keymill
