// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// FF1's ten rounds for many numeral strings at once, kept in registers from the first round
// to the last. What the general code spends on moving blocks through memory costs more than
// the AES itself.

#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "keys/aes.h"
#include "keys/digits.h"
#include "keys/ff1.h"

namespace keymill::keys {

// What the rounds of one permutation need. Halves, and so both divisors, are below 2^32.
struct Ff1Rounds {
  static constexpr std::size_t kCount = 10;

  std::span<const AesEncryptor::Block> aes_keys;
  std::array<AesEncryptor::Block, kCount> before_half;  // A round's block without its half.
  Divisor left{2};
  Divisor right{2};
};

// Permutes strings from the front, in groups as large as the instructions allow, and returns
// how many it did; the others are left to the caller. `lanes` says which instructions.
// REQUIRES: this processor has them; aes_keys is not empty.
std::size_t EncryptGroups(AesLanes lanes, const Ff1Rounds& rounds, std::span<Ff1::Halves> strings);

}  // namespace keymill::keys
