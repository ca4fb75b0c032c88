// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/retries.h"

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class RetriesTest : public EngineTestBase {
 protected:
  Result<std::string> MintOnce(Engine& engine, std::string_view retry, std::uint64_t count) {
    Keyspace& keyspace = **engine.Lookup("k");
    engine.WarmUp(keyspace);
    return engine.MintOnce(keyspace, retry, count, clock_.Monotonic());
  }
};

TEST_F(RetriesTest, GivesTheSameKeysAgain) {
  const auto engine = StartMemory();
  Create(*engine, Orders());
  const auto first = MintOnce(*engine, "a", 3);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(*first, "1\n2\n3\n");
  EXPECT_EQ(*MintOnce(*engine, "a", 3), *first);
  EXPECT_EQ(*MintOnce(*engine, "b", 3), "4\n5\n6\n");
  EXPECT_EQ(*MintOnce(*engine, "a", 3), *first);
}

TEST_F(RetriesTest, GivesThemOnAnotherInstanceAndAfterARestart) {
  {
    const auto engine = StartSqlite();
    Create(*engine, Orders());
    ASSERT_EQ(*MintOnce(*engine, "a", 2), "1\n2\n");
  }
  const auto engine = StartSqlite();
  EXPECT_EQ(*MintOnce(*engine, "a", 2), "1\n2\n");
}

TEST_F(RetriesTest, RefusesANameThatMeansAnotherRequest) {
  const auto engine = StartMemory();
  Create(*engine, Orders());
  ASSERT_TRUE(MintOnce(*engine, "a", 3).ok());
  const auto other = MintOnce(*engine, "a", 4);
  EXPECT_EQ(other.code(), Code::kAlreadyExists);
  EXPECT_THAT(other.status().message(), HasSubstr("for 3 keys, not 4"));
}

// A day that is promised, and one more by which clocks may differ.
TEST_F(RetriesTest, ForgetsAfterTwoDays) {
  const auto engine = StartMemory();
  Create(*engine, Orders());
  ASSERT_EQ(*MintOnce(*engine, "a", 1), "1\n");
  clock_.StepWall(kRetriesFor + kRetriesMargin - std::chrono::milliseconds(1));
  EXPECT_EQ(*MintOnce(*engine, "a", 1), "1\n");
  clock_.StepWall(std::chrono::milliseconds(1));
  EXPECT_EQ(*MintOnce(*engine, "a", 1), "2\n");
  EXPECT_EQ(*MintOnce(*engine, "a", 1), "2\n");
}

// They are gone from the keyspace, and nobody else gets them.
TEST_F(RetriesTest, GivesTheLastKeysThoughTheyAreFewer) {
  const auto engine = StartMemory();
  Create(*engine, Orders(1, 1));
  std::atomic<bool> done{false};
  std::thread refiller([&] {
    while (!done) engine->StepForTest();  // One number at a time, and then that there are no more.
  });
  const auto mint = [&](std::string_view retry, std::uint64_t count) {
    Keyspace& keyspace = **engine->Lookup("k");
    const auto minted = engine->MintOnce(keyspace, retry, count, MonotonicTime::max());
    return minted.ok() ? *minted : minted.status().message();
  };
  EXPECT_EQ(mint("a", 4), "1\n2\n3\n4\n");
  EXPECT_EQ(mint("b", 10), "5\n6\n7\n8\n9\n");
  EXPECT_EQ(mint("b", 10), "5\n6\n7\n8\n9\n");
  EXPECT_THAT(mint("c", 1), HasSubstr("exhausted"));
  done = true;
  refiller.join();
}

// Years ahead, it would take every answer for forgotten and make others for the same requests.
TEST_F(RetriesTest, AWrongClockForgetsNothing) {
  faults_->store_now_ms = clock_.WallMs();
  const auto engine = StartFaulty(Options());
  Create(*engine, Orders());
  ASSERT_EQ(*MintOnce(*engine, "a", 1), "1\n");
  for (const auto off : {std::chrono::hours(87'600), -std::chrono::hours(87'600)}) {
    clock_.StepWall(off);
    EXPECT_EQ(*MintOnce(*engine, "a", 1), "1\n");
    ASSERT_TRUE(MintOnce(*engine, "b", 1).ok());
    clock_.StepWall(-off);
  }
  EXPECT_EQ(*MintOnce(*engine, "b", 1), "2\n");
}

TEST_F(RetriesTest, RemovesWhatIsTooOld) {
  const auto engine = StartMemory();
  Create(*engine, Orders());
  const auto notes = [&] {
    return engine->CountKeys("k")->at(static_cast<std::size_t>(KeyState::kNote));
  };
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(MintOnce(*engine, std::to_string(i), 1).ok());
  EXPECT_EQ(notes(), 100U);
  clock_.StepWall(kRetriesFor + kRetriesMargin);
  // Two go for each that comes, on the average: fewer than 100 for 400 is out of the question.
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(MintOnce(*engine, "n" + std::to_string(i), 1).ok());
  EXPECT_EQ(notes(), 400U);
}

TEST_F(RetriesTest, RefusesNamesAndCountsThatCannotBe) {
  const auto engine = StartMemory();
  Create(*engine, Orders());
  EXPECT_EQ(MintOnce(*engine, "", 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(MintOnce(*engine, std::string(256, 'x'), 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(MintOnce(*engine, "a\nb", 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(MintOnce(*engine, "a", kRetryKeysMax + 1).code(), Code::kInvalidArgument);
  EXPECT_TRUE(MintOnce(*engine, std::string(255, 'x'), 1).ok());
}

// The key of the first answer may have another owner when the request is repeated.
TEST_F(RetriesTest, RefusesKeysThatAreRecycled) {
  const auto engine = StartMemory();
  Recipe recipe = DefaultRecipe(Kind::kPool);
  ASSERT_TRUE(engine->Create("k", recipe).ok());
  ASSERT_TRUE(engine->FillPool("k", 10, {}).ok());
  EXPECT_TRUE(MintOnce(*engine, "a", 1).ok());
  recipe.recycle = true;
  ASSERT_TRUE(engine->Create("again", recipe).ok());
  ASSERT_TRUE(engine->FillPool("again", 10, {}).ok());
  engine->WarmUp(**engine->Lookup("again"));
  const auto refused = engine->MintOnce(**engine->Lookup("again"), "a", 1, clock_.Monotonic());
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("Ask without it"));
  EXPECT_EQ(engine->CountKeys("again")->at(static_cast<std::size_t>(KeyState::kNote)), 0U);
}

TEST_F(RetriesTest, GivesAllWhoAskAtOnceTheSame) {
  constexpr std::size_t kThreads = 8;
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < 2; ++i) {
    engines.push_back(StartSqlite(1'000));
    Create(*engines.back(), Orders());
    engines.back()->WarmUp(**engines.back()->Lookup("k"));
  }
  std::set<std::string> distinct;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> answers(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        Engine& engine = *engines[i % 2];
        const auto keys =
            engine.MintOnce(**engine.Lookup("k"), std::to_string(round), 2, clock_.Monotonic());
        EXPECT_TRUE(keys.ok()) << keys.status().message();
        if (keys.ok()) answers[i] = *keys;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::string& answer : answers) EXPECT_EQ(answer, answers[0]);
    distinct.insert(answers[0]);
  }
  EXPECT_EQ(distinct.size(), 20U);
}

}  // namespace
}  // namespace keymill::mint
