// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Numbers in a row, and numbers below a bound: what INCRBY rests on.

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mint/counter_keyspace.h"
#include "mint/engine.h"
#include "mint/engine_test_support.h"
#include "mint/reservoir.h"

namespace keymill::mint {
namespace {

constexpr std::uint64_t kNoLast = Reservoir::kNoLast;

TEST(NumberRunsTest, ABoundEndsWhatIsTaken) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(100, 50));
  EXPECT_EQ(reservoir.Take(10, 104).count, 5U);
  const Reservoir::Run none = reservoir.Take(10, 104);
  EXPECT_EQ(none.count, 0U);
  EXPECT_TRUE(none.beyond);
  EXPECT_EQ(reservoir.taken(), 5U) << "nothing is consumed by a refusal";
  EXPECT_EQ(reservoir.Take(1, kNoLast).first, 105U);
  EXPECT_FALSE(Reservoir().Take(1, 0).beyond) << "an empty one says nothing of bounds";
}

TEST(NumberRunsTest, TheFirstNumberCanBeTheLast) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(0, 2));
  EXPECT_EQ(reservoir.Take(5).count, 2U);
}

TEST(NumberRunsTest, ARunIsWholeOrNothing) {
  Reservoir reservoir;
  std::uint64_t passed = 0;
  EXPECT_EQ(reservoir.TakeRun(1, kNoLast, passed).count, 0U);
  ASSERT_TRUE(reservoir.Add(100, 5));
  EXPECT_FALSE(reservoir.HasRun(6));
  EXPECT_EQ(reservoir.TakeRun(6, kNoLast, passed).count, 0U);
  EXPECT_EQ(reservoir.taken(), 0U);
  ASSERT_TRUE(reservoir.HasRun(5));
  const Reservoir::Run run = reservoir.TakeRun(5, kNoLast, passed);
  EXPECT_EQ(run.first, 100U);
  EXPECT_EQ(run.count, 5U);
  EXPECT_EQ(passed, 0U);
}

TEST(NumberRunsTest, WhatIsTooShortIsPassedOver) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(100, 3));
  ASSERT_TRUE(reservoir.Add(200, 4));
  ASSERT_TRUE(reservoir.Add(300, 10));
  ASSERT_EQ(reservoir.Take(1).first, 100U);
  std::uint64_t passed = 0;
  const Reservoir::Run run = reservoir.TakeRun(6, kNoLast, passed);
  EXPECT_EQ(run.first, 300U);
  EXPECT_EQ(passed, 6U);
  EXPECT_EQ(reservoir.Take(10).first, 306U) << "nobody gets what was passed over";
}

TEST(NumberRunsTest, ARunBeyondTheBoundConsumesNothing) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(100, 3));
  ASSERT_TRUE(reservoir.Add(200, 10));
  std::uint64_t passed = 0;
  EXPECT_TRUE(reservoir.TakeRun(5, 203, passed).beyond);
  EXPECT_EQ(reservoir.taken(), 0U);
  EXPECT_EQ(reservoir.TakeRun(5, 204, passed).first, 200U);
}

TEST(NumberRunsTest, ASealedOneGivesNoRun) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(1, 10));
  reservoir.Seal();
  std::uint64_t passed = 0;
  EXPECT_EQ(reservoir.TakeRun(1, kNoLast, passed).count, 0U);
  EXPECT_FALSE(reservoir.HasRun(1));
}

// Runs, single numbers and new segments at once: nobody gets what somebody else has.
TEST(NumberRunsTest, RacingTakersShareNothing) {
  constexpr int kTakers = 3;
  constexpr std::size_t kSingles = 2000;
  Reservoir reservoir;
  std::atomic<bool> done{false};
  std::vector<std::vector<std::uint64_t>> got(kTakers);
  std::vector<std::thread> takers;
  for (int i = 0; i < kTakers; ++i) {
    takers.emplace_back([&, i] {
      while (!done || reservoir.HasRun(3)) {
        if (i == 0 && got[0].size() >= kSingles) return;  // The others are to get some, too.
        std::uint64_t passed = 0;
        const Reservoir::Run run =
            i == 0 ? reservoir.Take(1) : reservoir.TakeRun(3, kNoLast, passed);
        for (std::uint64_t n = 0; n < run.count; ++n) {
          got[static_cast<std::size_t>(i)].push_back(run.first + n);
        }
        if (run.count == 0) std::this_thread::yield();
      }
    });
  }
  for (std::uint64_t first = 0, added = 0; added < 5000; first += 10) {
    if (reservoir.Add(first, 1 + first / 10 % 7)) {
      ++added;
    } else {
      std::this_thread::yield();
    }
  }
  done = true;
  for (std::thread& taker : takers) taker.join();
  std::set<std::uint64_t> all;
  std::size_t count = 0;
  for (const auto& numbers : got) {
    all.insert(numbers.begin(), numbers.end());
    count += numbers.size();
  }
  EXPECT_EQ(all.size(), count);
  EXPECT_GT(got[1].size() + got[2].size(), 0U);
}

class SequenceRunsTest : public testing::Test {
 protected:
  // `orders`, of which every step is made by the test.
  CounterKeyspace& Open(Recipe recipe = DefaultRecipe(Kind::kSequence),
                        std::uint32_t block_size = 10) {
    EngineOptions options;
    options.background = false;
    options.refill.block_size = block_size;
    options.refill.grow = false;
    auto opened = Engine::Open(options, store::OpenMemoryStore(clock_), nullptr, clock_);
    EXPECT_TRUE(opened.ok());
    engine_ = *std::move(opened);
    Result<Engine::Created> created = engine_->Create("orders", recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return *AsPlainSequence(*created->keyspace);
  }

  FakeClock clock_;
  std::unique_ptr<Engine> engine_;
};

// However small blocks are: a run comes from the store in one piece.
TEST_F(SequenceRunsTest, ARunThatIsLargerThanABlockIsAskedForByItself) {
  CounterKeyspace& orders = Open();
  engine_->WarmUp(orders);
  engine_->StepForTest();
  ASSERT_EQ(orders.Take(1).first, 1U);
  EXPECT_EQ(orders.TakeRun(500, kNoLast).count, 0U);
  bool woken = false;
  const Result<std::uint64_t> waiter = orders.AwaitRun(500, [&] { woken = true; });
  ASSERT_TRUE(waiter.ok());
  EXPECT_NE(*waiter, 0U) << "that there are numbers is not enough";
  engine_->StepForTest();
  EXPECT_TRUE(woken);
  const Reservoir::Run run = orders.TakeRun(500, kNoLast);
  EXPECT_EQ(run.count, 500U);
  EXPECT_GT(run.first, 1U);
  EXPECT_GT(orders.Take(1).first, run.first + 499) << "O1: numbers only grow";
}

TEST_F(SequenceRunsTest, ARunThatIsNotLeftIsExhausted) {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "decimal";
  recipe.length = 2;
  CounterKeyspace& orders = Open(recipe);
  EXPECT_EQ(orders.AwaitRun(1000, [] {}).code(), Code::kExhausted);
  EXPECT_EQ(orders.stats().issued, 0U);
}

TEST_F(SequenceRunsTest, NumbersThatWerePassedOverAreNoKeys) {
  CounterKeyspace& orders = Open();
  ASSERT_TRUE(orders.AddBlock({"a", 10, 3, {1, 13}}, {}));
  ASSERT_TRUE(orders.AddBlock({"b", 20, 5, {2, 25}}, {}));
  ASSERT_EQ(orders.TakeRun(5, kNoLast).first, 20U);
  EXPECT_EQ(orders.stats().issued, 8U);
  EXPECT_EQ(orders.stats().keys, 5U);
}

TEST_F(SequenceRunsTest, OnlyPlainSequencesHaveNumbers) {
  Open();
  Recipe blocked = DefaultRecipe(Kind::kSequence);
  blocked.blocklist = {"bad"};
  EXPECT_EQ(AsPlainSequence(*engine_->Create("blocked", blocked)->keyspace), nullptr);
  EXPECT_EQ(AsPlainSequence(*engine_->Create("mixed", DefaultRecipe(Kind::kShuffled))->keyspace),
            nullptr);
}

}  // namespace
}  // namespace keymill::mint
