// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Numbers as digits of an alphabet, two digits at a time and without a division: a key of
// seven symbols would otherwise spend more time here than in its permutation.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "keys/uint128.h"

namespace keymill::keys {

// Division by a number that is known beforehand.
class Divisor {
 public:
  // REQUIRES: 2 <= value < 2^63
  explicit Divisor(std::uint64_t value);

  struct Parts {
    std::uint64_t quotient = 0;
    std::uint64_t rest = 0;
  };
  [[nodiscard]] Parts Divide(std::uint64_t y) const {
    // The estimate is the quotient or one less, because y * (2^64 / value - inverse) < 2^64.
    const auto quotient = static_cast<std::uint64_t>(static_cast<Uint128>(y) * inverse_ >> 64);
    const std::uint64_t rest = y - quotient * value_;
    return rest >= value_ ? Parts{quotient + 1, rest - value_} : Parts{quotient, rest};
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }
  [[nodiscard]] std::uint64_t inverse() const { return inverse_; }

 private:
  std::uint64_t value_;
  std::uint64_t inverse_;  // floor(2^64 / value)
};

// Immutable, and so safe for concurrent use by multiple threads. Copies share their table,
// and so do all alphabets with the same symbols.
class Digits {
 public:
  // REQUIRES: 2 to 94 symbols.
  explicit Digits(std::string_view symbols);

  // Writes the lowest `count` digits of `value`, most significant first.
  void Write(std::uint64_t value, std::uint32_t count, char* out) const {
    for (; count >= 2; count -= 2) {
      const Divisor::Parts parts = pair_.Divide(value);
      const std::array<char, 2>& pair = (*pairs_)[parts.rest];
      out[count - 2] = pair[0];
      out[count - 1] = pair[1];
      value = parts.quotient;
    }
    if (count == 1) out[0] = (*pairs_)[one_.Divide(value).rest][1];
  }

  [[nodiscard]] std::uint32_t radix() const { return static_cast<std::uint32_t>(one_.value()); }

 private:
  using Pairs = std::vector<std::array<char, 2>>;

  static std::shared_ptr<const Pairs> PairsOf(std::string_view symbols);

  Divisor one_;
  Divisor pair_;
  std::shared_ptr<const Pairs> pairs_;
};

}  // namespace keymill::keys
