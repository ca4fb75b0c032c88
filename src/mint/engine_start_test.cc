// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How an engine comes to life: what it makes in an empty store, what it compares in another.

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine.h"
#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class EngineStartTest : public EngineTestBase {
 protected:
  static EngineOptions With(std::map<std::string, Recipe> keyspaces) {
    EngineOptions options = Options();
    options.keyspaces = std::move(keyspaces);
    return options;
  }
  Result<std::unique_ptr<Engine>> TryFaulty(EngineOptions options,
                                            std::unique_ptr<WitnessFile> witness = nullptr) {
    return Engine::Open(std::move(options), std::make_unique<FaultyStore>(memory_, faults_),
                        std::move(witness), clock_);
  }
  KeyspaceRecord InMemory(std::string_view name) {
    auto record = memory_->FindKeyspace(name, clock_.Monotonic());
    EXPECT_TRUE(record.ok()) << record.status().message();
    return record.ok() ? *record : KeyspaceRecord{};
  }
};

TEST_F(EngineStartTest, KeyspacesAreThereWithTheirFirstBlocks) {
  const auto engine = StartFaulty(With({{"orders", Orders()}, {"codes", LastCodes(900'000)}}));
  engine->StepForTest();
  EXPECT_EQ(engine->Find("orders")->stats().ahead, 100U);
  EXPECT_EQ(engine->Find("codes")->stats().ahead, 16U) << "a small keyspace";
  EXPECT_EQ(faults_->reserve_calls, 0) << "they came with the keyspaces";
  EXPECT_EQ(MintNumbers(*engine, *engine->Find("orders"), 3),
            (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(EngineStartTest, WithoutReservingAheadThereIsNoFirstBlock) {
  EngineOptions options = With({{"orders", Orders()}});
  options.refill.ahead_of_need = false;
  const auto engine = StartFaulty(options);
  engine->StepForTest();
  EXPECT_EQ(engine->Find("orders")->stats().ahead, 0U);
  EXPECT_EQ(InMemory("orders").next, 1U);
}

TEST_F(EngineStartTest, AFirstBlockIsFollowedByTheNextBeforeAnybodyWaits) {
  const auto engine = StartFaulty(With({{"orders", Orders()}}));
  engine->StepForTest();
  auto& keyspace = static_cast<CounterKeyspace&>(*engine->Find("orders"));
  EXPECT_EQ(keyspace.Take(60).count, 60U);
  engine->StepForTest();
  EXPECT_EQ(faults_->reserve_calls, 1);
  EXPECT_EQ(keyspace.stats().waited, 0U);
}

TEST_F(EngineStartTest, AnEmptyFileBecomesAStoreWithAWitnessOfItsFirstBlock) {
  const auto engine = Start(With({{"orders", Orders()}}), OpenEmptySqlite(), OpenWitness());
  EXPECT_EQ(engine->identity().store_id.size(), 32U);
  auto& keyspace = static_cast<CounterKeyspace&>(*engine->Find("orders"));
  const auto record = OpenSqlite()->FindKeyspace("orders", clock_.Monotonic());
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(record->next, 101U);
  EXPECT_EQ(*OpenWitness()->Read(engine->identity().store_id, keyspace.id()),
            (Witness{record->rev, record->next}))
      << "before the engine hands out anything";
  EXPECT_EQ(*OpenWitness()->RememberedLocation(), "test");
}

TEST_F(EngineStartTest, ASecondStartChangesNothing) {
  StartFaulty(With({{"orders", Orders()}}))->Close();
  const KeyspaceRecord before = InMemory("orders");
  const auto engine = StartFaulty(With({{"orders", Orders()}}));
  EXPECT_EQ(InMemory("orders").rev, before.rev);
  EXPECT_EQ(InMemory("orders").id, before.id);
  EXPECT_EQ(MintNumbers(*engine, *engine->Find("orders"), 0).size(), 0U);
}

TEST_F(EngineStartTest, WhatIsThereIsComparedBeforeTheRestIsMade) {
  StartFaulty(With({{"orders", Orders()}}))->Close();
  const auto refused = TryFaulty(With({{"a", Orders()}, {"orders", Orders(5)}}));
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("another recipe"));
  EXPECT_EQ(memory_->FindKeyspace("a", clock_.Monotonic()).code(), Code::kNotFound);
}

// Somebody else creates the keyspace between our look and our write.
TEST_F(EngineStartTest, OfTwoThatStartAtOnceTheSecondUsesWhatTheFirstMade) {
  faults_->find.push_back({{Code::kNotFound, "not yet"}, Faults::When::kBefore});
  auto first = StartFaulty(With({{"k", DefaultRecipe(Kind::kShuffled)}}));
  faults_->find.push_back({{Code::kNotFound, "not yet"}, Faults::When::kBefore});
  auto second = StartFaulty(With({{"k", DefaultRecipe(Kind::kShuffled)}}));
  ASSERT_EQ(faults_->granted.size(), 1U);
  EXPECT_EQ(second->Find("k")->recipe_hash(), first->Find("k")->recipe_hash());
  std::set<std::string> keys;
  for (Engine* const engine : {first.get(), second.get()}) {
    engine->Find("k")->Want();
    for (const std::string& key : Mint(*engine, *engine->Find("k"), 50)) keys.insert(key);
  }
  EXPECT_EQ(keys.size(), 100U);

  faults_->find.push_back({{Code::kNotFound, "not yet"}, Faults::When::kBefore});
  EXPECT_EQ(TryFaulty(With({{"k", Orders()}})).code(), Code::kFailedPrecondition) << "C1";
}

TEST_F(EngineStartTest, AStartWithoutAnAnswerIsRepeatedAndItsBlockBurned) {
  faults_->establish.push_back({{Code::kUnknownOutcome, "lost"}, Faults::When::kAfter});
  EXPECT_EQ(TryFaulty(With({{"orders", Orders()}})).code(), Code::kUnknownOutcome);
  ASSERT_EQ(faults_->granted.size(), 1U);
  const auto engine = StartFaulty(With({{"orders", Orders()}}));
  engine->Find("orders")->Want();
  EXPECT_EQ(MintNumbers(*engine, *engine->Find("orders"), 1).front(), 101U) << "N1";
}

// W1: nothing leaves before the witness knows, and nothing is lost because it does not.
TEST_F(EngineStartTest, AFirstBlockThatTheWitnessCannotKnowGoesBack) {
  auto witness = OpenWitness();
  std::filesystem::create_directory(data_dir() / "witness.new");
  const auto refused =
      Engine::Open(With({{"orders", Orders()}}), OpenEmptySqlite(), std::move(witness), clock_);
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  const auto store = OpenSqlite();
  const auto record = store->FindKeyspace("orders", clock_.Monotonic());
  ASSERT_TRUE(record.ok()) << record.status().message();
  const auto rows = store->ListLedger(record->id, 0, 10, clock_.Monotonic());
  ASSERT_TRUE(rows.ok() && rows->size() == 1);
  EXPECT_EQ(rows->front().count, 100U);
  EXPECT_EQ(rows->front().state, BlockState::kReturned);

  std::filesystem::remove(data_dir() / "witness.new");
  const auto engine = Start(With({{"orders", Orders()}}), OpenSqlite(), OpenWitness());
  engine->Find("orders")->Want();
  EXPECT_EQ(MintNumbers(*engine, *engine->Find("orders"), 1).front(), 1U);
}

TEST_F(EngineStartTest, NothingIsWrittenToAStoreThatTheWitnessDoesNotKnow) {
  StartSqlite()->Close();
  std::filesystem::remove(db());
  auto other = OpenSqlite();
  const auto refused =
      Engine::Open(With({{"orders", Orders()}}), std::move(other), OpenWitness(), clock_);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition) << "S2";
  EXPECT_EQ(OpenSqlite()->FindKeyspace("orders", clock_.Monotonic()).code(), Code::kNotFound);
}

}  // namespace
}  // namespace keymill::mint
