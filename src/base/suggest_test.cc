// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/suggest.h"

#include <array>

#include <gtest/gtest.h>

namespace keymill {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"kind", "length", "prefix", "blocklist"};

TEST(SuggestTest, FindsTheWordBehindOneMistake) {
  EXPECT_EQ(Nearest("lengh", kWords), "length");         // A letter is missing,
  EXPECT_EQ(Nearest("lengthh", kWords), "length");       // one too many,
  EXPECT_EQ(Nearest("lemgth", kWords), "length");        // a wrong one,
  EXPECT_EQ(Nearest("blcoklist", kWords), "blocklist");  // two swapped.
}

TEST(SuggestTest, CountsASwapOfNeighboursAsOneMistake) {
  EXPECT_EQ(Nearest("ab", std::array<std::string_view, 1>{"ba"}), "ba");
  EXPECT_EQ(Nearest("ab", std::array<std::string_view, 1>{"cd"}), "");
}

TEST(SuggestTest, AllowsAThirdOfTheLengthRoundedUp) {
  EXPECT_EQ(Nearest("kixx", kWords), "kind");  // 2 of 4 letters.
  EXPECT_EQ(Nearest("kxxx", kWords), "");      // 3 of 4.
  EXPECT_EQ(Nearest("preyyy", kWords), "");    // 3 of 6.
  EXPECT_EQ(Nearest("prefxx", kWords), "prefix");
}

TEST(SuggestTest, PrefersTheNearestAndThenTheFirst) {
  EXPECT_EQ(Nearest("kinda", std::array<std::string_view, 2>{"kin", "kind"}), "kind");
  EXPECT_EQ(Nearest("bat", std::array<std::string_view, 2>{"cat", "bar"}), "cat");
}

TEST(SuggestTest, SuggestsNothingForNothing) {
  EXPECT_EQ(Nearest("", kWords), "");
  EXPECT_EQ(Nearest("kind", {}), "");
  EXPECT_EQ(Nearest(std::string(1'000'000, 'x'), kWords), "");
}

TEST(SuggestTest, WritesTheQuestionToAppend) {
  EXPECT_EQ(DidYouMean("lenght", kWords), ", did you mean \"length\"?");
  EXPECT_EQ(DidYouMean("colour", kWords), "");
}

}  // namespace
}  // namespace keymill
