// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/lending.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine.h"
#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

Recipe Odd() {
  Recipe recipe = DefaultRecipe(Kind::kTicket);
  recipe.stride = 2;
  recipe.offset = 1;
  recipe.alphabet = "decimal";
  return recipe;
}

class LendingTest : public EngineTestBase {
 protected:
  static Loan Lend(Engine& engine, Keyspace& keyspace, std::uint32_t count = 100) {
    const Result<Loan> loan = engine.Lend(keyspace, count, seconds(600));
    EXPECT_TRUE(loan.ok()) << loan.status().message();
    return loan.ok() ? *loan : Loan{};
  }
  static LoanVerdict TakeBack(Engine& engine, Keyspace& keyspace, const std::string& id,
                              std::uint64_t used) {
    const Result<LoanReturn> back = engine.TakeBack(keyspace, id, used);
    EXPECT_TRUE(back.ok()) << back.status().message();
    return back.ok() ? back->verdict : LoanVerdict::kUnknown;
  }
};

TEST_F(LendingTest, ALoanTellsItsNumbersAndTheKeyOfTheFirst) {
  const auto engine = StartMemory();
  Recipe recipe = Orders(7, 4);
  recipe.prefix = "ord_";
  const Loan loan = Lend(*engine, Create(*engine, recipe), 50);
  EXPECT_EQ(loan.first, 7U);
  EXPECT_EQ(loan.count, 50U);
  EXPECT_EQ(loan.stride, 1U);
  EXPECT_EQ(loan.first_key, "ord_0007");
  EXPECT_EQ(loan.expires_at_ms, clock_.WallMs() + 600'000);
}

TEST_F(LendingTest, ATicketsNumbersAreAStrideApart) {
  const auto engine = StartMemory();
  CounterKeyspace& keyspace = Create(*engine, Odd());
  const Loan loan = Lend(*engine, keyspace, 50);
  EXPECT_EQ(loan.first, 1U);
  EXPECT_EQ(loan.stride, 2U);
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 10), LoanVerdict::kTakenBack);
  const Loan again = Lend(*engine, keyspace, 50);
  EXPECT_EQ(again.first, 21U);
  EXPECT_EQ(again.count, 40U);
}

TEST_F(LendingTest, WhatTheServerMintsAndWhatItLendsIsApart) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  std::set<std::uint64_t> numbers;
  std::size_t count = 0;
  for (int i = 0; i < 5; ++i) {
    for (const std::uint64_t number : MintNumbers(*engine, keyspace, 130)) {
      numbers.insert(number);
      ++count;
    }
    const Loan loan = Lend(*engine, keyspace);
    for (std::uint64_t n = 0; n < loan.count / 2; ++n) numbers.insert(loan.first + n);
    count += loan.count / 2;
    EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, loan.count / 2), LoanVerdict::kTakenBack);
    const Result<Loan> segment = engine->GrantSegment(keyspace);
    ASSERT_TRUE(segment.ok());
    EXPECT_EQ(segment->expires_at_ms, 0);
    for (std::uint64_t n = 0; n < segment->count; ++n) numbers.insert(segment->first + n);
    count += segment->count;
  }
  EXPECT_EQ(numbers.size(), count);
}

// Rows of one instance are merged, and a stop settles a row behind its last number.
TEST_F(LendingTest, AStopGivesBackNothingOfASegmentOrALoan) {
  std::set<std::uint64_t> out;
  {
    const auto engine = StartSqlite();
    CounterKeyspace& keyspace = Create(*engine, Orders());
    for (const std::uint64_t number : MintNumbers(*engine, keyspace, 10)) out.insert(number);
    const Result<Loan> segment = engine->GrantSegment(keyspace);
    ASSERT_TRUE(segment.ok());
    for (std::uint64_t n = 0; n < segment->count; ++n) out.insert(segment->first + n);
    const Loan loan = Lend(*engine, keyspace);
    for (std::uint64_t n = 0; n < loan.count; ++n) out.insert(loan.first + n);
    EXPECT_GT(engine->Close(), 0U);
  }
  const auto engine = StartSqlite();
  for (const std::uint64_t number : MintNumbers(*engine, Create(*engine, Orders()), 1000)) {
    EXPECT_TRUE(out.insert(number).second) << number;
  }
}

TEST_F(LendingTest, AnotherInstanceTakesItBackAfterAStop) {
  Loan loan;
  {
    const auto engine = StartSqlite();
    loan = Lend(*engine, Create(*engine, Orders()));
    engine->Close();
  }
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 30), LoanVerdict::kTakenBack);
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 30), LoanVerdict::kUnknown);
}

TEST_F(LendingTest, AnExpiredLoanStaysBurned) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  const Loan loan = Lend(*engine, keyspace);
  EXPECT_EQ(engine->Explain("k", "5")->state, Explanation::State::kReserved);
  clock_.Advance(seconds(600));
  clock_.StepWall(seconds(600));
  const Result<LoanReturn> late = engine->TakeBack(keyspace, loan.id, 0);
  EXPECT_EQ(late->verdict, LoanVerdict::kExpired);
  EXPECT_THAT(late->detail, HasSubstr("burned"));
  EXPECT_EQ(engine->Explain("k", "5")->state, Explanation::State::kUnknown);
  EXPECT_EQ(MintNumbers(*engine, keyspace, 1).front(), 101U) << "nobody gets its numbers";
  EXPECT_EQ(Lend(*engine, keyspace).first, 201U);
}

TEST_F(LendingTest, NobodyTakesBackWhatWasNotLentLikeThat) {
  const auto engine = StartMemory();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  CounterKeyspace& other = Create(*engine, Orders(), "other");
  const Loan loan = Lend(*engine, keyspace);
  Lend(*engine, other);
  const std::string tail = loan.id.substr(loan.id.find('-'));
  for (const std::string& id :
       {std::string(), std::string("-"), std::string("1"), std::string("1-"), std::string("1--"),
        "2" + tail, "-1" + tail, "ffffffffffffffffffff" + tail, loan.id + "0",
        loan.id.substr(0, loan.id.size() - 1), "1-7fffffffffffffff" + tail.substr(tail.rfind('-')),
        "1" + std::string(300, 'a')}) {
    EXPECT_EQ(TakeBack(*engine, keyspace, id, 0), LoanVerdict::kUnknown) << id;
  }
  EXPECT_EQ(TakeBack(*engine, other, loan.id, 0), LoanVerdict::kUnknown);
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 101), LoanVerdict::kTooMany);
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, ~std::uint64_t{0}), LoanVerdict::kTooMany);
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 100), LoanVerdict::kTakenBack);
}

TEST_F(LendingTest, OnlyNumbersThatAClientCanMakeKeysOfAreLent) {
  const auto engine = StartMemory();
  Recipe blocked = Orders();
  blocked.blocklist = {"131313"};
  for (const Recipe& recipe :
       {DefaultRecipe(Kind::kShuffled), DefaultRecipe(Kind::kUuid4), blocked}) {
    const std::string name = "k" + std::string(KindName(recipe.kind));
    const auto created = engine->Create(name, recipe);
    ASSERT_TRUE(created.ok()) << created.status().message();
    const Result<Loan> loan = engine->Lend(*created->keyspace, 10, seconds(60));
    EXPECT_EQ(loan.code(), Code::kInvalidArgument);
    EXPECT_THAT(loan.status().message(), HasSubstr("POST /v1/keyspaces/" + name + "/keys"));
    EXPECT_FALSE(engine->GrantSegment(*created->keyspace).ok());
  }
}

TEST_F(LendingTest, TheLastNumbersAreLentAndThenNone) {
  const auto engine = StartMemory();
  Recipe recipe = Orders(1, 2);
  CounterKeyspace& keyspace = Create(*engine, recipe);
  EXPECT_EQ(Lend(*engine, keyspace, 1000).count, 99U);
  EXPECT_EQ(engine->Lend(keyspace, 1, seconds(60)).code(), Code::kExhausted);
  EXPECT_EQ(engine->GrantSegment(keyspace).code(), Code::kExhausted);
}

// The witness must know of a block before it leaves, and so it must if it cannot.
TEST_F(LendingTest, AnAnswerThatIsLostBurnsTheBlock) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  faults_->reserve.push_back({{Code::kUnknownOutcome, "lost"}, Faults::When::kAfter});
  EXPECT_EQ(engine->Lend(keyspace, 100, seconds(60)).code(), Code::kUnknownOutcome);
  const Loan loan = Lend(*engine, keyspace);
  EXPECT_EQ(loan.first, 101U);
  faults_->give_back.push_back({{Code::kUnknownOutcome, "lost"}, Faults::When::kAfter});
  EXPECT_EQ(engine->TakeBack(keyspace, loan.id, 50).status().code(), Code::kUnknownOutcome);
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 50), LoanVerdict::kUnknown) << "it had landed";
  EXPECT_EQ(Lend(*engine, keyspace, 50).first, 151U);
}

// The loan was given back in the time that the store has lost, and its numbers went to others.
TEST_F(LendingTest, AfterARollbackNobodyGivesBackWhatCameBackBefore) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  const Loan loan = Lend(*engine, keyspace);
  std::filesystem::copy_file(db(), dir_.path() / "backup");
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 10), LoanVerdict::kTakenBack);
  const Loan next = Lend(*engine, keyspace);
  EXPECT_EQ(next.first, 11U);
  std::filesystem::copy_file(dir_.path() / "backup", db(),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(engine->TakeBack(keyspace, loan.id, 10).status().code(), Code::kQuarantined);
  EXPECT_EQ(engine->Lend(keyspace, 100, seconds(60)).code(), Code::kQuarantined);
  ASSERT_TRUE(engine->Recover("k").ok());
  EXPECT_EQ(TakeBack(*engine, keyspace, loan.id, 10), LoanVerdict::kUnknown);
  EXPECT_GE(Lend(*engine, keyspace).first, next.first + next.count);
}

TEST_F(LendingTest, KeysThatStandForNumbersTellThem) {
  const auto engine = StartMemory();
  Recipe recipe = Orders(10);
  recipe.alphabet = "hex";
  recipe.prefix = "n-";
  const CounterKeyspace& keyspace = Create(*engine, recipe);
  EXPECT_TRUE(keyspace.numbered());
  EXPECT_EQ(keyspace.NumberOf("n-ff"), 255U);
  EXPECT_EQ(keyspace.NumberOf("ff"), std::nullopt);
  EXPECT_EQ(Create(*engine, Odd(), "odd").NumberOf("7"), 7U);
  EXPECT_FALSE(Create(*engine, LastCodes(5), "codes").numbered());
}

}  // namespace
}  // namespace keymill::mint
