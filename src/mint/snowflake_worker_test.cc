// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What must not cost an instance its worker id: lost answers, others that want the same id, a full
// disk, a restart.

#include <atomic>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys/snowflake_layout.h"
#include "mint/engine_test_support.h"
#include "mint/snowflake_keyspace.h"

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

struct Instance {
  std::unique_ptr<FakeClock> clock;
  std::unique_ptr<Engine> engine;
  Keyspace* keyspace = nullptr;
};

class SnowflakeWorkerTest : public EngineTestBase {
 protected:
  Instance StartInstance(const Recipe& recipe, WorkerChoice choice = {},
                         std::int64_t wall_ms = 1'750'000'000'000,
                         std::unique_ptr<WitnessFile> witness = nullptr) {
    Instance instance;
    instance.clock = std::make_unique<FakeClock>(wall_ms);
    EngineOptions options = Options();
    options.snowflake.choice = choice;
    auto engine = Engine::Open(std::move(options), std::make_unique<FaultyStore>(memory_, faults_),
                               std::move(witness), *instance.clock);
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    instance.engine = *std::move(engine);
    auto created = instance.engine->Create("ids", recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    instance.keyspace = created->keyspace;
    instance.keyspace->Want();
    instance.engine->StepForTest();
    return instance;
  }

  // Workers of up to `count` ids.
  static std::vector<std::uint32_t> Take(Instance& instance, std::uint32_t count) {
    std::string text(count * (instance.keyspace->key_size_max() + 1), '\0');
    text.resize(instance.keyspace->TakeKeys(count, "\n", text.data()).bytes);
    std::vector<std::uint32_t> workers;
    std::istringstream in(text);
    for (std::uint64_t id = 0; in >> id;) {
      workers.push_back(keys::DecomposeSnowflake(instance.keyspace->recipe().layout, id)->worker);
    }
    return workers;
  }

  // For so many seconds, one by one, there are ids, of this worker.
  static void ExpectServes(Instance& instance, std::uint32_t worker, int count) {
    for (int i = 0; i < count; ++i) {
      instance.clock->Advance(seconds(1));
      instance.engine->StepForTest();
      ASSERT_THAT(Take(instance, 1), testing::ElementsAre(worker))
          << i << " s: " << instance.keyspace->DeadlineVerdict().message();
    }
  }

  Result<Block> ReserveAsAnother(Instance& instance, std::uint32_t worker, std::uint32_t ticks) {
    const auto line = memory_->FindKeyspace(WorkerLineName("ids", worker), {});
    EXPECT_TRUE(line.ok());
    return memory_->Reserve(
        {.keyspace_id = line->id,
         .recipe_hash = line->recipe_hash,
         .count = ticks,
         .witness = {},
         .timeline = {},
         .instance = "another",
         .reservation = "another's " + std::to_string(++reservations_),
         .above = 0,
         .skip_to = *keys::SnowflakeTicks(Ids().layout, instance.clock->WallMs()),
         .spent = {}},
        {});
  }
  Status GiveBackAsAnother(std::uint32_t worker, const Block& block) {
    const auto line = memory_->FindKeyspace(WorkerLineName("ids", worker), {});
    return memory_
        ->GiveBack({.keyspace_id = line->id,
                    .block_id = block.id,
                    .first_unused = block.first,
                    .witness = {}},
                   {})
        .status();
  }

  int reservations_ = 0;
};

TEST_F(SnowflakeWorkerTest, AFixedWorkerIdThatDoesNotFitIsRefused) {
  EngineOptions options = Options();
  options.snowflake.choice = {.fixed = 8};
  const auto refused = [](const Status& status) {
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("worker_id is 8, and the largest that fits its layout "
                                            "is 7"));
  };
  const auto open = [&] {
    return Engine::Open(options, std::make_unique<FaultyStore>(memory_, faults_), nullptr, clock_);
  };
  options.keyspaces.emplace("ids", Ids(3));
  refused(open().status());  // Before it is made, and after.
  Instance other = StartInstance(Ids(3));
  refused(open().status());
  options.keyspaces.clear();
  const auto engine = open();
  // What a later start would refuse is not taken into a configuration that is read again.
  refused((*engine)->CheckCreate("ids", Ids(3)));
  refused((*engine)->CheckCreate("new", Ids(3)));
  EXPECT_TRUE((*engine)->CheckCreate("new", Ids(4)).ok());
  // Whoever hears of it only later serves what it can, and says the same of it as the others do.
  const auto again = (*engine)->Create("ids", Ids(3));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_FALSE(again->fresh);
  EXPECT_TRUE((*engine)->Create("for_others", Ids(3)).ok());
  Keyspace& ids = **(*engine)->Lookup("ids");
  ids.Want();
  (*engine)->StepForTest();
  // A refusal that is told, whatever the protocol.
  EXPECT_EQ(ids.DeadlineVerdict().code(), Code::kOverloaded);
  EXPECT_THAT(ids.DeadlineVerdict().message(), HasSubstr("largest that fits its layout is 7"));
  EXPECT_TRUE((*engine)->Ready().ok());
}

TEST_F(SnowflakeWorkerTest, AStopGivesAllTimeBackAlsoThatOfAnEarlierBlock) {
  Instance first = StartInstance(Ids(), {.fixed = 3});
  ExpectServes(first, 3, 31);
  first.engine->Close();
  Instance second = StartInstance(Ids(), {.fixed = 3}, first.clock->WallMs());
  second.clock->Advance(milliseconds(1));
  EXPECT_THAT(Take(second, 1), testing::ElementsAre(3));
}

TEST_F(SnowflakeWorkerTest, TimeThatWasTakenFromAStopIsGivenBackTogether) {
  StartInstance(Ids(), {.fixed = 3}).engine->Close();
  // Its first block is what was given back, its second is new.
  Instance second = StartInstance(Ids(), {.fixed = 3}, 1'750'000'010'000);
  ExpectServes(second, 3, 25);
  second.engine->Close();
  Instance third = StartInstance(Ids(), {.fixed = 3}, second.clock->WallMs());
  third.clock->Advance(milliseconds(1));
  EXPECT_THAT(Take(third, 1), testing::ElementsAre(3));
}

TEST_F(SnowflakeWorkerTest, ALostAnswerDoesNotCostTheWorkerId) {
  Instance instance = StartInstance(Ids(), {.fixed = 3});
  instance.clock->Advance(seconds(30));
  faults_->reserve.push_back({{Code::kUnknownOutcome, "cut"}, Faults::When::kAfter});
  instance.engine->StepForTest();
  EXPECT_TRUE(faults_->reserve.empty());
  ExpectServes(instance, 3, 150);
}

TEST_F(SnowflakeWorkerTest, AnotherThatOnlyTriesDoesNotCostTheWorkerId) {
  Instance instance = StartInstance(Ids(), {.fixed = 3});
  instance.clock->Advance(seconds(29));
  const Result<Block> tried = ReserveAsAnother(instance, 3, 60'000);
  ASSERT_TRUE(tried.ok());
  instance.clock->Advance(seconds(1));
  instance.engine->StepForTest();
  ASSERT_TRUE(GiveBackAsAnother(3, *tried).ok());
  ExpectServes(instance, 3, 150);
}

TEST_F(SnowflakeWorkerTest, AWorkerIdThatAnotherHasNowIsUsedToItsEndAndReplaced) {
  Instance instance = StartInstance(Ids(), {.preferred = 3});
  ASSERT_TRUE(ReserveAsAnother(instance, 3, 600'000).ok());
  for (int i = 0; i < 150; ++i) {
    instance.clock->Advance(seconds(1));
    instance.engine->StepForTest();
    const auto workers = Take(instance, 1);
    ASSERT_EQ(workers.size(), 1U) << i;
    ASSERT_TRUE(i >= 40 || workers[0] == 3U) << i;
    ASSERT_TRUE(i <= 60 || workers[0] != 3U) << i;
  }
}

TEST_F(SnowflakeWorkerTest, TimeGivenBackLongAgoDoesNotHideTimeGivenBackSince) {
  Instance first = StartInstance(Ids(), {.preferred = 3});
  const Result<Block> next = ReserveAsAnother(first, 3, 60'000);
  ASSERT_TRUE(next.ok());
  first.engine->Close();
  ASSERT_TRUE(GiveBackAsAnother(3, *next).ok());
  Instance second = StartInstance(Ids(), {.fixed = 3}, 1'750'000'070'000);
  EXPECT_THAT(Take(second, 1), testing::ElementsAre(3));
}

TEST_F(SnowflakeWorkerTest, AClockThatWentBackIsNoReasonToLoseAFixedWorkerId) {
  Instance instance = StartInstance(Ids(), {.fixed = 3});
  EXPECT_EQ(Take(instance, 16).size(), 16U);
  instance.clock->StepWall(seconds(-20));
  instance.clock->Advance(seconds(2));
  const int calls = faults_->reserve_calls;
  for (int i = 0; i < 10; ++i) instance.engine->StepForTest();
  EXPECT_EQ(faults_->reserve_calls, calls) << "that would not help";
  EXPECT_TRUE(Take(instance, 1).empty());
  EXPECT_TRUE(instance.keyspace->Verdict().ok());
  EXPECT_EQ(instance.keyspace->DeadlineVerdict().code(), Code::kClockRegressed);
  instance.clock->Advance(seconds(18));
  ExpectServes(instance, 3, 100);
}

TEST_F(SnowflakeWorkerTest, OneWorkerIdThatIsLostDoesNotStopTheOther) {
  Recipe recipe = Ids(1);
  recipe.workers = 2;
  Instance instance = StartInstance(recipe, {.preferred = 0});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(ReserveAsAnother(instance, 0, 60'000).ok());
  for (int i = 0; i < 150; ++i) {
    instance.clock->Advance(seconds(1));
    instance.engine->StepForTest();
    ASSERT_GE(Take(instance, 1).size(), 1U) << i;
    while (!Take(instance, 100).empty()) {
    }
    ASSERT_TRUE(instance.keyspace->Verdict().ok()) << "the next millisecond brings more";
  }
}

TEST_F(SnowflakeWorkerTest, AFullUnitDoesNotKeepAnOldVerdictAlive) {
  Instance other = StartInstance(Ids(), {.fixed = 3});
  Instance instance = StartInstance(Ids(), {.fixed = 3});
  EXPECT_EQ(instance.keyspace->DeadlineVerdict().code(), Code::kOverloaded);
  other.engine->Close();
  // The time that was given back begins a moment from now: there is no id at this very moment.
  instance.clock->StepWall(milliseconds(-100));
  instance.clock->Advance(seconds(3));
  instance.clock->StepWall(seconds(-3));
  instance.engine->StepForTest();
  EXPECT_TRUE(Take(instance, 1).empty());
  EXPECT_THAT(instance.keyspace->DeadlineVerdict().message(), HasSubstr("clock is 100 ms behind"));
}

TEST_F(SnowflakeWorkerTest, AWitnessThatCannotBeWrittenDoesNotBurnTime) {
  Instance instance = StartInstance(Ids(), {.preferred = 3}, 1'750'000'000'000, OpenWitness());
  EXPECT_EQ(Take(instance, 1).size(), 1U);
  std::filesystem::create_directory(data_dir() / "witness.new");
  instance.clock->Advance(seconds(31));
  for (int i = 0; i < 100; ++i) {
    instance.clock->Advance(milliseconds(100));
    instance.engine->StepForTest();
  }
  std::filesystem::remove(data_dir() / "witness.new");
  ExpectServes(instance, 3, 10);
  const auto line = memory_->FindKeyspace(WorkerLineName("ids", 3), {});
  EXPECT_LT(line->next, *keys::SnowflakeTicks(Ids().layout, instance.clock->WallMs()) + 3 * 60'000);
}

TEST_F(SnowflakeWorkerTest, NobodyLooksAtTheClockForAWorkerThatIsNotThere) {
  Instance other = StartInstance(Ids(), {.fixed = 3});
  faults_->reserve.push_back({{Code::kUnavailable, "away"}, Faults::When::kBefore});
  Instance instance = StartInstance(Ids(), {.fixed = 4});
  ASSERT_NE(*instance.keyspace->Await(1, [] {}), 0U);
  EXPECT_EQ(instance.keyspace->Tick(), MonotonicTime::max());
}

TEST_F(SnowflakeWorkerTest, WhoHoldsTimeOfALineThatVanishedStopsAtOnce) {
  const auto empty = [&] {
    Instance other = StartInstance(Ids(), {.fixed = 4});
    return store::CopyForTest(*memory_);
  }();
  Instance instance = StartInstance(Ids(), {.fixed = 3}, 1'750'000'000'000, OpenWitness());
  store::PutBackForTest(*memory_, *empty);
  instance.clock->Advance(seconds(2));
  instance.engine->StepForTest();
  EXPECT_TRUE(Take(instance, 1).empty()) << "another may have made it anew";
}

// Each of two hosts has seen more of a line than the store, which has lost it.
TEST_F(SnowflakeWorkerTest, ALineThatWasMadeAnewTooLowCanBeRecoveredOnceMore) {
  StartInstance(Ids(), {.fixed = 4}).engine->Close();
  const auto before = store::CopyForTest(*memory_);
  const auto open = [&](const char* host) { return *WitnessFile::Open(dir_.path() / host); };
  const auto start = [&](const char* host, std::int64_t after_ms) {
    return StartInstance(Ids(), {.fixed = 3}, 1'750'000'000'000 + after_ms, open(host));
  };
  start("a", 0).engine->Close();
  start("b", 100'000).engine->Close();
  const std::uint64_t used_until = memory_->FindKeyspace("ids#3", {})->next;
  store::PutBackForTest(*memory_, *before);
  const auto recover = [&](const char* host) {
    auto engine = StartFaulty(Options(), open(host));
    for (int i = 0; i < 3; ++i) {  // Twice, before it is believed.
      clock_.Advance(seconds(2));
      engine->StepForTest();
    }
    return engine->Recover("ids").status();
  };
  for (const char* const host : {"a", "b"}) {
    const Status recovered = recover(host);
    ASSERT_TRUE(recovered.ok()) << recovered.message();
  }
  EXPECT_GE(memory_->FindKeyspace("ids#3", {})->next, used_until);
  Instance again = start("b", 200'000);
  ExpectServes(again, 3, 10);
}

// A store that does not answer holds the refiller up. What comes with time comes all the same.
TEST_F(SnowflakeWorkerTest, WhoWaitsForTheClockIsWokenWhileTheStoreIsAsked) {
  std::atomic<bool> armed = false;
  std::promise<void> asked;
  std::promise<void> answered;
  faults_->after_list = [&] {
    if (!armed.exchange(false)) return;
    asked.set_value();
    answered.get_future().wait();
  };
  EngineOptions options = Options();
  options.background = true;
  options.audit_interval = milliseconds(10);
  options.watch_interval = milliseconds(10);
  auto engine =
      Engine::Open(std::move(options), std::make_unique<FaultyStore>(memory_, faults_), nullptr);
  ASSERT_TRUE(engine.ok());
  Keyspace& keyspace = *(*engine)->Create("ids", Ids())->keyspace;
  const auto mint = [&] {
    return (*engine)->Mint(keyspace, 200, SystemClock().Monotonic() + seconds(3), [](auto) {});
  };
  ASSERT_TRUE(mint().ok());
  armed = true;
  asked.get_future().wait();
  const Status minted = mint();
  answered.set_value();
  EXPECT_TRUE(minted.ok()) << minted.message();
}

}  // namespace
}  // namespace keymill::mint
