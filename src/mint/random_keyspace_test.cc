// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/random_keyspace.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

constexpr std::array<Kind, 3> kAll = {Kind::kUuid4, Kind::kUuid7, Kind::kUlid};

class RandomKeyspaceTest : public EngineTestBase {
 protected:
  static Keyspace& Make(Engine& engine, Kind kind, std::string prefix = "",
                        std::string_view name = "k") {
    Recipe recipe = DefaultRecipe(kind);
    recipe.prefix = std::move(prefix);
    auto created = engine.Create(name, recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    return *created->keyspace;
  }

  // As many as TakeKeys gives at once.
  static std::vector<std::string> Take(Keyspace& keyspace, std::uint32_t count) {
    std::string out(count * (keyspace.key_size_max() + 1), '\0');
    const keys::Written written = keyspace.TakeKeys(count, "\n", out.data());
    std::vector<std::string> keys;
    std::istringstream in(out.substr(0, written.bytes));
    for (std::string line; std::getline(in, line);) keys.push_back(line);
    EXPECT_EQ(keys.size(), written.keys);
    return keys;
  }
};

TEST_F(RandomKeyspaceTest, GivesKeysOfItsKindWithTheirPrefix) {
  for (const Kind kind : kAll) {
    const auto engine = StartMemory();
    Keyspace& keyspace = Make(*engine, kind, "ord_");
    const std::vector<std::string> keys = Take(keyspace, 1000);  // Several batches.
    ASSERT_EQ(keys.size(), 1000U);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1000U);
    for (const std::string& key : keys) {
      ASSERT_EQ(key.size(), keyspace.key_size_max());
      ASSERT_EQ(key.substr(0, 4), "ord_");
      const std::string body = key.substr(4);
      if (kind == Kind::kUlid) {
        ASSERT_EQ(keys::ParseUlid(body)->time_ms(), clock_.WallMs());
      } else {
        ASSERT_EQ(keys::VersionOf(*keys::ParseUuid(body)), kind == Kind::kUuid4 ? 4U : 7U);
        ASSERT_EQ(keys::VariantOf(*keys::ParseUuid(body)), keys::UuidVariant::kRfc9562);
      }
    }
    EXPECT_EQ(keyspace.stats().keys, 1000U);
    EXPECT_EQ(keyspace.stats().ahead, 0U);
    EXPECT_TRUE(keyspace.stats().endless);
  }
}

// Whoever sees an answer before it asks gets larger keys, in whichever thread.
TEST_F(RandomKeyspaceTest, KeysGrowAcrossThreads) {
  for (const Kind kind : {Kind::kUuid7, Kind::kUlid}) {
    const auto engine = StartMemory();
    Keyspace& keyspace = Make(*engine, kind);
    Mutex mu;
    std::string last;  // The largest that anybody has seen.
    std::vector<std::vector<std::string>> got(4);
    std::vector<std::thread> threads;
    for (std::vector<std::string>& mine : got) {
      threads.emplace_back([&] {
        for (std::uint32_t i = 0; i < 2000; ++i) {
          std::string before;
          {
            const MutexLock lock(mu);
            before = last;
          }
          const std::vector<std::string> keys = Take(keyspace, 1 + i % 70);
          ASSERT_GT(keys.front(), before);
          ASSERT_TRUE(std::is_sorted(keys.begin(), keys.end()));
          mine.insert(mine.end(), keys.begin(), keys.end());
          const MutexLock lock(mu);
          last = std::max(last, keys.back());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<std::string> all;
    for (const auto& mine : got) all.insert(all.end(), mine.begin(), mine.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  }
}

TEST_F(RandomKeyspaceTest, KeysGrowThoughTheClockGoesBack) {
  for (const Kind kind : {Kind::kUuid7, Kind::kUlid}) {
    const auto engine = StartMemory();
    Keyspace& keyspace = Make(*engine, kind);
    std::string last = Take(keyspace, 1).front();
    for (const std::int64_t step_ms : {-1, -5, -128, 1, -1000, -3'600'000, -86'400'000, 40}) {
      clock_.StepWall(std::chrono::milliseconds(step_ms));
      const std::string next = Take(keyspace, 1).front();
      EXPECT_GT(next, last) << step_ms;
      last = next;
    }
  }
}

TEST_F(RandomKeyspaceTest, TimeEndsAfter48BitsAndAWrongClockIsForgiven) {
  for (const Kind kind : {Kind::kUuid7, Kind::kUlid}) {
    const auto engine = StartMemory();
    Keyspace& keyspace = Make(*engine, kind);
    const std::chrono::milliseconds leap(keys::kUuidTimeEndMs - clock_.WallMs());
    clock_.StepWall(leap);
    EXPECT_TRUE(Take(keyspace, 3).empty());
    EXPECT_EQ(keyspace.Verdict().code(), Code::kExhausted);
    EXPECT_FALSE(keyspace.stats().endless);
    clock_.StepWall(-leap);
    clock_.Advance(engine->options().audit_interval);
    engine->StepForTest();
    EXPECT_TRUE(keyspace.Verdict().ok());
    EXPECT_EQ(Take(keyspace, 3).size(), 3U);
  }
}

TEST_F(RandomKeyspaceTest, AClockBefore1970CountsAs1970) {
  const auto engine = StartMemory();
  Keyspace& keyspace = Make(*engine, Kind::kUlid);
  clock_.StepWall(std::chrono::milliseconds(-clock_.WallMs() - 1000));
  EXPECT_EQ(keys::ParseUlid(Take(keyspace, 1).front())->time_ms(), 0);
}

// F1
TEST_F(RandomKeyspaceTest, AForkedChildGetsNone) {
  const auto engine = StartMemory();
  for (const Kind kind : kAll) {
    Keyspace& keyspace = Make(*engine, kind, "", KindName(kind));
    EXPECT_EQ(Take(keyspace, 1).size(), 1U);
    const pid_t child = fork();
    if (child == 0) {
      std::array<char, 64> out{};
      const bool none = keyspace.TakeKeys(1, "", out.data()).keys == 0;
      _exit(none && keyspace.Verdict().code() == Code::kFailedPrecondition ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(Take(keyspace, 1).size(), 1U);
  }
}

TEST_F(RandomKeyspaceTest, GoesOnWithoutTheStore) {
  const auto engine = StartFaulty(Options());
  Keyspace& keyspace = Make(*engine, Kind::kUuid7);
  keyspace.Want();
  const int calls = faults_->reserve_calls;
  for (int i = 0; i < 5; ++i) {
    faults_->list.push_back({Status(Code::kUnavailable, "away")});
    faults_->find.push_back({Status(Code::kUnavailable, "away")});
    faults_->identity.push_back({Status(Code::kUnavailable, "away")});
    clock_.Advance(engine->options().audit_interval);
    engine->StepForTest();
    EXPECT_EQ(Mint(*engine, keyspace, 100).size(), 100U);
  }
  EXPECT_FALSE(engine->store_up());
  EXPECT_TRUE(engine->Ready().ok());
  EXPECT_EQ(faults_->reserve_calls, calls);
}

TEST_F(RandomKeyspaceTest, RetiredOrClosedItGivesNothing) {
  for (const Kind kind : kAll) {
    const auto engine = StartMemory();
    Keyspace& retired = Make(*engine, kind);
    ASSERT_TRUE(engine->Retire("k").ok());
    EXPECT_TRUE(Take(retired, 1).empty());
    EXPECT_THAT(retired.Verdict().message(), HasSubstr("retired"));
    Keyspace& closed = Make(*engine, kind, "", "c");
    engine->Close();
    EXPECT_TRUE(Take(closed, 1).empty());
    EXPECT_EQ(closed.Verdict().code(), Code::kUnavailable);
  }
}

TEST_F(RandomKeyspaceTest, AQuarantineElsewhereStopsIt) {
  const auto engine = StartFaulty(Options());
  Keyspace& keyspace = Make(*engine, Kind::kUuid4);
  ASSERT_TRUE(memory_->Quarantine(keyspace.id(), "somebody says so", {}, clock_.Monotonic()).ok());
  clock_.Advance(engine->options().audit_interval);
  engine->StepForTest();
  EXPECT_TRUE(Take(keyspace, 1).empty());
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
}

TEST_F(RandomKeyspaceTest, ExplainsFromTheBits) {
  const auto engine = StartMemory();
  for (const Kind kind : kAll) {
    const std::string name(KindName(kind));
    const std::string key = Take(Make(*engine, kind, "x", name), 1).front();
    const Result<Explanation> told = engine->Explain(name, key);
    ASSERT_TRUE(told.ok()) << told.status().message();
    EXPECT_EQ(told->state, Explanation::State::kUnknown);
    EXPECT_EQ(told->kind, kind);
    EXPECT_EQ(told->time_ms.has_value(), kind != Kind::kUuid4);
    EXPECT_EQ(told->time_ms.value_or(clock_.WallMs()), clock_.WallMs());
    EXPECT_FALSE(told->number);
    EXPECT_FALSE(told->block);
    for (const std::string& none : {key.substr(1), key + "0", std::string("x"), std::string()}) {
      EXPECT_EQ(engine->Explain(name, none).code(), Code::kNotFound) << none;
    }
  }
  const Result<Explanation> other =
      engine->Explain("uuid4", "x017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  EXPECT_EQ(other.code(), Code::kNotFound);
  EXPECT_THAT(other.status().message(), HasSubstr("no UUID of version 4"));
}

TEST_F(RandomKeyspaceTest, NobodyCountsItsKeys) {
  const auto engine = StartMemory();
  Make(*engine, Kind::kUuid4);
  const Result<KeyspaceInfo> info = engine->Describe("k");
  ASSERT_TRUE(info.ok());
  EXPECT_TRUE(info->endless);
  EXPECT_FALSE(info->exhausted_at_ms);
  EXPECT_FALSE(info->runway_seconds);
}

}  // namespace
}  // namespace keymill::mint
