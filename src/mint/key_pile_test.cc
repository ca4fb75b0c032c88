// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/key_pile.h"

#include <array>

#include <gtest/gtest.h>

namespace keymill::mint {
namespace {

std::string TakeFrom(KeyPile& pile, std::uint32_t count) {
  std::array<char, 256> out{};
  const auto written = pile.Take(count, "\n", out.data());
  EXPECT_EQ(written.bytes, written.keys * 3U);
  return {out.data(), written.bytes};
}

TEST(KeyPileTest, GivesEveryKeyOnceAcrossBatches) {
  KeyPile pile(2);
  EXPECT_EQ(TakeFrom(pile, 1), "");
  pile.Add({.token = "1", .keys = {"aa", "bb"}});
  pile.Add({.token = "2", .keys = {"cc"}});
  EXPECT_EQ(pile.size(), 3U);
  EXPECT_EQ(TakeFrom(pile, 1), "aa\n");
  EXPECT_EQ(TakeFrom(pile, 5), "bb\ncc\n");
  EXPECT_EQ(pile.size(), 0U);
  pile.Add({.token = "3", .keys = {"dd"}});
  EXPECT_EQ(TakeFrom(pile, 5), "dd\n");
  EXPECT_EQ(TakeFrom(pile, 5), "");
}

TEST(KeyPileTest, ClearsToWhatIsLeftOfEachBatch) {
  KeyPile pile(2);
  pile.Add({.token = "1", .keys = {"aa"}});
  pile.Add({.token = "2", .keys = {"bb", "cc"}});
  TakeFrom(pile, 2);
  const auto left = pile.Clear();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].token, "2");
  EXPECT_EQ(left[0].keys, std::vector<std::string>{"cc"});
  EXPECT_EQ(pile.size(), 0U);
  EXPECT_EQ(TakeFrom(pile, 1), "");
}

TEST(KeyPileTest, OldKeysAreGivenUpByEitherClock) {
  KeyPile pile(2);
  EXPECT_FALSE(pile.ages());
  const MonotonicTime start{};
  pile.Add({.token = "1", .keys = {"aa"}});
  pile.Add({.token = "2", .keys = {"bb"}, .use_by = {start + std::chrono::seconds(10), 10'000}});
  pile.Add({.token = "3", .keys = {"cc"}, .use_by = {start + std::chrono::seconds(20), 20'000}});
  EXPECT_TRUE(pile.ages());
  pile.GiveUpOld(start + std::chrono::seconds(9), 9'999);
  EXPECT_EQ(pile.size(), 3U);
  pile.GiveUpOld(start, 10'000);
  EXPECT_EQ(pile.size(), 2U);
  pile.GiveUpOld(start + std::chrono::seconds(20), 0);
  EXPECT_EQ(pile.size(), 1U);
  EXPECT_EQ(TakeFrom(pile, 9), "aa\n");
}

TEST(KeyPileTest, WhatIsOldLeavesNoMoreAndCanBeGivenBackOnce) {
  KeyPile pile(2);
  const MonotonicTime start{};
  const auto until = [&](int seconds) {
    return KeyPile::UseBy{start + std::chrono::seconds(seconds), seconds * 1'000};
  };
  pile.Add({.token = "1", .keys = {"aa", "bb", "cc"}, .use_by = until(10)});
  pile.Add({.token = "2", .keys = {"dd"}, .use_by = until(20)});
  EXPECT_EQ(TakeFrom(pile, 1), "aa\n");
  EXPECT_TRUE(pile.TakeOld().empty());
  pile.GiveUpOld(start, 10'000);
  pile.GiveUpOld(start, 10'000);
  EXPECT_EQ(pile.size(), 1U);
  EXPECT_EQ(TakeFrom(pile, 9), "dd\n");
  pile.Add({.token = "3", .keys = {"ee", "ff"}, .use_by = until(30)});
  const auto old = pile.TakeOld();
  ASSERT_EQ(old.size(), 1U);
  EXPECT_EQ(old[0].token, "1");
  EXPECT_EQ(old[0].keys, (std::vector<std::string>{"bb", "cc"}));
  EXPECT_EQ(old[0].gone, "aa");
  EXPECT_TRUE(pile.TakeOld().empty());
  EXPECT_EQ(TakeFrom(pile, 1), "ee\n");
  EXPECT_EQ(pile.Newest()->key, "ff");
  pile.GiveUpOld(start, 30'000);
  EXPECT_FALSE(pile.Newest());
  const auto rest = pile.Clear();
  ASSERT_EQ(rest.size(), 1U) << "a stop gives back what is old, too";
  EXPECT_EQ(rest[0].keys, std::vector<std::string>{"ff"});
  EXPECT_EQ(rest[0].gone, "ee");
  EXPECT_TRUE(pile.TakeOld().empty());
}

TEST(KeyPileTest, TheNewestIsTheLastThatLeaves) {
  KeyPile pile(2);
  EXPECT_FALSE(pile.Newest());
  pile.Add({.token = "1", .keys = {"aa"}});
  pile.Add({.token = "2", .keys = {"bb", "cc"}});
  EXPECT_EQ(pile.Newest()->key, "cc");
  EXPECT_EQ(pile.Newest()->token, "2");
  TakeFrom(pile, 3);
  EXPECT_FALSE(pile.Newest());
}

}  // namespace
}  // namespace keymill::mint
