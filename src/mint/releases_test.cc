// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/releases.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/pool_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class ReleasesTest : public PoolTestBase {
 protected:
  static Recipe Recycling() {
    Recipe recipe = Pool(Audit::kKey);
    recipe.recycle = true;
    return recipe;
  }
  static Release ReleaseOf(Engine& engine, const std::string& key,
                           std::optional<std::uint64_t> generation = {}) {
    const auto release = engine.ReleaseKey("k", key, generation);
    EXPECT_TRUE(release.ok()) << release.status().message();
    return release.ok() ? *release : Release{};
  }
};

TEST_F(ReleasesTest, AUsedKeyIsReleasedOnce) {
  const auto engine = StartShared();
  const auto keys = Get(*engine, MakePool(*engine, Recycling(), 10), 2);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(ReleaseOf(*engine, keys[0]).verdict, ReleaseVerdict::kReleased);
  EXPECT_EQ(RowOf(*engine, keys[0]).state, KeyState::kReleased);
  EXPECT_EQ(RowOf(*engine, keys[1]).state, KeyState::kUsed);
  EXPECT_EQ(ReleaseOf(*engine, keys[0]).verdict, ReleaseVerdict::kNotUsed);
  EXPECT_THAT(ReleaseOf(*engine, keys[0]).detail, HasSubstr("released"));
}

TEST_F(ReleasesTest, OnlyWhatSomebodyHasCanBeReleased) {
  const auto engine = StartShared();
  MakePool(*engine, Recycling(), 1);
  const std::string key = engine->ListKeys("k", {})->rows.front().key;
  EXPECT_EQ(ReleaseOf(*engine, key).verdict, ReleaseVerdict::kNotUsed);
  EXPECT_EQ(ReleaseOf(*engine, "no-such").verdict, ReleaseVerdict::kUnknown);
  ASSERT_EQ(engine->ClaimKey("k", "my-alias", "ann")->verdict, ClaimVerdict::kClaimed);
  EXPECT_EQ(ReleaseOf(*engine, "my-alias").verdict, ReleaseVerdict::kNotUsed);
}

// Whether the pool had it ready or not: whoever has it got it elsewhere.
TEST_F(ReleasesTest, WhatWasImportedIsNeverReleased) {
  const auto engine = StartShared();
  const auto keys = Get(*engine, MakePool(*engine, Recycling(), 10), 2);
  ASSERT_EQ(keys.size(), 2U);
  Fill(*engine, 5);
  std::vector<std::string> codes = {std::string(keys[0].size(), 'a')};
  const auto stock = engine->ListKeys("k", {.state = KeyState::kAvailable});
  ASSERT_TRUE(stock.ok());
  for (const KeyRow& row : stock->rows) codes.push_back(row.key);
  ASSERT_EQ(codes.size(), 6U);
  std::sort(codes.begin(), codes.end());
  ASSERT_TRUE(engine->Import("k", Recycling(), codes, {}).ok());
  for (const std::string& code : codes) {
    const Release release = ReleaseOf(*engine, code);
    EXPECT_EQ(release.verdict, ReleaseVerdict::kNeverRecycled) << code;
    EXPECT_THAT(release.detail, HasSubstr("imported"));
    EXPECT_EQ(RowOf(*engine, code).state, KeyState::kUsed);
  }
  EXPECT_EQ(ReleaseOf(*engine, keys[1]).verdict, ReleaseVerdict::kReleased);
}

TEST_F(ReleasesTest, AnotherGenerationIsNotReleased) {
  const auto engine = StartShared();
  const auto keys = Get(*engine, MakePool(*engine, Recycling(), 10), 1);
  EXPECT_EQ(ReleaseOf(*engine, keys[0], 1).verdict, ReleaseVerdict::kOtherGeneration);
  EXPECT_EQ(RowOf(*engine, keys[0]).state, KeyState::kUsed);
  EXPECT_EQ(ReleaseOf(*engine, keys[0], 0).verdict, ReleaseVerdict::kReleased);
}

TEST_F(ReleasesTest, WithoutRecyclingNothingIsTakenBack) {
  const auto engine = StartShared();
  const auto keys = Get(*engine, MakePool(*engine, Pool(Audit::kKey), 10), 1);
  EXPECT_EQ(ReleaseOf(*engine, keys[0]).verdict, ReleaseVerdict::kNeverRecycled);
  EXPECT_EQ(RowOf(*engine, keys[0]).state, KeyState::kUsed);
}

// Between the look and the change the key was released, recycled and given to somebody else.
TEST_F(ReleasesTest, WhoComesLateDoesNotTakeItFromItsNextOwner) {
  const auto engine = StartShared();
  const auto keys = Get(*engine, MakePool(*engine, Recycling(), 1), 1);
  const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
  const KeyGuard guard{.keyspace_id = record.id, .recipe_hash = record.recipe_hash, .witness = {}};
  faults_->before_change = [&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    KeyTable& table = *memory_->key_table();
    const auto turn = [&](KeyState from, KeyState to, bool next) {
      EXPECT_EQ(table
                    .ChangeKeys(guard,
                                {.match = {.keys = keys, .state = from},
                                 .to = to,
                                 .at_ms = 1,
                                 .generations = next ? 1U : 0U},
                                clock_.Monotonic())
                    ->rows.size(),
                1U);
    };
    turn(KeyState::kUsed, KeyState::kReleased, false);
    turn(KeyState::kReleased, KeyState::kAvailable, true);
    turn(KeyState::kAvailable, KeyState::kUsed, false);
  };
  EXPECT_EQ(ReleaseOf(*engine, keys[0]).verdict, ReleaseVerdict::kNotUsed);
  EXPECT_EQ(RowOf(*engine, keys[0]).state, KeyState::kUsed);
}

}  // namespace
}  // namespace keymill::mint
