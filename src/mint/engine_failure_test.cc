// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The engine with a store or a witness that fails.

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine.h"
#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class EngineFailureTest : public EngineTestBase {
 protected:
  // It can still be read, but a new one cannot be written beside it.
  void MakeWitnessUnwritable() { std::filesystem::create_directory(data_dir() / "witness.new"); }
  void MakeWitnessWritable() { std::filesystem::remove(data_dir() / "witness.new"); }

  void FailNextReserve(Code code, Faults::When when = Faults::When::kBefore) {
    faults_->reserve.push_back({{code, "injected"}, when});
  }
  void PassThePause() { clock_.Advance(std::chrono::milliseconds(50)); }
  std::vector<LedgerRow> Ledger(const Keyspace& keyspace) {
    return *memory_->ListLedger(keyspace.id(), 0, 1000, clock_.Monotonic());
  }
};

TEST_F(EngineFailureTest, AStoreThatIsAwayIsAskedAgainAfterAPause) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  FailNextReserve(Code::kUnavailable);
  Status outcome;
  EXPECT_TRUE(Mint(*engine, keyspace, 1, &outcome).empty());
  EXPECT_EQ(outcome.code(), Code::kUnavailable);
  EXPECT_THAT(outcome.message(), HasSubstr("injected"));
  EXPECT_EQ(engine->Ready().code(), Code::kUnavailable);
  for (int i = 0; i < 20; ++i) engine->StepForTest();
  EXPECT_EQ(faults_->reserve_calls, 1) << "left alone for a while, whoever asks";
  PassThePause();
  EXPECT_EQ(MintNumbers(*engine, keyspace, 1).front(), 1U);
  EXPECT_EQ(faults_->reserve_calls, 2);
  EXPECT_TRUE(engine->Ready().ok());
}

TEST_F(EngineFailureTest, WhatNobodyAsksForDoesNotMakeAServerReady) {
  const auto engine = StartFaulty(Options(100));
  CounterKeyspace& orders = Create(*engine, Orders());
  CounterKeyspace& other = Create(*engine, Orders(), "other");
  engine->WarmUp(orders);
  engine->WarmUp(other);
  for (int i = 0; i < 50; ++i) FailNextReserve(Code::kUnavailable);
  Status outcome;
  EXPECT_EQ(Mint(*engine, orders, 150, &outcome).size(), 100U);
  ASSERT_EQ(outcome.code(), Code::kUnavailable);
  EXPECT_EQ(engine->Ready().code(), Code::kUnavailable) << "nobody wants the other's";
  ASSERT_EQ(Mint(*engine, other, 1).size(), 1U);
  EXPECT_TRUE(engine->Ready().ok()) << "now somebody does";
}

TEST_F(EngineFailureTest, WhatIsInTheReservoirLastsWhileTheStoreIsAway) {
  const auto engine = StartFaulty(Options(1000));
  CounterKeyspace& keyspace = Create(*engine, Orders());
  engine->WarmUp(keyspace);
  for (int i = 0; i < 50; ++i) FailNextReserve(Code::kUnavailable);
  EXPECT_EQ(Mint(*engine, keyspace, 900).size(), 900U);
  EXPECT_TRUE(engine->Ready().ok()) << "it can still mint";
  PassThePause();
  Status outcome;
  EXPECT_EQ(Mint(*engine, keyspace, 900, &outcome).size(), 100U);
  EXPECT_EQ(outcome.code(), Code::kUnavailable);
}

// The write landed, the answer did not: the numbers are lost, and nobody may guess.
TEST_F(EngineFailureTest, AnUnknownOutcomeIsBurnedAndCountedAndNeverUsed) {
  for (const Kind kind : {Kind::kSequence, Kind::kShuffled}) {
    const std::string name(KindName(kind));
    faults_->granted.clear();
    auto engine = StartFaulty(Options());
    CounterKeyspace& keyspace = Create(*engine, DefaultRecipe(kind), name);
    auto numbers = MintNumbers(*engine, keyspace, 60);
    FailNextReserve(Code::kUnknownOutcome, Faults::When::kAfter);
    PassThePause();
    const auto more = MintNumbers(*engine, keyspace, 20);
    numbers.insert(numbers.end(), more.begin(), more.end());
    const Block lost = faults_->granted.back();
    PassThePause();
    const auto after = MintNumbers(*engine, keyspace, 300);
    EXPECT_EQ(after.size(), 300U);
    numbers.insert(numbers.end(), after.begin(), after.end());
    for (const std::uint64_t number : numbers) {
      EXPECT_FALSE(number >= lost.first && number < lost.first + lost.count) << number;
    }
    EXPECT_EQ(keyspace.stats().blocks_burned, 1U);
    engine->Close();
    engine = StartFaulty(Options());
    const auto later = MintNumbers(*engine, Create(*engine, DefaultRecipe(kind), name), 300);
    numbers.insert(numbers.end(), later.begin(), later.end());
    EXPECT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size(), numbers.size());
  }
}

TEST_F(EngineFailureTest, AnUnknownOutcomeThatDidNotLandCostsNothing) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  FailNextReserve(Code::kUnknownOutcome);
  engine->StepForTest();
  PassThePause();
  EXPECT_EQ(MintNumbers(*engine, keyspace, 1).front(), 1U);
  EXPECT_EQ(keyspace.stats().blocks_burned, 1U);
}

TEST_F(EngineFailureTest, AFailureForGoodIsReportedOnceAndEndsMinting) {
  int fatal = 0;
  EngineOptions options = Options();
  options.on_fatal = [&](const Status& why) {
    ++fatal;
    EXPECT_EQ(why.code(), Code::kInternal);
  };
  const auto engine = StartFaulty(options);
  CounterKeyspace& keyspace = Create(*engine, Orders());
  CounterKeyspace& other = Create(*engine, Orders(), "other");
  engine->WarmUp(other);
  EXPECT_GT(other.stats().ahead, 0U);
  FailNextReserve(Code::kInternal);
  FailNextReserve(Code::kInternal);
  engine->StepForTest();
  engine->StepForTest();
  EXPECT_EQ(fatal, 1);
  EXPECT_EQ(faults_->reserve_calls, 2) << "the store is not touched any more";
  for (Keyspace* const each : {&keyspace, &other}) {
    Status outcome;
    EXPECT_TRUE(Mint(*engine, *each, 1, &outcome).empty());
    EXPECT_EQ(outcome.code(), Code::kInternal);
  }
  EXPECT_EQ(engine->Ready().code(), Code::kInternal);

  CounterKeyspace& late = Create(*engine, Orders(), "late");
  engine->WarmUp(late);
  EXPECT_EQ(late.Take(1).count, 0U) << "nor does a new keyspace bring it back";
  EXPECT_EQ(late.Verdict().code(), Code::kInternal);
  EXPECT_EQ(faults_->reserve_calls, 2);
}

TEST_F(EngineFailureTest, ADamagedStoreIsNoticedByTheLookAtItToo) {
  int fatal = 0;
  EngineOptions options = Options();
  options.on_fatal = [&](const Status&) { ++fatal; };
  const auto engine = StartFaulty(options);
  CounterKeyspace& keyspace = Create(*engine, Orders());
  engine->WarmUp(keyspace);
  faults_->list.push_back({{Code::kInternal, "damaged"}, {}});
  clock_.Advance(options.audit_interval);
  engine->StepForTest();
  EXPECT_EQ(fatal, 1);
  EXPECT_EQ(keyspace.Take(1).count, 0U);
}

TEST_F(EngineFailureTest, OneLookThatFailsStopsNothing) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  engine->WarmUp(keyspace);
  faults_->list.push_back({{Code::kUnavailable, "away"}, {}});
  engine->StepForTest();
  EXPECT_EQ(keyspace.Take(1).count, 1U);
}

TEST_F(EngineFailureTest, AStoreThatIsAwayDoesNotMakeAKeyspaceUnknown) {
  const auto engine = StartFaulty(Options());
  faults_->find.push_back({{Code::kUnavailable, "away"}, {}});
  EXPECT_EQ(engine->Lookup("k").code(), Code::kUnavailable);
  faults_->find.push_back({{Code::kUnavailable, "away"}, {}});
  EXPECT_EQ(engine->Create("k", Orders()).code(), Code::kUnavailable);
  EXPECT_EQ(engine->Lookup("k").code(), Code::kNotFound);
}

// A sibling held the lock for a moment.
TEST_F(EngineFailureTest, ATailIsOfferedOnceMoreBeforeItIsBurned) {
  auto engine = StartFaulty(Options());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 10).back(), 10U);
  faults_->give_back.push_back({{Code::kUnavailable, "busy"}, {}});
  EXPECT_EQ(engine->Close(), 90U);
  engine = StartFaulty(Options());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 1).front(), 11U) << "nothing is lost";
}

TEST_F(EngineFailureTest, AStoreThatStaysAwayIsNotAskedForEveryBlock) {
  auto engine = StartFaulty(Options());
  Create(*engine, Orders());
  Create(*engine, Orders(), "k2");
  engine->StepForTest();
  for (int i = 0; i < 2; ++i) faults_->give_back.push_back({{Code::kUnavailable, "away"}, {}});
  EXPECT_EQ(engine->Close(), 0U) << "both keyspaces' blocks are burned after two attempts";
}

TEST_F(EngineFailureTest, WhatIsNotGivenBackByTheDeadlineIsBurned) {
  auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  EXPECT_EQ(MintNumbers(*engine, keyspace, 10).back(), 10U);
  EXPECT_EQ(engine->Close(clock_.Monotonic()), 0U);
  engine = StartFaulty(Options());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 1).front(), 101U);
}

TEST_F(EngineFailureTest, ATailThatCannotBeGivenBackIsBurned) {
  auto engine = StartFaulty(Options());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 10).back(), 10U);
  faults_->give_back.push_back({{Code::kUnknownOutcome, "lost"}, {}});
  EXPECT_EQ(engine->Close(), 0U);
  engine = StartFaulty(Options());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 1).front(), 101U);
}

TEST_F(EngineFailureTest, AGiveBackThatLandedWithoutAnAnswerIsUsedOnce) {
  auto engine = StartFaulty(Options());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 10).back(), 10U);
  faults_->give_back.push_back({{Code::kUnknownOutcome, "lost"}, Faults::When::kAfter});
  EXPECT_EQ(engine->Close(), 0U);
  engine = StartFaulty(Options());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 1).front(), 11U);
}

TEST_F(EngineFailureTest, NothingIsReservedWithoutAWitness) {
  const auto engine = StartFaulty(Options(), OpenWitness());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  std::filesystem::remove_all(data_dir());
  engine->StepForTest();
  EXPECT_EQ(faults_->granted.size(), 0U);
  EXPECT_EQ(keyspace.DeadlineVerdict().code(), Code::kUnavailable);
  EXPECT_FALSE(engine->Ready().ok());

  std::filesystem::create_directory(data_dir());
  PassThePause();
  EXPECT_EQ(MintNumbers(*engine, keyspace, 1).front(), 1U) << "and it recovers";
}

TEST_F(EngineFailureTest, ABlockThatTheWitnessDoesNotKnowIsWithheld) {
  auto engine = StartFaulty(Options(), OpenWitness());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MakeWitnessUnwritable();
  for (int i = 0; i < 5; ++i) {
    engine->StepForTest();
    PassThePause();
  }
  EXPECT_EQ(faults_->granted.size(), 1U) << "no block after block";
  EXPECT_EQ(keyspace.Take(1).count, 0U);
  EXPECT_EQ(keyspace.DeadlineVerdict().code(), Code::kUnavailable);
  EXPECT_FALSE(engine->Ready().ok());

  MakeWitnessWritable();
  EXPECT_EQ(MintNumbers(*engine, keyspace, 1).front(), 1U) << "and it recovers, without a gap";
  EXPECT_EQ(faults_->granted.size(), 1U);
  EXPECT_TRUE(engine->Ready().ok());
}

TEST_F(EngineFailureTest, AWithheldBlockIsGivenBackAtACleanStop) {
  auto engine = StartFaulty(Options(), OpenWitness());
  Create(*engine, Orders());
  MakeWitnessUnwritable();
  engine->StepForTest();
  EXPECT_EQ(engine->Close(), 100U);
  MakeWitnessWritable();
  engine = StartFaulty(Options(), OpenWitness());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 1).front(), 1U);
}

// The refused block extends a row of which the reservoir still holds numbers.
TEST_F(EngineFailureTest, AWitnessThatFailsLaterDoesNotSettleTheBlocksInUse) {
  auto engine = StartFaulty(Options(), OpenWitness());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  auto numbers = MintNumbers(*engine, keyspace, 60);
  MakeWitnessUnwritable();
  engine->StepForTest();
  ASSERT_EQ(faults_->granted.size(), 2U);
  EXPECT_EQ(Ledger(keyspace).front().state, BlockState::kHeld);
  const auto more = MintNumbers(*engine, keyspace, 30);
  EXPECT_EQ(more.back(), 90U);
  const std::uint64_t withheld = faults_->granted.back().count;
  MakeWitnessWritable();
  EXPECT_EQ(engine->Close(), 10U + withheld);
  engine = StartFaulty(Options(), OpenWitness());
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 1).front(), 91U) << "nothing is lost";
}

TEST_F(EngineFailureTest, ADamagedWitnessStopsTheKeyspace) {
  const auto engine = StartFaulty(Options(), OpenWitness());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  std::filesystem::resize_file(data_dir() / "witness", 5);
  engine->StepForTest();
  EXPECT_EQ(faults_->reserve_calls, 0);
  EXPECT_EQ(keyspace.Take(1).count, 0U);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kFailedPrecondition);
  EXPECT_THAT(keyspace.Verdict().message(), HasSubstr("damaged"));
}

// A reservoir of too many separate runs refuses another one.
TEST_F(EngineFailureTest, ABlockThatDoesNotFitIsGivenBack) {
  const auto engine = StartFaulty(Options(4096));
  CounterKeyspace& keyspace = Create(*engine, DefaultRecipe(Kind::kShuffled));
  for (std::uint64_t i = 0; i < 256; ++i) {
    ASSERT_TRUE(keyspace.AddBlock({"b" + std::to_string(i), 1'000'000 + 2 * i, 1, {1, 0}}, {}));
  }
  EXPECT_EQ(keyspace.Take(1).count, 1U);
  engine->WarmUp(keyspace);
  ASSERT_EQ(faults_->granted.size(), 1U);
  EXPECT_EQ(keyspace.stats().ahead, 255U);
  EXPECT_EQ(Ledger(keyspace).front().state, BlockState::kReturned);
}

}  // namespace
}  // namespace keymill::mint
