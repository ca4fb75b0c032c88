// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/random.h"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace keymill {
namespace {

TEST(RandomTest, FillsTheWholeBuffer) {
  // A byte that is zero in 64 independent draws was never written (chance 2^-512).
  std::array<std::uint8_t, 33> seen{};
  for (int draw = 0; draw < 64; ++draw) {
    std::array<std::uint8_t, 33> bytes{};
    RandomBytes(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) seen[i] |= bytes[i];
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](std::uint8_t byte) { return byte != 0; }));
}

TEST(RandomTest, FillsBuffersLargerThanOneSystemCallGives) {
  std::vector<std::uint8_t> bytes(1 << 20);
  RandomBytes(bytes);
  // A tail of 64 zero bytes has the chance 2^-512.
  EXPECT_TRUE(std::any_of(bytes.end() - 64, bytes.end(), [](std::uint8_t b) { return b != 0; }));
}

TEST(RandomTest, LeavesAnEmptyBufferAlone) { RandomBytes({}); }

TEST(RandomTest, HexHasTwoDigitsAByteAndDiffersEachTime) {
  const std::string first = RandomHex(16);
  EXPECT_EQ(first.size(), 32U);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(first, RandomHex(16));
  EXPECT_EQ(RandomHex(0), "");
}

}  // namespace
}  // namespace keymill
