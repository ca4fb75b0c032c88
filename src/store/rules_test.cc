// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace keymill::store {
namespace {

using testing::HasSubstr;

KeyspaceRecord Record(std::uint64_t next = 100) {
  KeyspaceRecord record;
  record.name = "links";
  record.recipe_hash = "hash";
  record.end = 1000;
  record.next = next;
  record.rev = 5;
  return record;
}

LedgerRow Row(std::uint64_t first, std::uint64_t count, BlockState state = BlockState::kHeld) {
  return {.block_id = "b",
          .first = first,
          .count = count,
          .instance = "a",
          .reservation = "r",
          .reserved_at_ms = 1,
          .state = state};
}

ReserveRequest Ask(std::uint32_t count) {
  ReserveRequest request;
  request.count = count;
  request.instance = "a";
  return request;
}

TEST(RulesTest, StateNamesAreReadBackAndNothingElseIs) {
  for (const auto state : {KeyspaceState::kOpen, KeyspaceState::kRetired,
                           KeyspaceState::kQuarantined, KeyspaceState::kSealed}) {
    EXPECT_EQ(*ParseKeyspaceState(KeyspaceStateName(state)), state);
  }
  for (const auto state :
       {BlockState::kHeld, BlockState::kSpent, BlockState::kReturned, BlockState::kBurned}) {
    EXPECT_EQ(*ParseBlockState(BlockStateName(state)), state);
  }
  for (const char* const name : {"", "Open", "open ", "held"}) {
    EXPECT_EQ(ParseKeyspaceState(name).code(), Code::kInternal) << name;
  }
  EXPECT_EQ(ParseBlockState("open").code(), Code::kInternal);
}

// Stores keep these words: they may never change.
TEST(RulesTest, StateNamesAreAPromise) {
  EXPECT_EQ(KeyspaceStateName(KeyspaceState::kOpen), "open");
  EXPECT_EQ(KeyspaceStateName(KeyspaceState::kRetired), "retired");
  EXPECT_EQ(KeyspaceStateName(KeyspaceState::kQuarantined), "quarantined");
  EXPECT_EQ(KeyspaceStateName(KeyspaceState::kSealed), "sealed");
  EXPECT_EQ(BlockStateName(BlockState::kHeld), "held");
  EXPECT_EQ(BlockStateName(BlockState::kSpent), "spent");
  EXPECT_EQ(BlockStateName(BlockState::kReturned), "returned");
  EXPECT_EQ(BlockStateName(BlockState::kBurned), "burned");
}

TEST(RulesTest, ADamagedRecordIsRefused) {
  EXPECT_TRUE(CheckRecord(Record()).ok());
  EXPECT_TRUE(CheckRecord(Record(0)).ok());
  EXPECT_TRUE(CheckRecord(Record(1000)).ok());
  KeyspaceRecord record = Record(1001);
  EXPECT_EQ(CheckRecord(record).code(), Code::kInternal) << "next beyond the end";
  record = Record();
  record.first = 101;
  EXPECT_EQ(CheckRecord(record).code(), Code::kInternal) << "next before the first";
  record = Record(0);
  record.end = 0;
  EXPECT_EQ(CheckRecord(record).code(), Code::kInternal) << "no numbers";
  record = Record();
  record.end = kNumberEnd + 1;
  EXPECT_EQ(CheckRecord(record).code(), Code::kInternal) << "beyond all numbers";
  record = Record();
  record.rev = 0;
  EXPECT_EQ(CheckRecord(record).code(), Code::kInternal) << "never created";
}

TEST(RulesTest, OnlyAnOpenKeyspaceOfTheSameRecipeMayBeReserved) {
  EXPECT_TRUE(CheckReservable(Record(), "hash", {}).ok());
  EXPECT_EQ(CheckReservable(Record(), "other", {}).code(), Code::kFailedPrecondition);
  KeyspaceRecord record = Record();
  record.state = KeyspaceState::kRetired;
  EXPECT_EQ(CheckReservable(record, "hash", {99, 999}).code(), Code::kFailedPrecondition)
      << "retired stays retired, whatever the witness says";
  record.state = KeyspaceState::kQuarantined;
  record.reason = "because";
  EXPECT_EQ(CheckReservable(record, "hash", {}).code(), Code::kQuarantined);
  EXPECT_THAT(CheckReservable(record, "hash", {}).message(), HasSubstr("because"));
}

TEST(RulesTest, ARecordBehindTheWitnessWentBack) {
  EXPECT_TRUE(CheckReservable(Record(), "hash", {5, 100}).ok());
  EXPECT_TRUE(CheckReservable(Record(), "hash", {4, 99}).ok());
  for (const Witness witness : {Witness{6, 100}, Witness{5, 101}, Witness{6, 0}, Witness{0, 101}}) {
    const Status refused = CheckReservable(Record(), "hash", witness);
    EXPECT_EQ(refused.code(), Code::kQuarantined);
    EXPECT_THAT(refused.message(), HasSubstr("went back"));
  }
}

TEST(RulesTest, NewNumbersComeFromNextAndAreCutAtTheEnd) {
  EXPECT_EQ(DecideGrant(Record(100), {}, Ask(10))->first, 100U);
  EXPECT_EQ(DecideGrant(Record(100), {}, Ask(10))->count, 10U);
  EXPECT_EQ(DecideGrant(Record(995), {}, Ask(10))->count, 5U);
  EXPECT_EQ(DecideGrant(Record(1000), {}, Ask(10)).code(), Code::kExhausted);
  EXPECT_FALSE(DecideGrant(Record(100), {}, Ask(10))->from_returned);
}

TEST(RulesTest, ReturnedNumbersComeFirstEvenFromAnExhaustedKeyspace) {
  const auto grant = DecideGrant(Record(1000), Row(50, 7, BlockState::kReturned), Ask(10));
  ASSERT_TRUE(grant.ok());
  EXPECT_EQ(grant->first, 50U);
  EXPECT_EQ(grant->count, 7U);
  EXPECT_TRUE(grant->from_returned);
  EXPECT_EQ(DecideGrant(Record(), Row(50, 70, BlockState::kReturned), Ask(10))->count, 10U);
}

TEST(RulesTest, NothingBelowAMomentIsGranted) {
  ReserveRequest request = Ask(10);
  request.skip_to = 200;
  EXPECT_EQ(DecideGrant(Record(100), {}, request)->first, 200U);
  EXPECT_EQ(DecideGrant(Record(300), {}, request)->first, 300U);
  request.skip_to = 1000;
  EXPECT_EQ(DecideGrant(Record(100), {}, request).code(), Code::kExhausted);
  const LedgerRow returned = Row(50, 20, BlockState::kReturned);
  request.skip_to = 65;
  EXPECT_EQ(DecideGrant(Record(100), returned, request)->first, 65U);
  EXPECT_EQ(DecideGrant(Record(100), returned, request)->count, 5U);
  request.skip_to = 70;
  EXPECT_EQ(DecideGrant(Record(100), returned, request)->first, 100U);
}

TEST(RulesTest, WhatIsLeftOfAReturnedRowIsBurnedBelowTheGrantAndReturnedAboveIt) {
  const LedgerRow returned = Row(50, 20, BlockState::kReturned);
  EXPECT_TRUE(LeftOver(returned, {50, 20, true}).empty());
  const auto rows = LeftOver(returned, {55, 5, true});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].first, 50U);
  EXPECT_EQ(rows[0].count, 5U);
  EXPECT_EQ(rows[0].state, BlockState::kBurned);
  EXPECT_EQ(rows[1].first, 60U);
  EXPECT_EQ(rows[1].count, 10U);
  EXPECT_EQ(rows[1].state, BlockState::kReturned);
  const auto skipped = LeftOver(returned, {100, 5, false});
  ASSERT_EQ(skipped.size(), 1U);
  EXPECT_EQ(skipped[0].count, 20U);
  EXPECT_EQ(skipped[0].state, BlockState::kBurned);
}

TEST(RulesDeathTest, AReturnedRowBelowTheCallersNumbersIsABug) {
  ReserveRequest request = Ask(10);
  request.above = 51;
  EXPECT_DEATH(
      static_cast<void>(DecideGrant(Record(), Row(50, 7, BlockState::kReturned), request).ok()),
      "invariant broken");
  EXPECT_DEATH(static_cast<void>(DecideGrant(Record(), {}, Ask(0)).ok()), "invariant broken");
}

TEST(RulesTest, OnlyTheSameInstancesHeldAdjacentRowIsExtended) {
  const Grant fresh{100, 10, false};
  EXPECT_TRUE(ExtendsRow(Row(90, 10), fresh, Ask(10)));
  EXPECT_FALSE(ExtendsRow({}, fresh, Ask(10)));
  EXPECT_FALSE(ExtendsRow(Row(80, 10), fresh, Ask(10))) << "a gap";
  EXPECT_FALSE(ExtendsRow(Row(90, 10), Grant{100, 10, true}, Ask(10))) << "returned numbers";
  for (const auto state : {BlockState::kSpent, BlockState::kReturned, BlockState::kBurned}) {
    EXPECT_FALSE(ExtendsRow(Row(90, 10, state), fresh, Ask(10)));
  }
  ReserveRequest other = Ask(10);
  other.instance = "b";
  EXPECT_FALSE(ExtendsRow(Row(90, 10), fresh, other));
}

TEST(RulesTest, ASettledRowFallsIntoASpentAndAReturnedPart) {
  const auto both = SettleRow(Row(100, 10), 104);
  ASSERT_EQ(both->size(), 2U);
  EXPECT_EQ((*both)[0].first, 100U);
  EXPECT_EQ((*both)[0].count, 4U);
  EXPECT_EQ((*both)[0].state, BlockState::kSpent);
  EXPECT_EQ((*both)[1].first, 104U);
  EXPECT_EQ((*both)[1].count, 6U);
  EXPECT_EQ((*both)[1].state, BlockState::kReturned);
  EXPECT_EQ(SettleRow(Row(100, 10), 100)->front().state, BlockState::kReturned);
  EXPECT_EQ(SettleRow(Row(100, 10), 110)->front().state, BlockState::kSpent);
  EXPECT_EQ(SettleRow(Row(100, 10), 99).code(), Code::kInvalidArgument);
  EXPECT_EQ(SettleRow(Row(100, 10), 111).code(), Code::kInvalidArgument);
}

RC_GTEST_PROP(RulesProperty, SettlingKeepsEveryNumberOnce, ()) {
  const auto first = *rc::gen::inRange<std::uint64_t>(0, 1U << 30);
  const auto count = *rc::gen::inRange<std::uint64_t>(1, 1U << 20);
  const auto unused = *rc::gen::inRange<std::uint64_t>(first, first + count + 1);
  std::uint64_t end = first;
  const auto settled = SettleRow(Row(first, count), unused);
  for (const LedgerRow& part : *settled) {
    RC_ASSERT(part.first == end && part.count > 0);
    RC_ASSERT((part.state == BlockState::kSpent) == (part.first < unused));
    end += part.count;
  }
  RC_ASSERT(end == first + count);
}

TEST(RulesTest, AQuarantineKeepsTheFirstReasonAndTheHighestThatWasSeen) {
  KeyspaceRecord record = Record();
  EXPECT_TRUE(ApplyQuarantine(record, "one", {9, 100}));
  EXPECT_EQ(record.state, KeyspaceState::kQuarantined);
  EXPECT_FALSE(ApplyQuarantine(record, "two", {9, 99})) << "nothing new";
  EXPECT_TRUE(ApplyQuarantine(record, "two", {7, 300}));
  EXPECT_EQ(record.testified, (Witness{9, 300}));
  EXPECT_EQ(record.reason, "one");
  for (const auto state : {KeyspaceState::kRetired, KeyspaceState::kSealed}) {
    record.state = state;
    EXPECT_FALSE(ApplyQuarantine(record, "three", {90, 900})) << "a recovery would open it";
    EXPECT_EQ(record.state, state);
  }
}

TEST(RulesTest, ARecoveryGoesOnAboveEverythingKnownButNotBeyondTheEnd) {
  EXPECT_EQ(RecoveredWitness(Record(), {}), (Witness{6, 100}));
  EXPECT_EQ(RecoveredWitness(Record(), {50, 500}), (Witness{51, 500}));
  EXPECT_EQ(RecoveredWitness(Record(), {2, 500}), (Witness{6, 500}));
  EXPECT_EQ(RecoveredWitness(Record(), {50, 5000}), (Witness{51, 1000}));
  KeyspaceRecord record = Record();
  record.testified = {70, 200};
  EXPECT_EQ(RecoveredWitness(record, {50, 500}), (Witness{71, 500}));
}

TEST(RulesTest, AQuarantineAddsUpWhatIsTestified) {
  KeyspaceRecord record = Record();
  EXPECT_TRUE(ApplyQuarantine(record, "first", {7, 300}));
  EXPECT_EQ(record.state, KeyspaceState::kQuarantined);
  EXPECT_TRUE(ApplyQuarantine(record, "second", {9, 200}));
  EXPECT_EQ(record.testified, (Witness{9, 300}));
  EXPECT_EQ(record.reason, "first");
  EXPECT_FALSE(ApplyQuarantine(record, "third", {9, 300})) << "nothing new";
  for (const auto state : {KeyspaceState::kRetired, KeyspaceState::kSealed}) {
    record = Record();
    record.state = state;
    EXPECT_FALSE(ApplyQuarantine(record, "late", {7, 300}));
    EXPECT_EQ(record.state, state);
  }
}

TEST(RulesTest, ASealIsForOneStore) {
  EXPECT_TRUE(CheckSealTarget("", "a", false).ok());
  EXPECT_TRUE(CheckSealTarget("a", "a", false).ok());
  EXPECT_TRUE(CheckSealTarget("a", "b", true).ok());
  EXPECT_EQ(CheckSealTarget("a", "b", false).code(), Code::kFailedPrecondition);
  EXPECT_THAT(CheckSealTarget("a", "b", false).message(), HasSubstr("went to a"));
  EXPECT_EQ(CheckSealTarget("", "", true).code(), Code::kInvalidArgument);
}

TEST(RulesTest, AFillBeginsWhereNothingIsOrAgain) {
  EXPECT_TRUE(CheckFillable("", "", "id").ok());
  EXPECT_TRUE(CheckFillable("id", "fill", "id").ok());
  EXPECT_EQ(CheckFillable("id", "fill", "other").code(), Code::kFailedPrecondition);
  EXPECT_EQ(CheckFillable("id", "", "id").code(), Code::kFailedPrecondition);
}

TEST(RulesTest, OnlyASealedKeyspaceIsOpenedByAFill) {
  KeyspaceRecord record = Record();
  ASSERT_TRUE(ApplySeal(record, "elsewhere"));
  EXPECT_EQ(CheckReservable(record, "hash", {}).code(), Code::kFailedPrecondition);
  EXPECT_THAT(CheckReservable(record, "hash", {}).message(), HasSubstr("elsewhere"));
  const KeyspaceRecord filled = Refilled(record);
  EXPECT_EQ(filled.state, KeyspaceState::kOpen);
  EXPECT_EQ(filled.reason, "");
  record.state = KeyspaceState::kRetired;
  EXPECT_FALSE(ApplySeal(record, "elsewhere"));
  EXPECT_EQ(Refilled(record).state, KeyspaceState::kRetired);
}

TEST(RulesTest, TheNumbersThatARecoverySkipsAreBurnedInTheLedger) {
  EXPECT_FALSE(LostRow(Record(), {6, 100}, 7).has_value());
  const auto lost = LostRow(Record(), {6, 500}, 7);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->first, 100U);
  EXPECT_EQ(lost->count, 400U);
  EXPECT_EQ(lost->state, BlockState::kBurned);
  EXPECT_EQ(lost->reserved_at_ms, 7);
  EXPECT_NE(lost->block_id, LostRow(Record(), {6, 500}, 7)->block_id);
}

}  // namespace
}  // namespace keymill::store
