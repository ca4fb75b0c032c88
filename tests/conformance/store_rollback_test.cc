// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A store that is behind what somebody has seen of it, and how it goes on.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

using testing::HasSubstr;

class StoreRollbackTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreRollbackTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreRollbackTest, AStoreBehindTheWitnessIsQuarantinedForEverybody) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  ReserveRequest request = Ask(keyspace, 10);
  request.witness = {block.seen.rev + 1, block.seen.next};
  const auto refused = store_->Reserve(request, Soon());
  EXPECT_EQ(refused.code(), Code::kQuarantined);
  EXPECT_THAT(refused.status().message(), HasSubstr("went back"));

  EXPECT_EQ(store_->Reserve(Ask(keyspace, 1, "b"), Soon()).code(), Code::kQuarantined);
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, 5, {}}, Soon()).code(), Code::kQuarantined);
  const auto record = store_->FindKeyspace("links", Soon());
  EXPECT_EQ(record->state, KeyspaceState::kQuarantined);
  EXPECT_THAT(record->reason, HasSubstr("went back"));
}

// Every settled row moves the revision on: enough of them, and a store that lost time would
// look as new as the witness.
TEST_P(StoreRollbackTest, AStoreBehindTheWitnessTakesNothingBack) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  const Witness ahead{block.seen.rev + 1, block.seen.next};
  const auto refused = store_->GiveBack({keyspace.id, block.id, 5, ahead}, Soon());
  EXPECT_EQ(refused.code(), Code::kQuarantined);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->state, KeyspaceState::kQuarantined);
  const auto rows = store_->ListLedger(keyspace.id, 0, 10, Soon());
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().state, BlockState::kHeld) << "nothing was settled";
}

TEST_P(StoreRollbackTest, ANextNumberBelowTheWitnessQuarantinesToo) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  ReserveRequest request = Ask(keyspace, 10);
  request.witness = {block.seen.rev, block.seen.next + 1};
  EXPECT_EQ(store_->Reserve(request, Soon()).code(), Code::kQuarantined);
}

TEST_P(StoreRollbackTest, AWitnessThatAgreesIsServed) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  ReserveRequest request = Ask(keyspace, 10);
  request.witness = block.seen;
  EXPECT_TRUE(store_->Reserve(request, Soon()).ok());
}

TEST_P(StoreRollbackTest, QuarantineKeepsItsFirstReason) {
  const KeyspaceRecord keyspace = Create();
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "first", {}, Soon()).ok());
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "second", {}, Soon()).ok());
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->reason, "first");
}

TEST_P(StoreRollbackTest, RecoverGoesOnAboveEverythingKnownAndBurnsWhatWasReturned) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 30, {}}, Soon()).ok());
  EXPECT_EQ(store_->Recover(keyspace.id, {}, Soon()).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {}, Soon()).ok());

  const auto report = store_->Recover(keyspace.id, {.rev = 50, .next = 500}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->next_before, 100U);
  EXPECT_EQ(report->next_after, 500U);
  EXPECT_EQ(report->returned_burned, 70U);
  EXPECT_EQ(report->seen.rev, 51U);

  const Block after = Reserve(Ask(keyspace, 10));
  EXPECT_EQ(after.first, 500U);
  EXPECT_GT(after.seen.rev, 51U);
  const auto lost = store_->FindBlock(keyspace.id, 300, Soon());
  ASSERT_TRUE(lost.ok() && lost->has_value());
  EXPECT_EQ((*lost)->state, BlockState::kBurned);
}

TEST_P(StoreRollbackTest, RecoverBurnsAllThatWasReturned) {
  const KeyspaceRecord keyspace = Create();
  for (int i = 0; i < 55; ++i) {
    ReserveRequest request = Ask(keyspace, 2, std::to_string(i));
    request.above = 1'000'000;
    const Block block = Reserve(request);
    ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, block.first, {}}, Soon()).ok());
  }
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {}, Soon()).ok());
  const auto report = store_->Recover(keyspace.id, {}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->returned_burned, 110U);
  for (const LedgerRow& row : Ledger(keyspace)) EXPECT_EQ(row.state, BlockState::kBurned);
  EXPECT_EQ(Reserve(Ask(keyspace, 1)).first, 110U);
}

TEST_P(StoreRollbackTest, RecoverBelowTheStoreKeepsTheStoresNumbers) {
  const KeyspaceRecord keyspace = Create();
  Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {}, Soon()).ok());
  const auto report = store_->Recover(keyspace.id, {}, Soon());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->next_after, 100U);
  EXPECT_EQ(Reserve(Ask(keyspace, 1)).first, 100U);
}

TEST_P(StoreRollbackTest, AQuarantineKeepsTheHighestThatAnybodyHasSeen) {
  const KeyspaceRecord keyspace = Create();
  EXPECT_EQ(keyspace.testified, (Witness{}));
  const auto testified = [&] { return store_->FindKeyspace("links", Soon())->testified; };
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {.rev = 5, .next = 300}, Soon()).ok());
  EXPECT_EQ(testified(), (Witness{5, 300}));
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {.rev = 70, .next = 200}, Soon()).ok());
  EXPECT_EQ(testified(), (Witness{70, 300})) << "each by itself";
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {}, Soon()).ok());
  EXPECT_EQ(testified(), (Witness{70, 300}));
  const auto all = store_->ListKeyspaces(Soon());
  ASSERT_TRUE(all.ok() && all->size() == 1);
  EXPECT_EQ(all->front().testified, (Witness{70, 300}));
}

TEST_P(StoreRollbackTest, RecoverGoesAboveWhatWasTestifiedAndForgetsIt) {
  const KeyspaceRecord keyspace = Create();
  Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {.rev = 70, .next = 300}, Soon()).ok());
  const auto report = store_->Recover(keyspace.id, {.rev = 20, .next = 250}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->next_before, 100U);
  EXPECT_EQ(report->next_after, 300U);
  EXPECT_GT(report->seen.rev, 70U);
  const auto record = store_->FindKeyspace("links", Soon());
  EXPECT_EQ(record->testified, (Witness{}));
  EXPECT_EQ(record->rev, report->seen.rev);
  EXPECT_EQ(Reserve(Ask(keyspace, 1)).first, 300U);
}

TEST_P(StoreRollbackTest, TheWitnessThatQuarantinedItIsTestified) {
  const KeyspaceRecord links = Create(0, 1000, "links");
  ReserveRequest ahead = Ask(links, 10);
  ahead.witness = {.rev = 40, .next = 500};
  EXPECT_EQ(store_->Reserve(ahead, Soon()).code(), Code::kQuarantined);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->testified, (Witness{40, 500}));

  const KeyspaceRecord codes = Create(0, 1000, "codes");
  const Block block = Reserve(Ask(codes, 10));
  EXPECT_EQ(store_->GiveBack({codes.id, block.id, 5, {.rev = 2, .next = 600}}, Soon()).code(),
            Code::kQuarantined);
  EXPECT_EQ(store_->FindKeyspace("codes", Soon())->testified, (Witness{2, 600}));
  ASSERT_TRUE(store_->Recover(codes.id, {}, Soon()).ok());
  EXPECT_EQ(Reserve(Ask(codes, 1)).first, 600U);
}

// Up to the end of the numbers: what was seen may be the last one.
TEST_P(StoreRollbackTest, TheHighestNumbersCanBeTestified) {
  const KeyspaceRecord keyspace = Create(0, kNumberEnd);
  const Witness seen{.rev = kNumberEnd - 2, .next = kNumberEnd};
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", seen, Soon()).ok());
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->testified, seen);
  const auto report = store_->Recover(keyspace.id, {}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->seen, (Witness{kNumberEnd - 1, kNumberEnd}));
}

}  // namespace
}  // namespace keymill
