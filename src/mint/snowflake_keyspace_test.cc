// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/snowflake_keyspace.h"

#include <charconv>
#include <random>
#include <set>
#include <unordered_set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys/snowflake_layout.h"
#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Recipe Ids(std::uint32_t worker_bits = 10) {
  Recipe recipe = DefaultRecipe(Kind::kSnowflake);
  recipe.layout.worker_bits = worker_bits;
  recipe.layout.sequence_bits = 4;
  return recipe;
}

// One instance with a clock of its own.
struct Instance {
  std::unique_ptr<FakeClock> clock;
  std::unique_ptr<Engine> engine;
  Keyspace* keyspace = nullptr;
};

class SnowflakeTest : public EngineTestBase {
 protected:
  // On the memory store that all instances of a test share.
  Instance StartInstance(const Recipe& recipe, WorkerChoice choice = {},
                         std::int64_t wall_ms = 1'750'000'000'000) {
    Instance instance;
    instance.clock = std::make_unique<FakeClock>(wall_ms);
    EngineOptions options = Options();
    options.snowflake.choice = choice;
    auto engine = Engine::Open(std::move(options), std::make_unique<FaultyStore>(memory_, faults_),
                               nullptr, *instance.clock);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    instance.engine = *std::move(engine);
    auto created = instance.engine->Create("ids", recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    instance.keyspace = created->keyspace;
    instance.keyspace->Want();
    instance.engine->StepForTest();
    return instance;
  }

  static std::vector<keys::SnowflakeParts> Take(Instance& instance, std::uint32_t count) {
    std::vector<keys::SnowflakeParts> parts;
    for (const std::uint64_t id : TakeIds(instance, count)) {
      parts.push_back(*keys::DecomposeSnowflake(instance.keyspace->recipe().layout, id));
    }
    return parts;
  }

  static std::vector<std::uint64_t> TakeIds(Instance& instance, std::uint32_t count) {
    std::string text(count * (instance.keyspace->key_size_max() + 1), '\0');
    const auto written = instance.keyspace->TakeKeys(count, "\n", text.data());
    text.resize(written.bytes);
    std::vector<std::uint64_t> ids;
    std::istringstream in(text);
    for (std::uint64_t id = 0; in >> id;) ids.push_back(id);
    EXPECT_EQ(ids.size(), written.keys);
    return ids;
  }

  static std::uint32_t WorkerOf(Instance& instance) {
    const auto parts = Take(instance, 1);
    EXPECT_EQ(parts.size(), 1U);
    return parts.empty() ? 0 : parts[0].worker;
  }
};

TEST_F(SnowflakeTest, AnIdTellsItsTimeAndWorker) {
  Instance instance = StartInstance(Ids(), {.preferred = 7});
  const auto parts = Take(instance, 2);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].worker, 7U);
  EXPECT_EQ(parts[0].sequence, 0U);
  EXPECT_EQ(parts[1].sequence, 1U);
  EXPECT_EQ(keys::SnowflakeTimeMs(Ids().layout, parts[0].ticks), 1'750'000'000'000);
}

TEST_F(SnowflakeTest, AFullUnitWaitsForTheNext) {
  Instance instance = StartInstance(Ids());
  EXPECT_EQ(Take(instance, 100).size(), 16U);
  EXPECT_TRUE(Take(instance, 1).empty());
  EXPECT_TRUE(instance.keyspace->Verdict().ok()) << "waiting makes sense";
  int woken = 0;
  ASSERT_NE(*instance.keyspace->Await(1, [&] { ++woken; }), 0U);
  instance.engine->StepForTest();
  EXPECT_EQ(woken, 0);
  instance.clock->Advance(milliseconds(1));
  instance.engine->StepForTest();
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(Take(instance, 100).size(), 16U);
}

TEST_F(SnowflakeTest, WhoWaitsForTheClockIsWokenAlthoughTheStoreIsAway) {
  Instance instance = StartInstance(Ids());
  EXPECT_EQ(Take(instance, 100).size(), 16U);
  int woken = 0;
  ASSERT_NE(*instance.keyspace->Await(1, [&] { ++woken; }), 0U);
  instance.clock->Advance(seconds(10));
  faults_->identity.push_back({{Code::kUnavailable, "away"}, Faults::When::kBefore});
  instance.engine->StepForTest();
  EXPECT_EQ(woken, 1);
}

TEST_F(SnowflakeTest, TwoInstancesWithOneOrdinalGetDifferentWorkers) {
  Instance a = StartInstance(Ids(), {.preferred = 3});
  Instance b = StartInstance(Ids(), {.preferred = 3});
  EXPECT_EQ(WorkerOf(a), 3U);
  EXPECT_NE(WorkerOf(b), 3U);
}

TEST_F(SnowflakeTest, AfterACrashAnotherWorkerServesAtOnceAndLaterTheSameOne) {
  Instance crashed = StartInstance(Ids(), {.preferred = 3});
  EXPECT_EQ(WorkerOf(crashed), 3U);
  Instance next = StartInstance(Ids(), {.preferred = 3});
  EXPECT_NE(WorkerOf(next), 3U);
  // The window of the crashed one is a minute long.
  Instance later = StartInstance(Ids(), {.preferred = 3}, 1'750'000'061'000);
  EXPECT_EQ(WorkerOf(later), 3U);
}

TEST_F(SnowflakeTest, ACleanStopGivesTheRestOfItsTimeBack) {
  Instance first = StartInstance(Ids(), {.preferred = 3});
  const std::vector<std::uint64_t> before = TakeIds(first, 16);
  first.engine->Close();
  Instance second = StartInstance(Ids(), {.preferred = 3});
  EXPECT_TRUE(TakeIds(second, 1).empty()) << "this unit was used";
  second.clock->Advance(milliseconds(1));
  const auto after = Take(second, 1);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].worker, 3U);
  EXPECT_EQ(after[0].sequence, 0U);
}

TEST_F(SnowflakeTest, AFixedWorkerIdIsWaitedFor) {
  Instance first = StartInstance(Ids(), {.fixed = 3});
  EXPECT_EQ(WorkerOf(first), 3U);
  Instance second = StartInstance(Ids(), {.fixed = 3});
  EXPECT_TRUE(TakeIds(second, 1).empty());
  EXPECT_EQ(second.keyspace->Verdict().code(), Code::kExhausted);
  EXPECT_THAT(second.keyspace->Verdict().message(), HasSubstr("worker id 3 is used by another"));
  first.engine->Close();
  second.clock->Advance(seconds(3));
  second.engine->StepForTest();
  EXPECT_EQ(WorkerOf(second), 3U);
}

TEST_F(SnowflakeTest, OneWorkerTooManyIsRefused) {
  std::vector<Instance> instances;
  std::set<std::uint32_t> workers;
  for (int i = 0; i < 8; ++i) {
    instances.push_back(StartInstance(Ids(3)));
    workers.insert(WorkerOf(instances.back()));
  }
  EXPECT_EQ(workers.size(), 8U);
  Instance ninth = StartInstance(Ids(3));
  EXPECT_TRUE(TakeIds(ninth, 1).empty());
  EXPECT_THAT(ninth.keyspace->Verdict().message(), HasSubstr("all 8 worker ids are in use"));
  instances.front().engine->Close();
  ninth.clock->Advance(seconds(61));
  ninth.engine->StepForTest();
  EXPECT_EQ(TakeIds(ninth, 1).size(), 1U);
}

TEST_F(SnowflakeTest, MoreWorkersAreTakenOnlyWhilePlentyAreFree) {
  Recipe recipe = Ids(3);
  recipe.workers = 4;
  Instance greedy = StartInstance(recipe);
  EXPECT_EQ(Take(greedy, 1000).size(), 16U);
  std::set<std::uint32_t> workers;
  for (int i = 0; i < 4; ++i) {
    for (const auto& parts : Take(greedy, 1000)) workers.insert(parts.worker);
  }
  EXPECT_EQ(workers.size(), 3U) << "one was empty already";
  // Four are gone; of the other four, two stay free for those that come later.
  Instance second = StartInstance(recipe);
  std::size_t ids = 0;
  for (int i = 0; i < 5; ++i) ids += Take(second, 1000).size();
  EXPECT_EQ(ids, 2 * 16U);
  Instance third = StartInstance(recipe);
  EXPECT_EQ(Take(third, 1000).size(), 16U);
}

TEST_F(SnowflakeTest, AClockBeforeTheEpochOrFarAheadOfTheStoresIsRefused) {
  Instance early = StartInstance(Ids(), {}, 1'600'000'000'000);
  EXPECT_TRUE(TakeIds(early, 1).empty());
  EXPECT_EQ(early.keyspace->DeadlineVerdict().code(), Code::kClockRegressed);

  faults_->store_now_ms = 1'750'000'000'000;
  Instance ahead = StartInstance(Ids(), {}, 1'750'000'000'000 + 601'000);
  EXPECT_TRUE(TakeIds(ahead, 1).empty());
  EXPECT_THAT(ahead.keyspace->DeadlineVerdict().message(), HasSubstr("601 s earlier"));
  Instance right = StartInstance(Ids(), {}, 1'750'000'000'000 + 599'000);
  EXPECT_EQ(TakeIds(right, 1).size(), 1U);
}

// A server reserves for the keyspaces of its configuration before the refiller's first step.
TEST_F(SnowflakeTest, AClockFarAheadIsRefusedFromTheFirstReservationOn) {
  faults_->store_now_ms = 1'750'000'000'000;
  const FakeClock ahead(faults_->store_now_ms + 601'000);
  for (const std::string_view store : {"empty", "made"}) {
    EngineOptions options = Options();
    options.keyspaces.emplace("ids", Ids());
    if (store == "empty") {
      faults_->identity.push_back({{Code::kNotFound, "nothing is here yet"}});
    }
    const auto engine = Engine::Open(
        std::move(options), std::make_unique<FaultyStore>(memory_, faults_), nullptr, ahead);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    Keyspace& ids = *(*engine)->Find("ids");
    (*engine)->WarmUp(ids);
    EXPECT_EQ(faults_->reserve_calls, 0) << store;
    EXPECT_THAT(ids.DeadlineVerdict().message(), HasSubstr("601 s earlier")) << store;
  }
}

TEST_F(SnowflakeTest, AfterTheLastMomentThereIsNothing) {
  const std::int64_t end_ms = keys::SnowflakeEndMs(Ids().layout);
  Instance last = StartInstance(Ids(), {}, end_ms - 1);
  EXPECT_EQ(Take(last, 100).size(), 16U);
  last.clock->Advance(milliseconds(1));
  last.engine->StepForTest();
  EXPECT_TRUE(TakeIds(last, 1).empty());
  EXPECT_EQ(last.keyspace->Verdict().code(), Code::kExhausted);
  EXPECT_DOUBLE_EQ(*last.engine->Describe("ids")->years_left, 0.0);
}

TEST_F(SnowflakeTest, ARetiredOneEndsForAllAndItsLinesAreNotListed) {
  Instance instance = StartInstance(Ids());
  EXPECT_EQ(TakeIds(instance, 1).size(), 1U);
  EXPECT_EQ(instance.engine->List()->size(), 1U);
  ASSERT_TRUE(instance.engine->Retire("ids").ok());
  EXPECT_TRUE(TakeIds(instance, 1).empty());
  const auto records = memory_->ListKeyspaces(clock_.Monotonic() + seconds(30));
  ASSERT_EQ(records->size(), 2U);
  for (const KeyspaceRecord& record : *records) EXPECT_EQ(record.state, KeyspaceState::kRetired);
}

TEST_F(SnowflakeTest, ExplainsFromTheBitsAndTheLedger) {
  Instance instance = StartInstance(Ids(), {.preferred = 9});
  const std::uint64_t id = TakeIds(instance, 1).at(0);
  const auto told = instance.engine->Explain("ids", std::to_string(id));
  ASSERT_TRUE(told.ok()) << told.status().message();
  EXPECT_EQ(told->worker, 9U);
  EXPECT_EQ(told->time_ms, 1'750'000'000'000);
  EXPECT_EQ(told->block->instance, instance.engine->instance());
  const std::uint64_t elsewhere =
      keys::ComposeSnowflake(Ids().layout, {.ticks = 5, .worker = 9, .sequence = 0});
  EXPECT_EQ(instance.engine->Explain("ids", std::to_string(elsewhere)).code(), Code::kNotFound);
  EXPECT_EQ(instance.engine->Explain("ids", "abc").code(), Code::kNotFound);
}

// The promise itself: whatever clocks do, whoever crashes or sleeps, no id comes twice.
TEST_F(SnowflakeTest, NoClockMakesAnIdTwice) {
  const std::array<milliseconds, 10> steps = {
      milliseconds(-1), milliseconds(-5), milliseconds(-128), seconds(-1),     hours(-1),
      hours(-24),       seconds(1),       seconds(30),        milliseconds(1), hours(1)};
  constexpr int kCases = 10'000;
  std::mt19937_64 random(20261116);
  std::unordered_set<std::uint64_t> seen;
  const Recipe recipe = Ids(6);
  std::vector<Instance> crashed;
  std::vector<Instance> instances;
  for (std::uint32_t i = 0; i < 4; ++i) {
    instances.push_back(StartInstance(recipe, {.preferred = i / 2}));
  }
  int taken = 0;
  for (int i = 0; i < kCases; ++i) {
    Instance& one = instances[random() % instances.size()];
    switch (random() % 8) {
      case 0:  // The clock jumps.
        one.clock->StepWall(steps[random() % steps.size()]);
        break;
      case 1:  // A crash, or a stop, and a start with whatever the clock says then.
        if (random() % 4 == 0) {
          const std::int64_t now_ms = one.clock->WallMs();
          if (random() % 2 == 0) one.engine->Close();
          crashed.push_back(std::move(one));  // To end an engine would be a clean stop.
          one = StartInstance(recipe, {.preferred = static_cast<std::uint32_t>(random() % 2)},
                              now_ms);
        }
        break;
      case 2:  // It sleeps beyond its window, and does not look before it goes on.
        if (random() % 4 == 0) one.clock->Advance(seconds(random() % 120));
        break;
      default:
        one.clock->Advance(milliseconds(random() % 20));
        break;
    }
    if (random() % 2 == 0) {
      one.clock->Advance(seconds(2));
      one.engine->StepForTest();
    }
    for (const std::uint64_t id : TakeIds(one, static_cast<std::uint32_t>(1 + random() % 40))) {
      ASSERT_TRUE(seen.insert(id).second) << id << " in case " << i;
      ++taken;
    }
  }
  EXPECT_GT(taken, kCases);
}

}  // namespace
}  // namespace keymill::mint
