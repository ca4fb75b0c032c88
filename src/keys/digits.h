// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Numbers as digits of an alphabet, two digits at a time and without a division: a key of
// seven symbols would otherwise spend more time here than in its permutation.

#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
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

  using Pair = std::array<char, 2>;

  // For loops: a local one stays in registers, where members would be read again behind every
  // byte that is written. REQUIRES: its Digits live as long.
  class Writer {
   public:
    // Writes `value` in `count` digits, most significant first.
    // REQUIRES: value < radix^count
    void Write(std::uint64_t value, std::uint32_t count, char* out) const {
      for (; count > 2; count -= 2) {
        const Divisor::Parts parts = pair_.Divide(value);
        std::memcpy(out + count - 2, &pairs_[parts.rest], sizeof(Pair));
        value = parts.quotient;
      }
      assert(value < pair_.value());
      if (count == 2) std::memcpy(out, &pairs_[value], sizeof(Pair));
      if (count == 1) out[0] = pairs_[value][1];
    }

   private:
    friend class Digits;
    Writer(const Divisor& pair, const Pair* pairs) : pair_(pair), pairs_(pairs) {}

    Divisor pair_;
    const Pair* pairs_;
  };
  [[nodiscard]] Writer writer() const { return {pair_, pairs_->data()}; }
  void Write(std::uint64_t value, std::uint32_t count, char* out) const {
    writer().Write(value, count, out);
  }

  [[nodiscard]] std::uint32_t radix() const { return radix_; }

 private:
  using Pairs = std::vector<Pair>;

  static std::shared_ptr<const Pairs> PairsOf(std::string_view symbols);

  std::uint32_t radix_;
  Divisor pair_;
  std::shared_ptr<const Pairs> pairs_;
};

}  // namespace keymill::keys
