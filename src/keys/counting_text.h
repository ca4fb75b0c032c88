// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The texts of consecutive numbers, many at a time. Neighbours differ in their last digits
// only, so those are laid out once for a whole turn of the last wheels; each turn then joins
// them with the digits that stand still, sixteen bytes at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "keys/digits.h"

namespace keymill::keys {

struct CountingText {
  std::string_view prefix;
  std::uint32_t length = 0;  // Digits of each number, zeros in front. At least 1.
  std::string_view after;

  [[nodiscard]] std::size_t size() const { return prefix.size() + length + after.size(); }
};

// The sizes of one text, prefix and `after` included, that WriteCounting can do.
inline constexpr std::size_t kCountingTextMin = 8;
inline constexpr std::size_t kCountingTextMax = 48;

// Writes the texts of [first, first + count) to `out`, and nothing behind them.
// REQUIRES: text.size() is in the range above; first + count <= radix^length.
void WriteCounting(const CountingText& text, const Digits& digits, std::uint64_t first,
                   std::uint64_t count, char* out);

}  // namespace keymill::keys
