// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/pool_keyspace.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mint/engine_metrics.h"
#include "mint/pool_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class PoolKeyspaceTest : public PoolTestBase {
 protected:
  static inline const Status kUnknown{Code::kUnknownOutcome, "lost"};
};

TEST_F(PoolKeyspaceTest, HandsOutEveryKeyOnceAndSaysWhatToDoAtTheEnd) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 500);
  const auto keys = Get(*engine, keyspace, 600);
  EXPECT_EQ(keys.size(), 500U);
  EXPECT_EQ(SetOf(keys).size(), 500U);
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 500U);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kExhausted);
  EXPECT_THAT(keyspace.Verdict().message(), HasSubstr("keymill pool fill k -n N"));
  // Somebody does so.
  Fill(*engine, 50);
  Later(*engine, engine->options().audit_interval);
  EXPECT_TRUE(keyspace.Verdict().ok());
  EXPECT_EQ(Get(*engine, keyspace, 50).size(), 50U);
}

// Stores take keys in the order of their digits, and who sees some could guess the others.
TEST_F(PoolKeyspaceTest, KeysOfOneTakeLeaveInNoOrder) {
  const auto engine = StartShared(PoolOptionsOf(1'000));
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 64'000);
  const auto keys = Get(*engine, keyspace, 500);
  ASSERT_EQ(keys.size(), 500U);
  EXPECT_EQ(faults_->takes.size(), 1U);
  const auto rises = std::adjacent_find(keys.begin(), keys.end(), std::greater<>());
  EXPECT_LT(rises - keys.begin(), 20);
}

TEST_F(PoolKeyspaceTest, TakesAheadAndSignalsBeforeItRunsOut) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 20'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  EXPECT_EQ(keyspace.stats().ahead, 99U);
  EXPECT_EQ(keyspace.stats().blocks_reserved, 1U);
  engine->StepForTest();
  EXPECT_EQ(faults_->takes.size(), 1U) << "there are enough";
  EXPECT_EQ(TakeNow(keyspace, 60).size(), 60U);
  engine->StepForTest();
  EXPECT_EQ(faults_->takes.size(), 2U);
  EXPECT_GE(keyspace.stats().ahead, 100U);
}

TEST_F(PoolKeyspaceTest, WithoutANeedNothingIsTakenAhead) {
  EngineOptions options = PoolOptionsOf();
  options.refill.ahead_of_need = false;
  options.pool.low = 1'000;
  const auto engine = StartShared(options);
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  faults_->add_calls = 0;
  keyspace.Want();
  engine->StepForTest();
  EXPECT_TRUE(faults_->takes.empty());
  EXPECT_EQ(Get(*engine, keyspace, 3).size(), 3U);
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 3U);
  EXPECT_EQ(faults_->add_calls, 0) << "enough are available for those who wait";
  EXPECT_TRUE(faults_->changes.empty());
}

TEST_F(PoolKeyspaceTest, ACleanStopGivesBackWhatNobodyGot) {
  auto engine = StartShared();
  auto got = Get(*engine, MakePool(*engine, Pool(Audit::kBatch), 1'000), 30);
  ASSERT_EQ(got.size(), 30U);
  const std::uint64_t held = engine->Find("k")->stats().ahead;
  EXPECT_GT(held, 0U);
  EXPECT_EQ(engine->Close(), held);
  EXPECT_EQ(engine->Find("k")->stats().blocks_returned, 1U);
  engine = StartShared();
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 30U);
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable), 970U);
  const auto rest = Get(*engine, **engine->Lookup("k"), 970);
  EXPECT_EQ(rest.size(), 970U);
  got.insert(got.end(), rest.begin(), rest.end());
  EXPECT_EQ(SetOf(got).size(), 1'000U);
}

TEST_F(PoolKeyspaceTest, ACrashBurnsWhatNobodyGot) {
  auto engine = StartShared();
  const auto got = Get(*engine, MakePool(*engine, Pool(Audit::kBatch), 300), 3);
  const std::uint64_t used = CountOf(*engine, KeyState::kUsed);
  EXPECT_GT(used, 3U);
  Kill(*engine);
  engine = StartShared();
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), used);
  auto all = Get(*engine, **engine->Lookup("k"), 1'000);
  EXPECT_EQ(all.size(), 300 - used);
  for (const auto& key : got) EXPECT_EQ(std::count(all.begin(), all.end(), key), 0);
}

// N1: what a take without an answer held is nobody's, and what a stop could not give back neither.
TEST_F(PoolKeyspaceTest, UnknownOutcomesBurn) {
  auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  keyspace.Want();
  faults_->take_keys.push_back({kUnknown, Faults::When::kAfter});
  engine->StepForTest();
  const std::uint64_t lost = CountOf(*engine, KeyState::kUsed);
  EXPECT_GT(lost, 0U);
  EXPECT_EQ(keyspace.stats().ahead, 0U);
  EXPECT_EQ(keyspace.stats().blocks_burned, 1U);
  clock_.Advance(std::chrono::milliseconds(100));
  auto got = Get(*engine, keyspace, 5);
  EXPECT_EQ(got.size(), 5U);
  const std::uint64_t held = keyspace.stats().ahead;
  for (int i = 0; i < 5; ++i) faults_->change_keys.push_back({kUnknown});
  EXPECT_EQ(engine->Close(), 0U);
  EXPECT_EQ(keyspace.stats().blocks_burned, 2U);
  faults_->change_keys.clear();
  engine = StartShared();
  EXPECT_EQ(Get(*engine, **engine->Lookup("k"), 1'000).size(), 1'000 - lost - 5 - held);
}

TEST_F(PoolKeyspaceTest, AStopThatIsTooLateGivesNothingBack) {
  const auto engine = StartShared();
  Get(*engine, MakePool(*engine, Pool(Audit::kBatch), 1'000), 1);
  EXPECT_EQ(engine->Close(clock_.Monotonic()), 0U);
  EXPECT_TRUE(faults_->changes.empty());
}

TEST_F(PoolKeyspaceTest, GoesOnFromMemoryWhileTheStoreIsAway) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  for (int i = 0; i < 50; ++i) faults_->take_keys.push_back({{Code::kUnavailable, "away"}});
  const auto ahead = static_cast<std::uint32_t>(keyspace.stats().ahead);
  EXPECT_EQ(Get(*engine, keyspace, ahead + 1).size(), ahead);
  EXPECT_TRUE(keyspace.Verdict().ok()) << "it is worth waiting";
  EXPECT_EQ(keyspace.DeadlineVerdict().code(), Code::kUnavailable);
  faults_->take_keys.clear();
  Later(*engine);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
}

// W1: keys whose take the witness does not know wait until it does, and are not taken anew.
TEST_F(PoolKeyspaceTest, KeysStayUntilTheWitnessKnowsOfThem) {
  const auto engine = StartFaulty(PoolOptionsOf(), OpenWitness());
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  keyspace.Want();
  std::filesystem::create_directory(data_dir() / "witness.new");  // Nobody can write there.
  for (int i = 0; i < 3; ++i) Later(*engine);
  EXPECT_EQ(keyspace.stats().ahead, 0U);
  EXPECT_EQ(faults_->takes.size(), 1U);
  std::filesystem::remove(data_dir() / "witness.new");
  Later(*engine);
  EXPECT_EQ(keyspace.stats().ahead, 100U);
  EXPECT_EQ(faults_->takes.size(), 1U);
}

TEST_F(PoolKeyspaceTest, KeysLeaveInTheFirstHalfOfTheirLifeOnly) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  const auto first = Get(*engine, keyspace, 1);
  EXPECT_EQ(RowOf(*engine, first.front()).expires_at_ms, clock_.WallMs() + 60'000);
  clock_.Advance(std::chrono::seconds(29));
  EXPECT_EQ(TakeNow(keyspace, 1).size(), 1U);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(TakeNow(keyspace, 1).empty());
  EXPECT_EQ(keyspace.stats().ahead, 0U);
  const auto fresh = Get(*engine, keyspace, 1);
  ASSERT_EQ(fresh.size(), 1U);
  EXPECT_EQ(RowOf(*engine, fresh.front()).since_ms, clock_.WallMs());
  // Also when only the wall clock tells.
  clock_.StepWall(std::chrono::seconds(31));
  EXPECT_TRUE(TakeNow(keyspace, 1).empty());
}

// A request now and then would otherwise cost a batch each time.
TEST_F(PoolKeyspaceTest, WhatGotTooOldGoesBackToThePool) {
  for (const bool recycle : {false, true}) {
    memory_ = store::OpenMemoryStore(clock_);
    const auto engine = StartShared();
    Recipe recipe = Pool(Audit::kBatch);
    recipe.expires_s = recycle ? 0 : 600;
    recipe.recycle = recycle;
    recipe.quarantine_s = 600;
    Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
    std::set<std::string> got;
    for (int i = 0; i < 20; ++i) {
      for (const auto& key : Get(*engine, keyspace, 1)) EXPECT_TRUE(got.insert(key).second);
      clock_.Advance(std::chrono::seconds(299));
      EXPECT_GT(keyspace.stats().ahead, 0U);
      clock_.Advance(std::chrono::seconds(1));
      engine->StepForTest();
      EXPECT_TRUE(keyspace.Verdict().ok()) << keyspace.Verdict().message();
    }
    EXPECT_EQ(got.size(), 20U);
    EXPECT_EQ(keyspace.stats().blocks_burned, 0U);
    EXPECT_GE(keyspace.stats().blocks_returned, 20U);
    EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 20U + keyspace.stats().ahead);
    engine->Close();
    const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
    const auto counts = *memory_->key_table()->CountKeys(record.id, clock_.Monotonic());
    EXPECT_EQ(counts.at(static_cast<std::size_t>(KeyState::kUsed)), 20U);
  }
}

TEST_F(PoolKeyspaceTest, WhatGotTooOldWaitsForAStoreThatIsAway) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  for (int i = 0; i < 3; ++i) faults_->change_keys.push_back({kUnknown, Faults::When::kAfter});
  faults_->change_keys.push_back({{Code::kUnavailable, "away"}});
  Later(*engine, std::chrono::seconds(30));
  EXPECT_EQ(keyspace.stats().blocks_returned, 0U);
  for (int i = 0; i < 5; ++i) Later(*engine);
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 1 + keyspace.stats().ahead);
  EXPECT_TRUE(keyspace.Verdict().ok());
}

// All that the pool has lies here, too old to leave: it is on its way back, and not used up.
TEST_F(PoolKeyspaceTest, APoolIsNotExhaustedWhileItsKeysAreOnTheirWayBack) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 50);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  ASSERT_EQ(keyspace.stats().ahead, 49U);
  clock_.Advance(std::chrono::seconds(30));
  faults_->change_keys.push_back({{Code::kDeadlineExceeded, "slow"}});
  EXPECT_TRUE(Get(*engine, keyspace, 1).empty());
  ASSERT_TRUE(faults_->change_keys.empty());
  EXPECT_TRUE(keyspace.Verdict().ok()) << keyspace.Verdict().message();
  EXPECT_EQ(keyspace.DeadlineVerdict().code(), Code::kUnavailable);
  Later(*engine);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
}

TEST_F(PoolKeyspaceTest, WhatTheStoreCannotTakeBackInTimeGoesBackInParts) {
  const auto engine = StartShared(PoolOptionsOf(/*block_size=*/1'000));
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  ASSERT_EQ(keyspace.stats().ahead, 999U);
  faults_->change_keys_max = 300;
  clock_.Advance(std::chrono::seconds(30));
  for (int i = 0; i < 50; ++i) Later(*engine);
  EXPECT_GE(keyspace.stats().blocks_returned, 4U);
  EXPECT_EQ(keyspace.stats().blocks_burned, 0U);
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 1 + keyspace.stats().ahead);
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable), 999 - keyspace.stats().ahead);
}

TEST_F(PoolKeyspaceTest, WhoIsNotAskedTakesNothingThatOnlyGetsOld) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  for (int request = 0; request < 3; ++request) {
    EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
    const std::uint64_t taken = keyspace.stats().blocks_reserved;
    for (int i = 0; i < 20; ++i) Later(*engine, std::chrono::seconds(30));
    EXPECT_LE(keyspace.stats().blocks_reserved, taken + 1);
    EXPECT_EQ(keyspace.stats().ahead, 0U);
  }
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 3U);
}

// Its row is somebody else's by then, or nobody's.
TEST_F(PoolKeyspaceTest, WhatGotTooOldAndIsNotOursAnyMoreStaysAsItIs) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.recycle = true;
  recipe.quarantine_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 100);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  ASSERT_EQ(keyspace.stats().ahead, 99U);
  const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
  const auto released = memory_->key_table()->ChangeKeys(
      {.keyspace_id = record.id, .recipe_hash = record.recipe_hash, .witness = {}},
      {.match = {.state = KeyState::kUsed}, .to = KeyState::kReleased, .at_ms = clock_.WallMs()},
      clock_.Monotonic());
  ASSERT_TRUE(released.ok());
  Later(*engine, std::chrono::seconds(30));
  EXPECT_EQ(CountOf(*engine, KeyState::kReleased), 100U);
  EXPECT_EQ(keyspace.stats().blocks_burned, 1U);
}

TEST_F(PoolKeyspaceTest, WhatIsNotOfTheRecipeIsNeverHandedOut) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch));
  const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
  const auto added = memory_->key_table()->AddKeys(
      {.keyspace_id = record.id, .recipe_hash = record.recipe_hash, .witness = {}},
      {{.key = "by hand"}, {.key = "!!!!!!!"}, {.key = "abcdefg"}}, clock_.Monotonic());
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(Get(*engine, keyspace, 3), std::vector<std::string>{"abcdefg"});
}

// F1
TEST_F(PoolKeyspaceTest, AForkedChildGetsNone) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  const pid_t child = fork();
  if (child == 0) {
    std::array<char, 64> out{};
    const bool none = keyspace.TakeKeys(1, "", out.data()).keys == 0;
    _exit(none && keyspace.Verdict().code() == Code::kFailedPrecondition ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(TakeNow(keyspace, 1).size(), 1U);
}

TEST_F(PoolKeyspaceTest, TellsWhatItHas) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 20'000);
  const auto got = Get(*engine, keyspace, 10);
  const auto stats = keyspace.stats();
  EXPECT_EQ(stats.issued, 10U);
  EXPECT_EQ(stats.keys, 10U);
  EXPECT_EQ(stats.ahead, 90U);
  EXPECT_EQ(stats.available, 19'900U);
  const auto info = engine->Describe("k");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->used, 100U);
  EXPECT_EQ(info->ahead, 90U);
  EXPECT_EQ(engine->Explain("k", got[0])->state, Explanation::State::kIssued);
  EXPECT_EQ(engine->Explain("k", "0000000").code(), Code::kNotFound);
  EXPECT_THAT(engine->Explain("k", "short").status().message(), HasSubstr("5 symbols"));
}

TEST_F(PoolKeyspaceTest, TellsMonitoringHowManyAreAvailable) {
  const auto engine = StartShared();
  Get(*engine, MakePool(*engine, Pool(Audit::kBatch), 20'000), 10);
  MetricFamilies families;
  EngineMetrics(*engine).Collect(families);
  const MetricLabels labels = {{"keyspace", "k"}};
  EXPECT_EQ(families.Value("keymill_pool_available_keys", labels), 19'900);
  // Its numbers say nothing.
  EXPECT_EQ(families.Value("keymill_capacity_used_ratio", labels), -1);
}

TEST_F(PoolKeyspaceTest, ARetiredPoolGivesNothing) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  ASSERT_TRUE(engine->Retire("k").ok());
  EXPECT_TRUE(TakeNow(keyspace, 1).empty());
  EXPECT_EQ(keyspace.Verdict().code(), Code::kFailedPrecondition);
}

// U1, on the real clock and with the background thread, both ways to mark.
class PoolThreadsTest : public testing::TestWithParam<Audit> {};
INSTANTIATE_TEST_SUITE_P(Audit, PoolThreadsTest, testing::Values(Audit::kBatch, Audit::kKey));

TEST_P(PoolThreadsTest, ThreadsOfTwoInstancesGetEveryKeyOnce) {
  DisableLog();
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kEach = 2'000;
  const TempDir dir;
  const MonotonicTime soon = SystemClock().Monotonic() + std::chrono::seconds(60);
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < 2; ++i) {
    auto store =
        store::OpenSqliteStore({.path = dir.path() / "k.db", .create = true}, SystemClock(), soon);
    ASSERT_TRUE(store.ok()) << store.status().message();
    EngineOptions options;
    options.location = "test";
    options.store_timeout = std::chrono::seconds(30);
    options.refill.block_size = 50;
    options.pool.low = 1'000;
    engines.push_back(*Engine::Open(options, *std::move(store), *WitnessFile::Open(dir.path())));
    ASSERT_TRUE(engines.back()->Create("k", Pool(GetParam())).ok());
  }
  std::vector<std::vector<std::string>> got(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Engine& engine = *engines[i % 2];
      for (std::uint64_t size = 1; got[i].size() < kEach; size = size * 3 % 211 + 1) {
        const Status minted = engine.Mint(*engine.Find("k"), std::min(size, kEach - got[i].size()),
                                          soon, [&](std::string_view lines) {
                                            std::istringstream in{std::string(lines)};
                                            for (std::string key; in >> key;) got[i].push_back(key);
                                          });
        ASSERT_TRUE(minted.ok()) << minted.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& engine : engines) engine->Close();
  std::set<std::string> all;
  for (const auto& keys : got) all.insert(keys.begin(), keys.end());
  EXPECT_EQ(all.size(), kThreads * kEach);
  const auto store =
      store::OpenSqliteStore({.path = dir.path() / "k.db", .create = false}, SystemClock(), soon);
  ASSERT_TRUE(store.ok());
  const auto record = (*store)->FindKeyspace("k", soon);
  const auto counts = (*store)->key_table()->CountKeys(record->id, soon);
  ASSERT_TRUE(counts.ok()) << counts.status().message();
  EXPECT_EQ(counts->at(static_cast<std::size_t>(KeyState::kUsed)), all.size())
      << "a clean stop gives the others back";
  EXPECT_EQ(counts->at(static_cast<std::size_t>(KeyState::kReserved)), 0U);
}

}  // namespace
}  // namespace keymill::mint
