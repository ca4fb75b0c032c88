// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/engine.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class EngineTest : public EngineTestBase {
 protected:
  std::vector<LedgerRow> Ledger(const Keyspace& keyspace) {
    auto rows = memory_->ListLedger(keyspace.id(), 0, 1'000'000, clock_.Monotonic());
    EXPECT_TRUE(rows.ok());
    return *rows;
  }
  // Another instance takes a block of the memory store.
  Block ReserveAside(const Keyspace& keyspace, std::uint32_t count) {
    auto block = memory_->Reserve({.keyspace_id = keyspace.id(),
                                   .recipe_hash = keyspace.recipe_hash(),
                                   .count = count,
                                   .witness = {},
                                   .instance = "aside",
                                   .reservation = "aside-" + std::to_string(++asides_),
                                   .above = 0,
                                   .spent = {}},
                                  clock_.Monotonic());
    EXPECT_TRUE(block.ok()) << block.status().message();
    return *block;
  }
  void GiveBackAside(const Keyspace& keyspace, const Block& block, std::uint64_t first_unused) {
    EXPECT_TRUE(
        memory_->GiveBack({keyspace.id(), block.id, first_unused, {}}, clock_.Monotonic()).ok());
  }
  void Reaudit(Engine& engine) {
    clock_.Advance(engine.options().audit_interval);
    engine.StepForTest();
  }

  int asides_ = 0;
};

TEST_F(EngineTest, KeysOfOneKeyspaceDiffer) {
  const auto engine = StartMemory();
  CounterKeyspace& keyspace = Create(*engine, DefaultRecipe(Kind::kShuffled));
  const auto keys = Mint(*engine, keyspace, 5000);
  EXPECT_EQ(keys.size(), 5000U);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 5000U);
  EXPECT_EQ(keyspace.stats().issued, 5000U);
}

TEST_F(EngineTest, ASequenceCountsFromItsStart) {
  const auto engine = StartMemory();
  EXPECT_THAT(Mint(*engine, Create(*engine, Orders()), 3), ElementsAre("1", "2", "3"));
  EXPECT_THAT(Mint(*engine, Create(*engine, Orders(998, 4), "o"), 3),
              ElementsAre("0998", "0999", "1000"));
}

TEST_F(EngineTest, TwoEnginesOnOneFileNeverGiveTheSameKey) {
  for (const Kind kind : {Kind::kShuffled, Kind::kSequence}) {
    const auto a = StartSqlite();
    const auto b = StartSqlite();
    const std::string name(KindName(kind));
    CounterKeyspace& of_a = Create(*a, DefaultRecipe(kind), name);
    CounterKeyspace& of_b = Create(*b, DefaultRecipe(kind), name);
    std::set<std::string> seen;
    for (std::uint64_t round = 0; round < 12; ++round) {
      for (const auto& key : Mint(*a, of_a, 17 * round + 1)) EXPECT_TRUE(seen.insert(key).second);
      for (const auto& key : Mint(*b, of_b, 250 - 19 * round)) {
        EXPECT_TRUE(seen.insert(key).second);
      }
    }
    EXPECT_GT(seen.size(), 2000U);
  }
}

TEST_F(EngineTest, CreatorsThatRaceAgreeOnOneSecret) {
  constexpr std::size_t kRacers = 8;
  const auto shared = StartSqlite();
  std::vector<std::unique_ptr<Engine>> engines;
  for (std::size_t i = 0; i < kRacers / 2; ++i) engines.push_back(StartSqlite());
  std::vector<std::string> hashes(kRacers);
  std::atomic<int> fresh{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kRacers; ++i) {
    threads.emplace_back([&, i] {
      Engine& engine = i < engines.size() ? *engines[i] : *shared;
      auto created = engine.Create("links", DefaultRecipe(Kind::kShuffled));
      ASSERT_TRUE(created.ok()) << created.status().message();
      hashes[i] = created->keyspace->recipe_hash();
      if (created->fresh) ++fresh;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(hashes.begin(), hashes.end()).size(), 1U);
  EXPECT_EQ(fresh, 1);
}

TEST_F(EngineTest, CreatingTwiceIsFreshOnce) {
  for (const Kind kind : {Kind::kShuffled, Kind::kSequence}) {
    const auto engine = StartMemory();
    EXPECT_TRUE(engine->Create("k", DefaultRecipe(kind))->fresh);
    EXPECT_FALSE(engine->Create("k", DefaultRecipe(kind))->fresh) << KindName(kind);
  }
}

TEST_F(EngineTest, AnotherRecipeIsRefusedAndTheDifferenceNamed) {
  const auto engine = StartMemory();
  Create(*engine, DefaultRecipe(Kind::kShuffled));
  Recipe longer = DefaultRecipe(Kind::kShuffled);
  longer.length = 8;
  longer.prefix = "x_";
  const auto refused = engine->Create("k", longer);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("length is 7 in the store, 8 here"));
  EXPECT_THAT(refused.status().message(), HasSubstr("prefix"));
  EXPECT_THAT(refused.status().message(), testing::Not(HasSubstr("alphabet")));
}

TEST_F(EngineTest, NamesAndRecipesThatCannotBeAreRefused) {
  const auto engine = StartMemory();
  EXPECT_EQ(engine->Create("", Orders()).code(), Code::kInvalidArgument);
  EXPECT_EQ(engine->Create("a b", Orders()).code(), Code::kInvalidArgument);
  EXPECT_EQ(engine->Create("k", Orders(1000, 3)).code(), Code::kInvalidArgument);
  EXPECT_EQ(engine->Lookup("k").code(), Code::kNotFound);
  EXPECT_EQ(engine->Lookup("a b").code(), Code::kInvalidArgument);
}

TEST_F(EngineTest, ARetiredKeyspaceStopsForEveryEngineAndItsNameIsNeverReused) {
  const auto a = StartSqlite();
  const auto b = StartSqlite();
  CounterKeyspace& of_a = Create(*a, Orders());
  CounterKeyspace& of_b = Create(*b, Orders());
  EXPECT_EQ(Mint(*b, of_b, 5).size(), 5U);
  ASSERT_TRUE(a->Retire("k").ok());
  EXPECT_EQ(of_a.Verdict().code(), Code::kFailedPrecondition);
  Reaudit(*b);
  Status outcome;
  EXPECT_TRUE(Mint(*b, of_b, 1, &outcome).empty());
  EXPECT_EQ(outcome.code(), Code::kFailedPrecondition);
  const auto again = a->Create("k", Orders());
  EXPECT_EQ(again.code(), Code::kFailedPrecondition);
  EXPECT_THAT(again.status().message(), HasSubstr("never reused"));
  EXPECT_EQ(a->Retire("nobody").code(), Code::kNotFound);
}

TEST_F(EngineTest, EndsExactlyAtTheLastKey) {
  for (const Recipe& recipe : {LastCodes(50), Orders(950, 3)}) {
    const auto engine = StartMemory();
    CounterKeyspace& keyspace = Create(*engine, recipe);
    Status outcome;
    const auto keys = Mint(*engine, keyspace, 60, &outcome);
    EXPECT_EQ(keys.size(), 50U);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 50U);
    EXPECT_EQ(outcome.code(), Code::kExhausted);
    EXPECT_EQ(engine->Describe("k")->left, 0U);
  }
}

TEST_F(EngineTest, CountsUpToTheLastNumberThereIs) {
  constexpr std::uint64_t kStart = (std::uint64_t{1} << 63) - 10;
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders(kStart));
  Status outcome;
  const auto numbers = MintNumbers(*engine, keyspace, 20, &outcome);
  ASSERT_EQ(numbers.size(), 9U);
  for (std::uint64_t i = 0; i < 9; ++i) EXPECT_EQ(numbers[i], kStart + i);
  EXPECT_EQ(outcome.code(), Code::kExhausted);
}

TEST_F(EngineTest, AnExhaustedKeyspaceIsAvailableAgainWhenSomebodyGivesBack) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, LastCodes(50));
  const Block aside = ReserveAside(keyspace, 20);
  Status outcome;
  auto keys = Mint(*engine, keyspace, 60, &outcome);
  EXPECT_EQ(keys.size(), 30U);
  EXPECT_EQ(outcome.code(), Code::kExhausted);
  GiveBackAside(keyspace, aside, aside.first + 5);
  const int calls = faults_->reserve_calls;
  engine->StepForTest();
  EXPECT_EQ(faults_->reserve_calls, calls) << "an exhausted one is asked now and then only";
  Reaudit(*engine);
  const auto more = Mint(*engine, keyspace, 60, &outcome);
  EXPECT_EQ(more.size(), 15U);
  EXPECT_EQ(outcome.code(), Code::kExhausted);
  keys.insert(keys.end(), more.begin(), more.end());
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 45U);
}

TEST_F(EngineTest, ACleanStopLosesNothing) {
  std::uint64_t next = 1;
  for (std::uint64_t cycle = 0; cycle < 12; ++cycle) {
    const auto engine = StartSqlite();
    CounterKeyspace& keyspace = Create(*engine, Orders());
    const auto numbers = MintNumbers(*engine, keyspace, cycle * 31 % 170);
    for (const std::uint64_t number : numbers) ASSERT_EQ(number, next++) << "cycle " << cycle;
    const std::uint64_t ahead = keyspace.stats().ahead;
    EXPECT_EQ(engine->Close(), ahead) << "everything that was left is given back";
    EXPECT_EQ(engine->Close(), 0U) << "once";
  }
  const auto store = OpenSqlite();
  const auto record = store->FindKeyspace("k", clock_.Monotonic());
  const auto rows = store->ListLedger(record->id, 0, 1000, clock_.Monotonic());
  ASSERT_TRUE(rows.ok());
  std::uint64_t end = 1;
  for (const LedgerRow& row : *rows) {
    EXPECT_EQ(row.first, end) << "no hole and no overlap";
    end = row.first + row.count;
    EXPECT_EQ(row.state, row.first < next ? BlockState::kSpent : BlockState::kReturned);
  }
  EXPECT_EQ(end, record->next);
}

TEST_F(EngineTest, ACrashLosesAtMostWhatTheReservoirHeld) {
  static auto* const graveyard = new std::vector<std::unique_ptr<Engine>>;
  std::uint64_t lost = 0;
  std::uint64_t last = 0;
  std::uint64_t minted = 0;
  for (std::uint64_t life = 0; life < 5; ++life) {
    auto engine = StartSqlite();
    CounterKeyspace& keyspace = Create(*engine, Orders());
    const auto numbers = MintNumbers(*engine, keyspace, 30 + 40 * life);
    EXPECT_GT(numbers.front(), last) << "nothing is repeated";
    last = numbers.back();
    minted += numbers.size();
    lost += keyspace.stats().ahead;
    graveyard->push_back(std::move(engine));  // Never closed: as if the process had died.
  }
  const auto engine = StartSqlite();
  const auto next = MintNumbers(*engine, Create(*engine, Orders()), 1);
  EXPECT_EQ(next.front(), 1 + minted + lost);
}

TEST_F(EngineTest, ASequenceCountsUpwardsAlthoughLowerNumbersWereGivenBack) {
  auto a = StartSqlite();
  const auto b = StartSqlite();
  CounterKeyspace& of_a = Create(*a, Orders());
  CounterKeyspace& of_b = Create(*b, Orders());
  EXPECT_EQ(MintNumbers(*a, of_a, 10).back(), 10U);
  EXPECT_EQ(MintNumbers(*b, of_b, 5).front(), 101U);
  EXPECT_EQ(a->Close(), 90U);
  const auto numbers = MintNumbers(*b, of_b, 400);
  EXPECT_EQ(numbers.front(), 106U);
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  const auto c = StartSqlite();
  EXPECT_EQ(MintNumbers(*c, Create(*c, Orders()), 1).front(), 11U) << "a new instance may";
}

// The row of the instance's first block grows after a returned block came in between. What is
// given back at the end must not contain a number that was handed out.
TEST_F(EngineTest, ARowThatGrowsAfterAReturnedBlockIsNotGivenBackTwice) {
  auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, DefaultRecipe(Kind::kShuffled));
  const Block aside = ReserveAside(keyspace, 100);  // [0, 100)
  engine->WarmUp(keyspace);                         // [100, 200)
  GiveBackAside(keyspace, aside, 95);
  auto numbers = MintNumbers(*engine, keyspace, 50);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto more = MintNumbers(*engine, keyspace, 3);
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  ASSERT_EQ(faults_->granted.size(), 3U);
  ASSERT_EQ(faults_->granted[1].first, 95U);
  ASSERT_EQ(faults_->granted[2].id, faults_->granted[0].id) << "the first row grew";
  const auto rest = MintNumbers(*engine, keyspace, 60);
  numbers.insert(numbers.end(), rest.begin(), rest.end());
  EXPECT_EQ(numbers.back(), std::max(numbers.back(), std::uint64_t{200})) << "in the grown part";
  engine->Close();

  engine = StartFaulty(Options());
  const auto after = MintNumbers(*engine, Create(*engine, DefaultRecipe(Kind::kShuffled)), 300);
  numbers.insert(numbers.end(), after.begin(), after.end());
  EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size(), numbers.size());
}

// Instances come, mint, and go at random. No number is given twice, and when all have stopped
// cleanly every number below `next` is either out or returned.
TEST_F(EngineTest, InstancesThatComeAndGoRepeatNothingAndLoseNothing) {
  for (const Kind kind : {Kind::kShuffled, Kind::kSequence}) {
    const std::string name(KindName(kind));
    std::uint64_t random = 88172645463325252U + static_cast<std::uint64_t>(kind);
    const auto roll = [&random](std::uint64_t sides) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      return random % sides;
    };
    std::vector<std::unique_ptr<Engine>> engines(4);
    std::set<std::uint64_t> out;
    std::string id;
    for (int step = 0; step < 2000; ++step) {
      auto& engine = engines[roll(step < 1000 ? 2 : engines.size())];
      if (!engine) {
        EngineOptions options = Options(static_cast<std::uint32_t>(1 + roll(60)));
        options.refill.runway_target = std::chrono::milliseconds(1000 * roll(2));
        engine = StartFaulty(options);
        id = Create(*engine, DefaultRecipe(kind), name).id();
      } else if (roll(12) == 0) {
        engine.reset();
      } else {
        Keyspace& keyspace = *engine->Find(name);
        for (const std::uint64_t number : MintNumbers(*engine, keyspace, roll(40))) {
          ASSERT_TRUE(out.insert(number).second) << "number " << number << " twice";
        }
        clock_.Advance(std::chrono::milliseconds(roll(500)));
      }
    }
    engines.clear();
    std::uint64_t returned = 0;
    const auto rows = memory_->ListLedger(id, 0, 1'000'000, clock_.Monotonic());
    for (const LedgerRow& row : *rows) {
      ASSERT_NE(row.state, BlockState::kHeld);
      if (row.state == BlockState::kReturned) returned += row.count;
    }
    const auto record = memory_->FindKeyspace(name, clock_.Monotonic());
    EXPECT_EQ(out.size() + returned, record->next - record->first);
  }
}

TEST_F(EngineTest, ExplainTellsIssuedFromReservedFromNeverIssued) {
  auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  EXPECT_EQ(Mint(*engine, keyspace, 10).size(), 10U);
  const auto issued = engine->Explain("k", "10");
  ASSERT_TRUE(issued.ok()) << issued.status().message();
  EXPECT_EQ(issued->state, Explanation::State::kIssued);
  EXPECT_EQ(issued->number, 10U);
  EXPECT_EQ(issued->block->instance, engine->instance());
  EXPECT_EQ(engine->Explain("k", "11")->state, Explanation::State::kReserved);
  EXPECT_EQ(engine->Explain("k", "101").code(), Code::kNotFound) << "not reserved by anybody";
  EXPECT_EQ(engine->Explain("k", "0").code(), Code::kNotFound);
  EXPECT_EQ(engine->Explain("k", "x").code(), Code::kNotFound) << "no key of this keyspace";
  EXPECT_EQ(engine->Explain("nobody", "1").code(), Code::kNotFound);

  const Block aside = ReserveAside(keyspace, 10);
  EXPECT_EQ(engine->Explain("k", "101")->state, Explanation::State::kReserved)
      << "another instance holds it";
  EXPECT_EQ(engine->Explain("k", "101")->block->instance, "aside");
  GiveBackAside(keyspace, aside, 103);
  EXPECT_EQ(engine->Explain("k", "102")->state, Explanation::State::kIssued);
  EXPECT_EQ(engine->Explain("k", "103").code(), Code::kNotFound) << "given back unused";
  ASSERT_TRUE(memory_->Quarantine(keyspace.id(), "test", {}, clock_.Monotonic()).ok());
  ASSERT_TRUE(engine->Recover("k").ok());
  EXPECT_EQ(engine->Explain("k", "103")->state, Explanation::State::kUnknown) << "burned";
  EXPECT_EQ(ExplanationStateName(Explanation::State::kUnknown), "unknown");
}

TEST_F(EngineTest, SpentBlocksAreToldToTheLedgerInPassing) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  for (int i = 0; i < 5; ++i) {
    Mint(*engine, keyspace, 100);
    ReserveAside(keyspace, 1);  // So that the next block is a row of its own.
  }
  Mint(*engine, keyspace, 100);
  const auto rows = Ledger(keyspace);
  EXPECT_EQ(rows.front().state, BlockState::kSpent);
  EXPECT_EQ(engine->Explain("k", "1")->state, Explanation::State::kIssued);
}

TEST_F(EngineTest, DescribeTellsHowFarAKeyspaceHasCome) {
  const auto engine = StartMemory();
  CounterKeyspace& keyspace = Create(*engine, Orders(1, 6));
  const auto fresh = engine->Describe("k");
  EXPECT_EQ(fresh->capacity, 999'999U);
  EXPECT_EQ(fresh->used, 0U);
  EXPECT_FALSE(fresh->exhausted_at_ms.has_value());
  EXPECT_FALSE(fresh->runway_seconds.has_value());
  engine->WarmUp(keyspace);
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(std::chrono::seconds(1));
    EXPECT_EQ(Mint(*engine, keyspace, 5).size(), 5U);
  }
  const auto info = engine->Describe("k");
  EXPECT_EQ(info->used + info->left, info->capacity);
  EXPECT_GT(info->rate, 0);
  EXPECT_TRUE(info->runway_seconds.has_value());
  ASSERT_TRUE(info->exhausted_at_ms.has_value());
  EXPECT_GT(*info->exhausted_at_ms, clock_.WallMs());
  EXPECT_TRUE(info->record.secret.empty()) << "nobody outside needs it";
  EXPECT_EQ(engine->List()->size(), 1U);
  EXPECT_EQ(engine->Describe("nobody").code(), Code::kNotFound);
}

TEST_F(EngineTest, NothingIsMintedAfterClose) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  engine->WarmUp(keyspace);
  EXPECT_TRUE(engine->Ready().ok());
  engine->Close();
  EXPECT_EQ(engine->Ready().code(), Code::kUnavailable);
  const int calls = faults_->reserve_calls;
  CounterKeyspace& late = Create(*engine, Orders(), "late");
  engine->WarmUp(late);
  EXPECT_EQ(faults_->reserve_calls, calls);
  EXPECT_EQ(late.Take(1).count, 0U);
  EXPECT_EQ(keyspace.Take(1).count, 0U);
}

TEST_F(EngineTest, ABlocklistThatLeavesNoKeysIsRefused) {
  std::vector<std::string> all;
  for (int i = 0; i < 1000; ++i) {
    const std::string digits = std::to_string(i);
    all.push_back(std::string(3 - digits.size(), '0') + digits);
  }
  const auto engine = StartMemory();
  Recipe fixed = Orders(0, 3);
  Recipe growing = Orders();
  Recipe shuffled = LastCodes(1'000'000);
  for (Recipe* const recipe : {&fixed, &growing, &shuffled}) {
    recipe->blocklist = all;
    const auto refused = engine->Create("k", *recipe);
    EXPECT_EQ(refused.code(), Code::kInvalidArgument);
    EXPECT_THAT(refused.status().message(), HasSubstr("leaves no keys"));
    EXPECT_EQ(engine->Lookup("k").code(), Code::kNotFound) << "and it was not created";
    recipe->blocklist.pop_back();
  }
  EXPECT_TRUE(engine->Create("k", fixed).ok()) << "999 is left";
}

TEST_F(EngineTest, BlockedNumbersAreSkipped) {
  const auto engine = StartMemory();
  Recipe recipe = Orders(110, 3);
  recipe.blocklist = {"111", "112"};
  EXPECT_THAT(Mint(*engine, Create(*engine, recipe), 3), ElementsAre("110", "113", "114"));
}

// ---- With the background thread, on the real clock: nothing waits for time to pass. ----

class BackgroundEngineTest : public testing::Test {
 protected:
  BackgroundEngineTest() { DisableLog(); }
  static EngineOptions Options() {
    EngineOptions options;
    options.location = "test";
    return options;
  }
  static MonotonicTime Soon() { return SystemClock().Monotonic() + std::chrono::seconds(60); }
};

// A sequence may run into a desert that a word makes: ten million numbers begin with 100.
TEST_F(BackgroundEngineTest, ALongRunOfBlockedNumbersEndsTheCallInsteadOfTheKeyspace) {
  auto engine = *Engine::Open(Options(), store::OpenMemoryStore(), nullptr);
  Recipe recipe = Orders(999'999'990, 10);
  recipe.blocklist = {"100"};
  auto created = engine->Create("k", recipe);
  ASSERT_TRUE(created.ok()) << created.status().message();
  std::string lines;
  const Status outcome =
      engine->Mint(*created->keyspace, 20, Soon(), [&](std::string_view some) { lines += some; });
  EXPECT_EQ(outcome.code(), Code::kFailedPrecondition);
  EXPECT_THAT(outcome.message(), HasSubstr("blocklist"));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 10);
  EXPECT_LT(created->keyspace->stats().issued, 2'000'000U);
}

TEST_F(BackgroundEngineTest, ThreadsThatMintAtOnceGetDifferentKeysAndEachCountsUpwards) {
  constexpr std::size_t kThreads = 4;
  constexpr std::uint64_t kEach = 30'000;
  auto engine = *Engine::Open(Options(), store::OpenMemoryStore(), nullptr);
  auto created = engine->Create("k", Orders(0));
  ASSERT_TRUE(created.ok());
  Keyspace& keyspace = *created->keyspace;
  std::vector<std::vector<std::uint64_t>> got(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::uint64_t size = 1; got[i].size() < kEach; size = size * 3 % 1009 + 1) {
        const Status minted = engine->Mint(keyspace, std::min(size, kEach - got[i].size()), Soon(),
                                           [&](std::string_view lines) {
                                             std::istringstream in{std::string(lines)};
                                             for (std::uint64_t number = 0; in >> number;)
                                               got[i].push_back(number);
                                           });
        ASSERT_TRUE(minted.ok()) << minted.message();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<bool> seen;
  for (const auto& numbers : got) {
    EXPECT_EQ(numbers.size(), kEach);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    for (const std::uint64_t number : numbers) {
      if (number >= seen.size()) seen.resize(number + 1);
      ASSERT_FALSE(seen[number]) << number;
      seen[number] = true;
    }
  }
  EXPECT_EQ(seen.size(), kThreads * kEach) << "one instance leaves no hole";
}

TEST_F(BackgroundEngineTest, EnginesThatShareAFileAndAWitnessStayOpenUnderLoad) {
  const TempDir dir;
  std::vector<std::unique_ptr<Engine>> engines;
  for (int i = 0; i < 3; ++i) {
    auto store = store::OpenSqliteStore({.path = dir.path() / "k.db", .create = true},
                                        SystemClock(), Soon());
    ASSERT_TRUE(store.ok()) << store.status().message();
    EngineOptions options = Options();
    options.refill.block_size = 50;
    options.refill.grow = false;
    options.store_timeout = std::chrono::seconds(30);
    options.audit_interval = std::chrono::milliseconds(1);  // Look all the time.
    engines.push_back(*Engine::Open(options, *std::move(store), *WitnessFile::Open(dir.path())));
  }
  std::vector<std::set<std::string>> got(engines.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    threads.emplace_back([&, i] {
      auto created = engines[i]->Create("k", DefaultRecipe(Kind::kShuffled));
      ASSERT_TRUE(created.ok()) << created.status().message();
      const Status minted =
          engines[i]->Mint(*created->keyspace, 1500, Soon(), [&](std::string_view lines) {
            std::istringstream in{std::string(lines)};
            for (std::string key; in >> key;) got[i].insert(key);
          });
      EXPECT_TRUE(minted.ok()) << minted.message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& keys : got) {
    EXPECT_EQ(keys.size(), 1500U);
    all.insert(keys.begin(), keys.end());
  }
  EXPECT_EQ(all.size(), 4500U);
}

TEST_F(BackgroundEngineTest, CloseWakesWhoeverWaits) {
  auto faults = std::make_shared<Faults>();
  for (int i = 0; i < 1000; ++i) faults->reserve.push_back({{Code::kUnavailable, "away"}, {}});
  auto engine = *Engine::Open(
      Options(), std::make_unique<FaultyStore>(store::OpenMemoryStore(), faults), nullptr);
  auto created = engine->Create("k", Orders());
  ASSERT_TRUE(created.ok());
  Status outcome;
  std::thread waiting(
      [&] { outcome = engine->Mint(*created->keyspace, 1, Soon(), [](std::string_view) {}); });
  while (created->keyspace->stats().waiting == 0) std::this_thread::yield();
  engine->Close();
  waiting.join();
  EXPECT_EQ(outcome.code(), Code::kUnavailable);
  EXPECT_THAT(outcome.message(), HasSubstr("shutting down"));
}

}  // namespace
}  // namespace keymill::mint
