// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Blocks: reserved, spent, given back, found again.

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

class StoreBlockTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreBlockTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreBlockTest, ConsecutiveBlocksDoNotOverlap) {
  const KeyspaceRecord keyspace = Create();
  const Block first = Reserve(Ask(keyspace, 10));
  const Block second = Reserve(Ask(keyspace, 25));
  EXPECT_EQ(first.first, 0U);
  EXPECT_EQ(first.count, 10U);
  EXPECT_EQ(second.first, 10U);
  EXPECT_EQ(second.count, 25U);
  EXPECT_GT(second.seen.rev, first.seen.rev);
  EXPECT_EQ(second.seen.next, 35U);
}

TEST_P(StoreBlockTest, TheLastBlockIsCutAndThenTheKeyspaceIsExhausted) {
  const KeyspaceRecord keyspace = Create(0, 12);
  EXPECT_EQ(Reserve(Ask(keyspace, 10)).count, 10U);
  const Block last = Reserve(Ask(keyspace, 10));
  EXPECT_EQ(last.first, 10U);
  EXPECT_EQ(last.count, 2U);
  EXPECT_EQ(store_->Reserve(Ask(keyspace, 1), Soon()).code(), Code::kExhausted);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->next, 12U);
}

// Doubles lose integers above 2^53; a store that computes in them repeats numbers there.
TEST_P(StoreBlockTest, CountsExactlyAroundTwoToThe53) {
  constexpr std::uint64_t kEdge = std::uint64_t{1} << 53;
  const KeyspaceRecord keyspace = Create(kEdge - 2, kEdge + 3);
  for (std::uint64_t number = kEdge - 2; number < kEdge + 3; ++number) {
    const Block block = Reserve(Ask(keyspace, 1));
    EXPECT_EQ(block.first, number);
    EXPECT_EQ(block.seen.next, number + 1);
  }
  EXPECT_EQ(store_->Reserve(Ask(keyspace, 1), Soon()).code(), Code::kExhausted);
}

TEST_P(StoreBlockTest, CountsExactlyUpToTheEndOfTheNumbers) {
  constexpr std::uint64_t kStart = (std::uint64_t{1} << 63) - 10;
  const KeyspaceRecord keyspace = Create(kStart, kNumberEnd);
  std::uint64_t got = 0;
  for (;;) {
    auto block = store_->Reserve(Ask(keyspace, 4), Soon());
    if (!block.ok()) {
      EXPECT_EQ(block.code(), Code::kExhausted);
      break;
    }
    EXPECT_EQ(block->first, kStart + got);
    got += block->count;
    ASSERT_LE(got, kNumberEnd - kStart);
  }
  EXPECT_EQ(got, kNumberEnd - kStart);
}

TEST_P(StoreBlockTest, TheLargestBlockIsGranted) {
  const KeyspaceRecord keyspace = Create(0, std::uint64_t{1} << 40);
  EXPECT_EQ(Reserve(Ask(keyspace, Store::kBlockCountMax)).count, Store::kBlockCountMax);
}

TEST_P(StoreBlockTest, AdjacentBlocksOfOneInstanceShareALedgerRow) {
  const KeyspaceRecord keyspace = Create();
  const Block first = Reserve(Ask(keyspace, 10, "a"));
  const Block second = Reserve(Ask(keyspace, 10, "a"));
  Reserve(Ask(keyspace, 10, "b"));
  const Block fourth = Reserve(Ask(keyspace, 10, "a"));
  EXPECT_EQ(first.id, second.id);
  EXPECT_NE(first.id, fourth.id);
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].count, 20U);
  EXPECT_EQ(rows[1].instance, "b");
  EXPECT_EQ(rows[2].first, 30U);
}

TEST_P(StoreBlockTest, FindsTheBlockOfANumber) {
  const KeyspaceRecord keyspace = Create(100, 1000);
  const Block block = Reserve(Ask(keyspace, 10, "host/1"));
  for (const std::uint64_t number : {100U, 105U, 109U}) {
    const auto row = store_->FindBlock(keyspace.id, number, Soon());
    ASSERT_TRUE(row.ok());
    ASSERT_TRUE(row->has_value()) << number;
    EXPECT_EQ((*row)->block_id, block.id);
    EXPECT_EQ((*row)->instance, "host/1");
    EXPECT_EQ((*row)->state, BlockState::kHeld);
  }
  EXPECT_FALSE(store_->FindBlock(keyspace.id, 99, Soon())->has_value());
  EXPECT_FALSE(store_->FindBlock(keyspace.id, 110, Soon())->has_value());
}

TEST_P(StoreBlockTest, WhatIsGivenBackIsGrantedAgainFirst) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100, "a"));
  const auto settled = store_->GiveBack({keyspace.id, block.id, 40, {}}, Soon());
  ASSERT_TRUE(settled.ok()) << settled.status().message();
  EXPECT_EQ(settled->rev, block.seen.rev + 1);
  EXPECT_EQ(settled->next, 100U) << "next never falls";

  const Block again = Reserve(Ask(keyspace, 25, "b"));
  EXPECT_EQ(again.first, 40U);
  EXPECT_EQ(again.count, 25U);
  const Block rest = Reserve(Ask(keyspace, 1000, "b"));
  EXPECT_EQ(rest.first, 65U);
  EXPECT_EQ(rest.count, 35U);
  EXPECT_EQ(Reserve(Ask(keyspace, 1, "b")).first, 100U);
  EXPECT_EQ(Ledger(keyspace).front().state, BlockState::kSpent);
}

TEST_P(StoreBlockTest, SpentBlocksAreMarkedInPassing) {
  const KeyspaceRecord keyspace = Create();
  const Block first = Reserve(Ask(keyspace, 10, "a"));
  Reserve(Ask(keyspace, 10, "b"));
  ReserveRequest request = Ask(keyspace, 10, "a");
  request.spent = {first.id, "no-such-block"};
  Reserve(request);
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].state, BlockState::kSpent);
  EXPECT_EQ(rows[1].state, BlockState::kHeld);
  EXPECT_EQ(store_->GiveBack({keyspace.id, first.id, 5, {}}, Soon()).code(), Code::kNotFound);
}

// More than some stores take in one transaction.
TEST_P(StoreBlockTest, ManySpentBlocksAreMarkedAtOnce) {
  const KeyspaceRecord keyspace = Create();
  ReserveRequest request = Ask(keyspace, 1, "a");
  for (int i = 0; i < 55; ++i) {
    request.spent.push_back(Reserve(Ask(keyspace, 1, "a")).id);
    Reserve(Ask(keyspace, 1, "b"));
  }
  const Block block = Reserve(request);
  EXPECT_EQ(block.first, 110U);
  std::map<std::string, int> states;
  for (const LedgerRow& row : Ledger(keyspace)) {
    ++states[row.instance + " " + std::string(BlockStateName(row.state))];
  }
  EXPECT_EQ(states, (std::map<std::string, int>{{"a spent", 55}, {"a held", 1}, {"b held", 55}}));
}

TEST_P(StoreBlockTest, GivingBackWorksOnce) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 40, {}}, Soon()).ok());
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, 40, {}}, Soon()).code(), Code::kNotFound);
  Reserve(Ask(keyspace, 60, "b"));
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, 40, {}}, Soon()).code(), Code::kNotFound);
}

TEST_P(StoreBlockTest, GivingBackChecksTheRange) {
  const KeyspaceRecord keyspace = Create(50, 1000);
  const Block block = Reserve(Ask(keyspace, 100));
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, 49, {}}, Soon()).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, 151, {}}, Soon()).code(),
            Code::kInvalidArgument);
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 150, {}}, Soon()).ok());
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, BlockState::kSpent);
  EXPECT_EQ(rows[0].count, 100U);
}

TEST_P(StoreBlockTest, AnUntouchedBlockGoesBackWhole) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 0, {}}, Soon()).ok());
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, BlockState::kReturned);
}

TEST_P(StoreBlockTest, AProcessThatCountsUpwardsIsNotGivenLowerNumbers) {
  const KeyspaceRecord keyspace = Create();
  const Block a = Reserve(Ask(keyspace, 100, "a"));
  Reserve(Ask(keyspace, 100, "b"));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, a.id, 10, {}}, Soon()).ok());
  ReserveRequest upwards = Ask(keyspace, 10, "b");
  upwards.above = 150;
  EXPECT_EQ(Reserve(upwards).first, 200U);
  EXPECT_EQ(Reserve(Ask(keyspace, 10, "c")).first, 10U);
}

TEST_P(StoreBlockTest, NumbersBelowAMomentAreSkippedForEver) {
  const KeyspaceRecord keyspace = Create();
  Reserve(Ask(keyspace, 10));
  ReserveRequest later = Ask(keyspace, 10);
  later.skip_to = 500;
  const Block block = Reserve(later);
  EXPECT_EQ(block.first, 500U);
  EXPECT_EQ(block.seen.next, 510U);
  EXPECT_EQ(Reserve(Ask(keyspace, 10)).id, block.id) << "what adjoins is one row as always";
  EXPECT_FALSE(store_->FindBlock(keyspace.id, 499, Soon())->has_value());
  later.skip_to = 100;  // A clock that went back.
  later.reservation = RandomHex(16);
  EXPECT_EQ(Reserve(later).first, 520U);
  later.skip_to = 1'000'000;
  EXPECT_EQ(store_->Reserve(later, Soon()).code(), Code::kExhausted);
}

TEST_P(StoreBlockTest, OfWhatWasGivenBackTheRestAboveAMomentIsGrantedAgain) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 20, {}}, Soon()).ok());
  ReserveRequest later = Ask(keyspace, 30, "b");
  later.skip_to = 40;
  EXPECT_EQ(Reserve(later).first, 40U);
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].state, BlockState::kSpent);
  EXPECT_EQ(rows[1].state, BlockState::kBurned);
  EXPECT_EQ(rows[1].first, 20U);
  EXPECT_EQ(rows[1].count, 20U);
  EXPECT_EQ(rows[2].state, BlockState::kHeld);
  EXPECT_EQ(rows[2].count, 30U);
  EXPECT_EQ(rows[3].state, BlockState::kReturned);
  EXPECT_EQ(rows[3].first, 70U);
  EXPECT_EQ(rows[3].count, 30U);
}

TEST_P(StoreBlockTest, WhatWasGivenBackBelowAMomentIsBurned) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 20, {}}, Soon()).ok());
  ReserveRequest later = Ask(keyspace, 30, "b");
  later.skip_to = 100;
  EXPECT_EQ(Reserve(later).first, 100U);
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].state, BlockState::kBurned);
  EXPECT_EQ(rows[1].count, 80U);
  EXPECT_EQ(rows[2].state, BlockState::kHeld);
  EXPECT_EQ(Reserve(Ask(keyspace, 10, "c")).first, 130U);
}

}  // namespace
}  // namespace keymill
