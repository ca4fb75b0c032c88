// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Pools in which each key is marked as used before it leaves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/pool_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class PoolAuditTest : public PoolTestBase {
 protected:
  static inline const Status kUnknown{Code::kUnknownOutcome, "lost"};

  // Changes that marked keys as used.
  std::vector<KeyChange> Marks() const {
    std::vector<KeyChange> marks = faults_->changes;
    std::erase_if(marks, [](const KeyChange& each) { return each.to != KeyState::kUsed; });
    return marks;
  }
};

TEST_F(PoolAuditTest, AKeyIsMarkedBeforeItLeavesAndNoOtherIs) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 1'000);
  keyspace.Want();
  engine->StepForTest();
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 0U);
  EXPECT_GT(CountOf(*engine, KeyState::kReserved), 0U);
  EXPECT_EQ(keyspace.stats().ahead, 0U) << "none can leave without the store";
  EXPECT_TRUE(TakeNow(keyspace, 1).empty());
  const auto keys = Get(*engine, keyspace, 3);
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 3U);
  for (const auto& key : keys) {
    EXPECT_EQ(RowOf(*engine, key).state, KeyState::kUsed);
    EXPECT_EQ(RowOf(*engine, key).instance, engine->instance());
    EXPECT_EQ(RowOf(*engine, key).since_ms, clock_.WallMs());
  }
}

TEST_F(PoolAuditTest, EverybodyWhoWaitsIsInOneTransaction) {
  constexpr std::uint32_t kWaiters = 64;
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 20'000);
  keyspace.Want();
  engine->StepForTest();
  std::uint32_t woken = 0;
  for (std::uint32_t i = 0; i < kWaiters; ++i) {
    EXPECT_NE(*keyspace.Await(1, [&] { ++woken; }), 0U);
  }
  engine->StepForTest();
  EXPECT_EQ(woken, kWaiters);
  ASSERT_EQ(Marks().size(), 1U);
  EXPECT_EQ(Marks()[0].match.keys.size(), kWaiters);
  EXPECT_EQ(SetOf(TakeNow(keyspace, kWaiters + 1)).size(), kWaiters);
}

// Who comes while a transaction runs is in the next one, in the same turn, and wakes nobody early.
TEST_F(PoolAuditTest, WhoComesMeanwhileIsInTheNextOne) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 20'000);
  keyspace.Want();
  engine->StepForTest();
  std::vector<int> woken;
  EXPECT_NE(*keyspace.Await(2, [&] { woken.push_back(1); }), 0U);
  faults_->before_change = [&, first = true]() mutable {
    if (!std::exchange(first, false)) return;
    EXPECT_NE(*keyspace.Await(3, [&] { woken.push_back(2); }), 0U);
    EXPECT_TRUE(woken.empty());
  };
  engine->StepForTest();
  ASSERT_EQ(Marks().size(), 2U);
  EXPECT_EQ(Marks()[0].match.keys.size(), 2U);
  EXPECT_EQ(Marks()[1].match.keys.size(), 3U);
  EXPECT_EQ(woken, (std::vector<int>{1, 2}));
  EXPECT_EQ(TakeNow(keyspace, 10).size(), 5U);
}

TEST_F(PoolAuditTest, GroupsCanBeAsSmallAsOne) {
  EngineOptions options = PoolOptionsOf();
  options.pool.group_max = 1;
  const auto engine = StartShared(options);
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 1'000);
  EXPECT_EQ(SetOf(Get(*engine, keyspace, 5)).size(), 5U);
  EXPECT_EQ(Marks().size(), 5U);
  for (const KeyChange& mark : Marks()) EXPECT_EQ(mark.match.keys.size(), 1U);
}

TEST_F(PoolAuditTest, ACleanStopGivesBackWhatIsReserved) {
  auto engine = StartShared();
  EXPECT_EQ(Get(*engine, MakePool(*engine, Pool(Audit::kKey), 1'000), 7).size(), 7U);
  const std::uint64_t reserved = CountOf(*engine, KeyState::kReserved);
  EXPECT_GT(reserved, 0U);
  EXPECT_EQ(engine->Close(), reserved);
  engine = StartShared();
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable), 993U);
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 7U);
}

// Whoever waited may be gone by now; the key that was marked for him is for the next one.
TEST_F(PoolAuditTest, AKeyThatWasMarkedForSomebodyWhoLeftIsNotLost) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 1'000);
  EXPECT_NE(*keyspace.Await(1, [] {}), 0U);
  engine->StepForTest();
  EXPECT_EQ(keyspace.stats().ahead, 1U);
  EXPECT_EQ(TakeNow(keyspace, 1).size(), 1U);
  EXPECT_NE(*keyspace.Await(1, [] {}), 0U);
  engine->StepForTest();
  const std::uint64_t reserved = CountOf(*engine, KeyState::kReserved);
  EXPECT_EQ(engine->Close(), reserved + 1) << "or goes back";
}

TEST_F(PoolAuditTest, AfterACrashTheReservedOnesComeBackAndTheUsedOnesDoNot) {
  EngineOptions options = PoolOptionsOf();
  auto engine = StartShared(options);
  const auto got = Get(*engine, MakePool(*engine, Pool(Audit::kKey), 100), 5);
  ASSERT_EQ(got.size(), 5U);
  Kill(*engine);
  engine = StartShared(options);
  Keyspace& keyspace = **engine->Lookup("k");
  const auto some = Get(*engine, keyspace, 100);
  EXPECT_LT(some.size(), 95U) << "the others may still be somebody's";
  clock_.Advance(options.pool.reclaim_after + options.pool.tidy_interval);
  engine->StepForTest();
  auto all = Get(*engine, keyspace, 100);
  all.insert(all.end(), some.begin(), some.end());
  all.insert(all.end(), got.begin(), got.end());
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(SetOf(all).size(), 100U);
}

// The token fences: one that was believed dead lives, and still has them in memory.
TEST_F(PoolAuditTest, WhatWasReclaimedDoesNotLeaveWithItsOldHolder) {
  EngineOptions options = PoolOptionsOf();
  const auto frozen = StartShared(options);
  Keyspace& of_frozen = MakePool(*frozen, Pool(Audit::kKey), 60);
  auto all = Get(*frozen, of_frozen, 2);
  EXPECT_GT(CountOf(*frozen, KeyState::kReserved), 0U);
  clock_.Advance(options.pool.reclaim_after + std::chrono::seconds(1));
  const auto other = StartShared(options);
  Keyspace& of_other = **other->Lookup("k");
  of_other.Want();
  other->StepForTest();
  clock_.Advance(options.pool.tidy_interval);
  const auto others = Get(*other, of_other, 58);
  EXPECT_EQ(others.size(), 58U);
  const auto late = Get(*frozen, of_frozen, 60);
  EXPECT_TRUE(late.empty()) << late.front();
  all.insert(all.end(), others.begin(), others.end());
  EXPECT_EQ(SetOf(all).size(), 60U);
}

// What an idle instance has reserved is reclaimed, by itself as well; its next request must not
// wait until it has tried every one of them.
TEST_F(PoolAuditTest, AfterALongRestTheNextKeyTakesNoLongerThanTheFirst) {
  EngineOptions options = PoolOptionsOf(1'000);
  const auto engine = StartShared(options);
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 20'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  EXPECT_GT(CountOf(*engine, KeyState::kReserved), 500U);
  Later(*engine, options.pool.reclaim_after + options.pool.tidy_interval);
  for (int i = 0; i < 20; ++i) Later(*engine, options.pool.tidy_interval);
  faults_->changes.clear();
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  EXPECT_LE(Marks().size(), 2U);
}

TEST_F(PoolAuditTest, OfAMarkWithoutAnAnswerNothingLeaves) {
  for (const auto when : {Faults::When::kBefore, Faults::When::kAfter}) {
    memory_ = store::OpenMemoryStore(clock_);
    const auto engine = StartShared();
    Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 20'000);
    keyspace.Want();
    engine->StepForTest();
    faults_->change_keys.push_back({kUnknown, when});
    faults_->changes.clear();
    EXPECT_TRUE(Get(*engine, keyspace, 4).empty());
    ASSERT_EQ(faults_->changes.size(), 1U);
    const auto lost = SetOf(faults_->changes[0].match.keys);
    EXPECT_EQ(lost.size(), 4U);
    clock_.Advance(std::chrono::milliseconds(100));
    const auto got = Get(*engine, keyspace, 500);
    EXPECT_EQ(got.size(), 500U);
    for (const auto& key : got) EXPECT_FALSE(lost.contains(key));
    // Those that may be used or not are not given back.
    engine->Close();
    const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
    for (const auto& key : lost) {
      const auto row = *memory_->key_table()->FindKey(record.id, key, clock_.Monotonic());
      EXPECT_EQ(row->state, when == Faults::When::kAfter ? KeyState::kUsed : KeyState::kReserved);
    }
  }
}

TEST_F(PoolAuditTest, AMarkThatNeverHappenedIsMadeAgain) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 20'000);
  keyspace.Want();
  engine->StepForTest();
  faults_->change_keys.push_back({{Code::kUnavailable, "away"}});
  faults_->changes.clear();
  EXPECT_TRUE(Get(*engine, keyspace, 4).empty());
  clock_.Advance(std::chrono::milliseconds(100));
  const auto got = Get(*engine, keyspace, 4);
  ASSERT_EQ(Marks().size(), 2U);
  EXPECT_EQ(SetOf(got), SetOf(Marks()[0].match.keys)) << "they were not lost";
}

// W1: the same for keys that were marked.
TEST_F(PoolAuditTest, MarkedKeysStayUntilTheWitnessKnowsOfThem) {
  const auto engine = StartFaulty(PoolOptionsOf(), OpenWitness());
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 20'000);
  keyspace.Want();
  engine->StepForTest();
  std::filesystem::create_directory(data_dir() / "witness.new");  // Nobody can write there.
  EXPECT_NE(*keyspace.Await(5, [] {}), 0U);
  for (int i = 0; i < 3; ++i) Later(*engine);
  EXPECT_TRUE(TakeNow(keyspace, 5).empty());
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 5U) << "not others each time";
  std::filesystem::remove(data_dir() / "witness.new");
  Later(*engine);
  EXPECT_EQ(TakeNow(keyspace, 6).size(), 5U);
}

TEST_F(PoolAuditTest, WhatATakeWithoutAnAnswerReservedIsReclaimed) {
  EngineOptions options = PoolOptionsOf();
  const auto engine = StartShared(options);
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 60);
  keyspace.Want();
  faults_->take_keys.push_back({kUnknown, Faults::When::kAfter});
  engine->StepForTest();
  const std::uint64_t lost = CountOf(*engine, KeyState::kReserved);
  EXPECT_GT(lost, 0U);
  clock_.Advance(std::chrono::milliseconds(100));
  auto got = Get(*engine, keyspace, 60);
  EXPECT_EQ(got.size(), 60 - lost);
  clock_.Advance(options.pool.reclaim_after + options.pool.tidy_interval);
  engine->StepForTest();
  const auto rest = Get(*engine, keyspace, 60);
  EXPECT_EQ(rest.size(), lost);
  got.insert(got.end(), rest.begin(), rest.end());
  EXPECT_EQ(SetOf(got).size(), 60U);
}

TEST_F(PoolAuditTest, TheLifeOfAKeyBeginsWhenItLeaves) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kKey);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  keyspace.Want();
  engine->StepForTest();
  clock_.Advance(std::chrono::minutes(5));
  const auto got = Get(*engine, keyspace, 1);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(RowOf(*engine, got[0]).expires_at_ms, clock_.WallMs() + 60'000);
}

TEST_F(PoolAuditTest, AnEmptyPoolSaysSo) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey), 3);
  EXPECT_EQ(Get(*engine, keyspace, 5).size(), 3U);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kExhausted);
  EXPECT_THAT(keyspace.Verdict().message(), HasSubstr("pool fill"));
}

}  // namespace
}  // namespace keymill::mint
