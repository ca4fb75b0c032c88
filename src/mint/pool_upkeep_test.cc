// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/pool_upkeep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/pool_test_support.h"

namespace keymill::mint {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class PoolUpkeepTest : public PoolTestBase {
 protected:
  static Recipe Recycling(Audit audit = Audit::kKey) {
    Recipe recipe = Pool(audit);
    recipe.recycle = true;
    recipe.quarantine_s = 1'000;
    return recipe;
  }
  void Tidy(Engine& engine, seconds later) {
    clock_.Advance(later);
    engine.StepForTest();
  }
};

TEST_F(PoolUpkeepTest, AReleasedKeyRestsAndLivesAgainInTheNextGeneration) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Recycling(), 1);
  const auto first = Get(*engine, keyspace, 1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(engine->ReleaseKey("k", first[0], 0)->verdict, ReleaseVerdict::kReleased);
  Tidy(*engine, seconds(990));
  EXPECT_EQ(RowOf(*engine, first[0]).state, KeyState::kReleased);
  Tidy(*engine, seconds(40));
  const auto second = Get(*engine, keyspace, 1);
  EXPECT_EQ(second, first);
  EXPECT_EQ(RowOf(*engine, first[0]).generation, 1U);
  // Its first owner cannot take it away from the second.
  EXPECT_EQ(engine->ReleaseKey("k", first[0], 0)->verdict, ReleaseVerdict::kOtherGeneration);
  EXPECT_EQ(engine->ReleaseKey("k", first[0], 1)->verdict, ReleaseVerdict::kReleased);
}

TEST_F(PoolUpkeepTest, AnExpiredKeyIsReleasedRestsAndComesBack) {
  const auto engine = StartShared();
  Recipe recipe = Recycling();
  recipe.expires_s = 500;
  Keyspace& keyspace = MakePool(*engine, recipe, 1);
  const auto first = Get(*engine, keyspace, 1);
  ASSERT_EQ(first.size(), 1U);
  Tidy(*engine, seconds(499));
  EXPECT_EQ(RowOf(*engine, first[0]).state, KeyState::kUsed);
  Tidy(*engine, seconds(31));
  EXPECT_EQ(RowOf(*engine, first[0]).state, KeyState::kReleased);
  Tidy(*engine, seconds(960));
  EXPECT_EQ(RowOf(*engine, first[0]).state, KeyState::kReleased);
  Tidy(*engine, seconds(60));
  EXPECT_EQ(RowOf(*engine, first[0]).generation, 1U);
  EXPECT_EQ(Get(*engine, keyspace, 1), first);
}

// The keys are others', whose clocks are right.
TEST_F(PoolUpkeepTest, AClockThatIsNotTheStoresRecyclesNothing) {
  faults_->store_now_ms = clock_.WallMs();
  const auto later = [&](Engine& engine, seconds by) {
    faults_->store_now_ms += by.count() * 1'000;
    Tidy(engine, by);
  };
  const auto engine = StartShared();
  Recipe recipe = Recycling();
  recipe.expires_s = 100'000;
  Keyspace& keyspace = MakePool(*engine, recipe, 2);
  const auto keys = Get(*engine, keyspace, 2);
  ASSERT_EQ(keys.size(), 2U);
  ASSERT_EQ(engine->ReleaseKey("k", keys[1], 0)->verdict, ReleaseVerdict::kReleased);
  for (const auto off : {std::chrono::hours(87'600), -std::chrono::hours(87'600)}) {
    clock_.StepWall(off);
    for (int i = 0; i < 2; ++i) later(*engine, seconds(31));
    EXPECT_EQ(RowOf(*engine, keys[0]).state, KeyState::kUsed);
    EXPECT_EQ(RowOf(*engine, keys[1]).state, KeyState::kReleased);
    clock_.StepWall(-off);
  }
  // A quarter of the quarantine is within what the rules allow for.
  clock_.StepWall(seconds(251));
  later(*engine, seconds(1'000));
  EXPECT_EQ(RowOf(*engine, keys[1]).state, KeyState::kReleased);
  clock_.StepWall(seconds(-1));
  later(*engine, seconds(31));
  EXPECT_EQ(RowOf(*engine, keys[1]).generation, 1U);
}

TEST_F(PoolUpkeepTest, AKeyExpiresByTheStoresClock) {
  faults_->store_now_ms = clock_.WallMs() + 86'400'000;
  for (const Audit audit : {Audit::kBatch, Audit::kKey}) {
    memory_ = store::OpenMemoryStore(clock_);
    const auto engine = StartShared();
    Recipe recipe = Recycling(audit);
    recipe.expires_s = 500;
    const auto keys = Get(*engine, MakePool(*engine, recipe, 1), 1);
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_EQ(RowOf(*engine, keys[0]).expires_at_ms, faults_->store_now_ms + 500'000);
    EXPECT_EQ(RowOf(*engine, keys[0]).since_ms, faults_->store_now_ms);
  }
}

// Its rest would be over at once for all whose clock is right.
TEST_F(PoolUpkeepTest, AKeyIsReleasedByTheStoresClock) {
  const std::int64_t now_ms = clock_.WallMs();
  faults_->store_now_ms = now_ms;
  const auto engine = StartShared();
  const auto keys = Get(*engine, MakePool(*engine, Recycling(), 1), 1);
  ASSERT_EQ(keys.size(), 1U);
  clock_.StepWall(-std::chrono::hours(87'600));
  ASSERT_EQ(engine->ReleaseKey("k", keys[0], 0)->verdict, ReleaseVerdict::kReleased);
  EXPECT_EQ(RowOf(*engine, keys[0]).since_ms, now_ms);
}

TEST_F(PoolUpkeepTest, AClockThatWasSetBackDoesNotShortenTheRest) {
  const auto engine = StartShared();
  const auto keys = Get(*engine, MakePool(*engine, Recycling(), 1), 1);
  ASSERT_EQ(keys.size(), 1U);
  const std::int64_t used_ms = RowOf(*engine, keys[0]).since_ms;
  clock_.StepWall(-std::chrono::hours(1));
  ASSERT_EQ(engine->ReleaseKey("k", keys[0], 0)->verdict, ReleaseVerdict::kReleased);
  EXPECT_EQ(RowOf(*engine, keys[0]).since_ms, used_ms);
}

TEST_F(PoolUpkeepTest, WithoutRecyclingAnExpiredKeyStaysUsed) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 500;
  Keyspace& keyspace = MakePool(*engine, recipe, 1);
  const auto first = Get(*engine, keyspace, 1);
  for (int i = 0; i < 5; ++i) Tidy(*engine, seconds(100'000));
  EXPECT_EQ(RowOf(*engine, first[0]).state, KeyState::kUsed);
  EXPECT_TRUE(Get(*engine, keyspace, 1).empty());
}

TEST_F(PoolUpkeepTest, TidiesNowAndThenOnly) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Recycling(), 1'000);
  keyspace.Want();
  engine->StepForTest();
  const std::size_t changes = faults_->changes.size();
  EXPECT_GT(changes, 0U);
  Tidy(*engine, seconds(29));
  EXPECT_EQ(faults_->changes.size(), changes);
  Tidy(*engine, seconds(1));
  EXPECT_EQ(faults_->changes.size(), 2 * changes);
}

TEST_F(PoolUpkeepTest, ManyComeBackInSeveralTurns) {
  EngineOptions options = PoolOptionsOf();
  auto engine = StartShared(options);
  MakePool(*engine, Pool(Audit::kKey), 2'500);
  const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
  ASSERT_TRUE(
      memory_->key_table()
          ->TakeKeys({.keyspace_id = record.id, .recipe_hash = record.recipe_hash, .witness = {}},
                     {.count = 2'500,
                      .to = KeyState::kReserved,
                      .instance = "gone",
                      .token = "t",
                      .at_ms = clock_.WallMs()},
                     clock_.Monotonic())
          .ok());
  clock_.Advance(options.pool.reclaim_after + seconds(1));
  (*engine->Lookup("k"))->Want();
  engine->StepForTest();
  EXPECT_GT(CountOf(*engine, KeyState::kReserved), 1'000U);
  for (int i = 0; i < 4; ++i) Later(*engine);
  EXPECT_LE(CountOf(*engine, KeyState::kReserved), 200U) << "what this one took";
}

TEST_F(PoolUpkeepTest, AFailureInBetweenIsMadeUpFor) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Recycling(), 50);
  const auto first = Get(*engine, keyspace, 1);
  EXPECT_EQ(engine->ReleaseKey("k", first[0], 0)->verdict, ReleaseVerdict::kReleased);
  faults_->change_keys.push_back({{Code::kUnknownOutcome, "lost"}});
  faults_->change_keys.push_back({{Code::kUnavailable, "away"}});
  faults_->count_keys.push_back({{Code::kUnavailable, "too many to count"}});
  Tidy(*engine, seconds(2'000));
  for (int i = 0; i < 3; ++i) Tidy(*engine, seconds(31));
  EXPECT_NE(RowOf(*engine, first[0]).state, KeyState::kReleased);
}

TEST_F(PoolUpkeepTest, APoolThatRunsLowIsFilledToTwiceTheThreshold) {
  const auto engine = StartShared(PoolOptionsOf(100, 500));
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch));
  EXPECT_EQ(Get(*engine, keyspace, 10).size(), 10U) << "out of nothing";
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable) + CountOf(*engine, KeyState::kUsed), 1'000U);
  EXPECT_EQ(Get(*engine, keyspace, 5'000).size(), 5'000U);
  Later(*engine);
  EXPECT_GE(CountOf(*engine, KeyState::kAvailable), 500U);
  EXPECT_LE(CountOf(*engine, KeyState::kAvailable), 1'000U);
}

// Others take, too, and what is left is counted now and then.
TEST_F(PoolUpkeepTest, NoticesThatOthersHaveEmptiedIt) {
  EngineOptions options = PoolOptionsOf(10, 500);
  const auto engine = StartShared(options);
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 2'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  EXPECT_GT(keyspace.stats().available, 1'900U);
  const auto other = StartShared(PoolOptionsOf(1'900));
  EXPECT_GT(Get(*other, **other->Lookup("k"), 1'900).size(), 1'500U);
  faults_->add_calls = 0;
  engine->StepForTest();
  EXPECT_EQ(faults_->add_calls, 0);
  Tidy(*engine, seconds(30));
  EXPECT_GT(faults_->add_calls, 0);
  EXPECT_GE(CountOf(*engine, KeyState::kAvailable), 1'000U);
}

TEST_F(PoolUpkeepTest, AnotherOnesPoolThatIsLargeEnoughIsLeftAlone) {
  const auto engine = StartShared(PoolOptionsOf(10, 500));
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 700);
  faults_->add_calls = 0;
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  EXPECT_EQ(faults_->add_calls, 0);
}

TEST_F(PoolUpkeepTest, EndsWhenNearlyEveryKeyIsThere) {
  const auto engine = StartShared(PoolOptionsOf(10, 1'000));
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch, "decimal", 2));
  const auto keys = Get(*engine, keyspace, 200);
  EXPECT_GT(keys.size(), 50U);
  EXPECT_LE(keys.size(), 100U);
  EXPECT_EQ(SetOf(keys).size(), keys.size());
  EXPECT_EQ(keyspace.Verdict().code(), Code::kExhausted);
  EXPECT_THAT(keyspace.Verdict().message(), HasSubstr("longer keys"));
  // Not tried again before the next tidying.
  faults_->add_calls = 0;
  Later(*engine, engine->options().audit_interval);
  EXPECT_EQ(faults_->add_calls, 0);
  Tidy(*engine, seconds(31));
  EXPECT_GT(faults_->add_calls, 0);
}

// What an interrupted top-up has added is counted, and not added again and again.
TEST_F(PoolUpkeepTest, AnUnknownOutcomeDoesNotMakeThePoolGrow) {
  const auto engine = StartShared(PoolOptionsOf(10, 500));
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch));
  keyspace.Want();
  for (int i = 0; i < 3; ++i) {
    faults_->add_keys.push_back({{Code::kUnknownOutcome, "lost"}, Faults::When::kAfter});
  }
  for (int i = 0; i < 5; ++i) Later(*engine);
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable) + CountOf(*engine, KeyState::kUsed), 1'000U);
}

TEST_F(PoolUpkeepTest, OneShotProcessesFillOnlyWhenSomebodyWaitsInVain) {
  EngineOptions options = PoolOptionsOf(100, 500);
  options.refill.ahead_of_need = false;
  const auto engine = StartShared(options);
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey));
  keyspace.Want();
  engine->StepForTest();
  EXPECT_EQ(faults_->add_calls, 0);
  EXPECT_EQ(Get(*engine, keyspace, 2).size(), 2U);
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable), 998U);
  EXPECT_EQ(CountOf(*engine, KeyState::kReserved), 0U);
}

}  // namespace
}  // namespace keymill::mint
