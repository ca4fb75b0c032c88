// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/snowflake_keyspace.h"

#include <charconv>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys/snowflake_layout.h"
#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

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

// The upper digits of an id are its time, and a word among them spells all ids of an hour.
TEST_F(SnowflakeTest, ABlocklistThatSkipsEverythingKeepsNobodyBusy) {
  Recipe recipe = Ids();
  recipe.layout.sequence_bits = 20;  // More in a moment than anybody could skip.
  recipe.layout.worker_bits = 2;
  const std::string key = [&] {
    Instance other = StartInstance(recipe);
    other.clock->Advance(milliseconds(1));
    return std::to_string(TakeIds(other, 1).at(0));
  }();
  memory_ = store::OpenMemoryStore(clock_);
  recipe.alphabet = "0123456789";
  recipe.blocklist = {key.substr(0, 5)};
  Instance instance = StartInstance(recipe);
  for (int i = 0; i < 100 && Take(instance, 100).empty(); ++i) {
  }
  int woken = 0;
  const Result<std::uint64_t> waiter = instance.keyspace->Await(1, [&] { ++woken; });
  EXPECT_NE(*waiter, 0U) << "it waits, and does not try again and again";
  EXPECT_EQ(instance.keyspace->DeadlineVerdict().code(), Code::kOverloaded);
  EXPECT_THAT(instance.keyspace->DeadlineVerdict().message(), HasSubstr("blocklist skipped"));
  const Keyspace::Stats stats = instance.keyspace->stats();
  EXPECT_EQ(stats.keys, 0U);
  EXPECT_GE(stats.issued, 4'096U);
  EXPECT_LE(stats.issued, 5'000U) << "most of the tries found that it is no use";
  // The time that spells it goes by.
  instance.clock->Advance(milliseconds(10));
  instance.engine->StepForTest();
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(Take(instance, 100).empty());
  instance.clock->Advance(seconds(1'000'000));
  instance.engine->StepForTest();
  EXPECT_EQ(Take(instance, 100).size(), 100U);
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
  EXPECT_EQ(second.keyspace->DeadlineVerdict().code(), Code::kOverloaded);
  EXPECT_THAT(second.keyspace->DeadlineVerdict().message(),
              HasSubstr("worker id 3 is in use until 2025-06-15T15:07:40.000Z, by another instance "
                        "or by one that crashed; wait, or give"));
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
  EXPECT_EQ(ninth.keyspace->DeadlineVerdict().code(), Code::kOverloaded) << "it is no end";
  EXPECT_THAT(ninth.keyspace->DeadlineVerdict().message(),
              HasSubstr("all 8 worker ids are in use"));
  // A stop gives its time back: nobody has to wait until it would have been over.
  const std::uint32_t left = WorkerOf(instances.front());
  instances.front().engine->Close();
  ninth.clock->Advance(seconds(2));
  ninth.engine->StepForTest();
  EXPECT_EQ(WorkerOf(ninth), left);
  // After a crash it has to pass.
  Instance tenth = StartInstance(Ids(3));
  instances.back().engine->Close(MonotonicTime::min());
  tenth.clock->Advance(seconds(30));
  tenth.engine->StepForTest();
  EXPECT_TRUE(TakeIds(tenth, 1).empty());
  tenth.clock->Advance(seconds(31));
  tenth.engine->StepForTest();
  EXPECT_EQ(TakeIds(tenth, 1).size(), 1U);
}

// Pods with an ordinal give back low ones, and nobody looks at all of them at once.
TEST_F(SnowflakeTest, AWorkerIdThatWasGivenBackIsFoundAmongMany) {
  constexpr std::uint32_t kWorkers = 64;
  std::vector<Instance> instances;
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    instances.push_back(StartInstance(Ids(6), {.preferred = i}));
  }
  for (const std::uint32_t low : {0U, 17U, 40U}) {
    ASSERT_EQ(WorkerOf(instances[low]), low);
    Instance late = StartInstance(Ids(6));
    EXPECT_TRUE(TakeIds(late, 1).empty());
    instances[low].engine->Close();
    int seconds_waited = 0;
    for (; seconds_waited < 10 && TakeIds(late, 1).empty(); ++seconds_waited) {
      late.clock->Advance(seconds(1));
      late.engine->StepForTest();
    }
    EXPECT_LE(seconds_waited, 5);
    EXPECT_EQ(WorkerOf(late), low);
    instances[low] = std::move(late);
  }
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

// With none free, whoever has one already waits in line behind those that have none.
TEST_F(SnowflakeTest, TheLastWorkerIdThatIsGivenBackIsNotTakenByOneThatHasSome) {
  Recipe recipe = Ids(3);
  recipe.workers = 4;
  Instance first = StartInstance(recipe);
  Instance greedy = StartInstance(recipe);  // Two of its four seats are empty.
  Instance third = StartInstance(recipe);
  Instance last = StartInstance(recipe);
  const std::uint32_t left = WorkerOf(last);
  last.engine->Close();
  for (int i = 0; i < 5; ++i) {
    greedy.clock->Advance(seconds(2));
    greedy.engine->StepForTest();
  }
  Instance fresh = StartInstance(recipe, {}, greedy.clock->WallMs());
  EXPECT_EQ(WorkerOf(fresh), left) << fresh.keyspace->DeadlineVerdict().message();
}

// What time alone will bring is no fault of the store's.
TEST_F(SnowflakeTest, WhoGetsNoneInTimeIsToldWhatWasMissing) {
  Instance instance = StartInstance(Ids());
  EXPECT_EQ(Take(instance, 100).size(), 16U);
  Status late = instance.keyspace->DeadlineVerdict();
  EXPECT_EQ(late.code(), Code::kOverloaded);
  EXPECT_THAT(late.message(), HasSubstr("went to others"));
  instance.clock->StepWall(-milliseconds(100));
  instance.engine->StepForTest();
  EXPECT_TRUE(TakeIds(instance, 1).empty());
  late = instance.keyspace->DeadlineVerdict();
  EXPECT_EQ(late.code(), Code::kClockRegressed);
  EXPECT_THAT(late.message(), HasSubstr("clock is 101 ms behind"));
  EXPECT_TRUE(instance.keyspace->Verdict().ok()) << "waiting makes sense";
  // Where no time was granted yet, it may be.
  const auto created = instance.engine->Create("others", Ids());
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(created->keyspace->DeadlineVerdict().code(), Code::kDeadlineExceeded);
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

// What it has is of no use to anybody until the clock has caught up, and probes ask for what it
// has.
TEST_F(SnowflakeTest, NothingIsAheadOfAClockThatWentFarBack) {
  Instance instance = StartInstance(Ids(), {.fixed = 7});
  EXPECT_EQ(TakeIds(instance, 1).size(), 1U);
  EXPECT_GT(instance.keyspace->stats().ahead, 0U);
  instance.clock->StepWall(-milliseconds(100));
  EXPECT_GT(instance.keyspace->stats().ahead, 0U) << "it waits for so little";
  instance.clock->StepWall(-seconds(10));
  instance.engine->StepForTest();
  EXPECT_EQ(instance.keyspace->stats().ahead, 0U);
  EXPECT_EQ(instance.keyspace->DeadlineVerdict().code(), Code::kClockRegressed);
  instance.clock->StepWall(seconds(11));
  instance.engine->StepForTest();
  EXPECT_GT(instance.keyspace->stats().ahead, 0U);
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

}  // namespace
}  // namespace keymill::mint
