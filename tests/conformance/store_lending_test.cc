// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Blocks that are lent to somebody outside: given back once, by whatever client of the store, and
// never merged with anything.

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

class StoreLendingTest : public StoreTest {
 protected:
  Block Lend(const KeyspaceRecord& keyspace, std::uint32_t count, std::string instance = "a") {
    ReserveRequest request = Ask(keyspace, count, std::move(instance));
    request.lend = true;
    const Block block = Reserve(request);
    EXPECT_EQ(block.id, request.reservation) << "who lends it knows its id before";
    return block;
  }

  Code GiveBack(const KeyspaceRecord& keyspace, const Block& block, std::uint64_t used) {
    return store_->GiveBack({keyspace.id, block.id, block.first + used, {}}, Soon()).code();
  }
};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreLendingTest, testing::ValuesIn(EveryStore()), NameOf);

// Rows that were merged could only be given back together: one client would give back what another
// one uses.
TEST_P(StoreLendingTest, ALentBlockSharesItsRowWithNobody) {
  const KeyspaceRecord keyspace = Create();
  const Block held = Reserve(Ask(keyspace, 10));
  const Block one = Lend(keyspace, 10);
  const Block two = Lend(keyspace, 10);
  const Block after = Reserve(Ask(keyspace, 10));
  EXPECT_EQ(std::set<std::string>({held.id, one.id, two.id, after.id}).size(), 4U);
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].state, BlockState::kHeld);
  EXPECT_EQ(rows[1].state, BlockState::kLent);
  EXPECT_EQ(rows[1].block_id, one.id);
  EXPECT_EQ(rows[2].state, BlockState::kLent);
  EXPECT_EQ(rows[3].state, BlockState::kHeld);
  EXPECT_EQ(rows[3].first, 30U);
}

TEST_P(StoreLendingTest, WhatComesBackIsGrantedAgainAndOnlyThat) {
  const KeyspaceRecord keyspace = Create();
  const Block one = Lend(keyspace, 100);
  const Block two = Lend(keyspace, 100);
  EXPECT_EQ(GiveBack(keyspace, one, 40), Code::kOk);
  const Block again = Lend(keyspace, 1000);
  EXPECT_EQ(again.first, 40U);
  EXPECT_EQ(again.count, 60U);
  EXPECT_EQ(Reserve(Ask(keyspace, 10)).first, 200U);
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].state, BlockState::kSpent);
  EXPECT_EQ(rows[1].block_id, again.id);
  EXPECT_EQ(rows[2].block_id, two.id);
  EXPECT_EQ(rows[2].state, BlockState::kLent);
}

TEST_P(StoreLendingTest, GivingBackWorksOnce) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Lend(keyspace, 100);
  EXPECT_EQ(GiveBack(keyspace, block, 10), Code::kOk);
  EXPECT_EQ(GiveBack(keyspace, block, 10), Code::kNotFound);
  Reserve(Ask(keyspace, 90, "b"));
  EXPECT_EQ(GiveBack(keyspace, block, 10), Code::kNotFound);
  EXPECT_EQ(GiveBack(keyspace, block, 0), Code::kNotFound);
  EXPECT_EQ(GiveBack(keyspace, block, 100), Code::kNotFound);
}

TEST_P(StoreLendingTest, AllNoneAndMoreThanAll) {
  const KeyspaceRecord keyspace = Create(50, 1'000'000);
  const Block all = Lend(keyspace, 100);
  const Block none = Lend(keyspace, 100);
  const Block last = Lend(keyspace, 100);
  EXPECT_EQ(GiveBack(keyspace, all, 101), Code::kInvalidArgument);
  EXPECT_EQ(store_->GiveBack({keyspace.id, none.id, 149, {}}, Soon()).code(),
            Code::kInvalidArgument);
  EXPECT_EQ(store_->GiveBack({keyspace.id, last.id, 0, {}}, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(GiveBack(keyspace, all, 100), Code::kOk) << "its end is the next one's beginning";
  EXPECT_EQ(GiveBack(keyspace, none, 0), Code::kOk);
  EXPECT_EQ(GiveBack(keyspace, last, 100), Code::kOk) << "its end is where no row is yet";
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].state, BlockState::kSpent);
  EXPECT_EQ(rows[0].count, 100U);
  EXPECT_EQ(rows[1].state, BlockState::kReturned);
  EXPECT_EQ(rows[1].count, 100U);
  EXPECT_EQ(rows[2].state, BlockState::kSpent);
}

TEST_P(StoreLendingTest, TheLastNumbersAreLentAndThenNone) {
  const KeyspaceRecord keyspace = Create(kNumberEnd - 12, kNumberEnd);
  EXPECT_EQ(Lend(keyspace, 10).count, 10U);
  const Block last = Lend(keyspace, 10);
  EXPECT_EQ(last.count, 2U);
  ReserveRequest more = Ask(keyspace, 1);
  more.lend = true;
  EXPECT_EQ(store_->Reserve(more, Soon()).code(), Code::kExhausted);
  EXPECT_EQ(GiveBack(keyspace, last, 1), Code::kOk);
  EXPECT_EQ(Lend(keyspace, 10).first, kNumberEnd - 1);
}

TEST_P(StoreLendingTest, AnotherClientOfTheStoreTakesItBack) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Lend(keyspace, 100, "one");
  const std::unique_ptr<Store> client = fixture_->OpenClient();
  Store& other = client == nullptr ? *store_ : *client;  // Memory has one client only.
  ASSERT_TRUE(other.Identity(Soon()).ok());
  EXPECT_TRUE(other.GiveBack({keyspace.id, block.id, 10, {}}, Soon()).ok());
  EXPECT_EQ(GiveBack(keyspace, block, 10), Code::kNotFound);
}

// Two who say that they have given it back would each have its numbers granted again.
TEST_P(StoreLendingTest, OfManyWhoGiveOneBackAtOnceOneDoes) {
  const KeyspaceRecord keyspace = Create();
  for (int round = 0; round < 5; ++round) {
    const Block block = Lend(keyspace, 100);
    std::vector<Code> codes(4);
    std::vector<std::thread> threads;
    for (Code& code : codes) {
      threads.emplace_back(
          [&, round] { code = GiveBack(keyspace, block, static_cast<std::uint64_t>(round)); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::count(codes.begin(), codes.end(), Code::kOk), 1);
    EXPECT_EQ(std::count(codes.begin(), codes.end(), Code::kNotFound), 3);
    const Block rest = Lend(keyspace, 100);
    EXPECT_EQ(rest.first, block.first + static_cast<std::uint64_t>(round));
    EXPECT_EQ(GiveBack(keyspace, rest, rest.count), Code::kOk);
  }
}

// In the time that a store has lost, a lent block may have been given back and its numbers granted
// again: whoever had it and says so once more must not be believed.
TEST_P(StoreLendingTest, ARecoveryEndsWhatWasLent) {
  const KeyspaceRecord keyspace = Create();
  const Block held = Reserve(Ask(keyspace, 10));
  std::vector<Block> lent;
  for (int i = 0; i < 70; ++i) lent.push_back(Lend(keyspace, 10));  // More than one change takes.
  EXPECT_EQ(GiveBack(keyspace, lent[0], 4), Code::kOk);
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", {}, Soon()).ok());
  EXPECT_EQ(GiveBack(keyspace, lent[1], 0), Code::kQuarantined);
  const auto report = store_->Recover(keyspace.id, {}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->returned_burned, 6U) << "what is lent may well be in use";
  for (std::size_t i = 0; i < lent.size(); i += 23) {
    EXPECT_EQ(GiveBack(keyspace, lent[i], 0), Code::kNotFound) << i;
  }
  EXPECT_EQ(Lend(keyspace, 10).first, 710U);
  EXPECT_EQ(store_->GiveBack({keyspace.id, held.id, 5, {}}, Soon()).code(), Code::kOk)
      << "what an instance holds is its own affair";
  int burned = 0;
  for (const LedgerRow& row : Ledger(keyspace)) burned += row.state == BlockState::kBurned ? 1 : 0;
  EXPECT_EQ(burned, 70);
}

TEST_P(StoreLendingTest, NothingComesBackToAKeyspaceThatIsRetired) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Lend(keyspace, 100);
  ASSERT_TRUE(store_->RetireKeyspace("links", Soon()).ok());
  EXPECT_EQ(GiveBack(keyspace, block, 10), Code::kFailedPrecondition);
}

TEST_P(StoreLendingTest, AStoreBehindTheWitnessTakesNothingBack) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Lend(keyspace, 10);
  const Witness ahead{block.seen.rev + 1, block.seen.next};
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, block.first, ahead}, Soon()).code(),
            Code::kQuarantined);
  EXPECT_EQ(Ledger(keyspace).front().state, BlockState::kLent);
}

}  // namespace
}  // namespace keymill
