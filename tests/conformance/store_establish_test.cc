// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An empty store, and what its first instances make of it.

#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

class StoreEstablishTest : public EmptyStoreTest {};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreEstablishTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreEstablishTest, MakesIdentityKeyspacesAndFirstBlocks) {
  const Established made = Establish(
      {.keyspaces = {First(Numbers("links", 5, 500), 10), First(Numbers("later", 0, 100), 0)},
       .instance = "host/1"});
  const auto identity = store_->Identity(Soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(made.identity.store_id, identity->store_id);
  EXPECT_EQ(made.identity.timeline, identity->timeline);
  EXPECT_EQ(made.identity.schema_version, identity->schema_version);

  ASSERT_EQ(made.keyspaces.size(), 2U);
  const auto& [links, block] = made.keyspaces[0];
  ASSERT_TRUE(block.has_value());
  EXPECT_EQ(block->first, 5U);
  EXPECT_EQ(block->count, 10U);
  EXPECT_EQ(block->seen, (Witness{links.rev, links.next})) << "the record is as the block left it";
  EXPECT_EQ(links.next, 15U);
  EXPECT_EQ(links.secret, std::string("s\0\xff\x80", 4));
  EXPECT_FALSE(made.keyspaces[1].block.has_value());
  EXPECT_EQ(made.keyspaces[1].record.name, "later");
  EXPECT_EQ(made.keyspaces[1].record.next, 0U);

  const auto found = store_->FindKeyspace("links", Soon());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->id, links.id);
  EXPECT_EQ(found->rev, links.rev);
  EXPECT_EQ(found->next, 15U);
  const auto rows = store_->ListLedger(links.id, 0, 10, Soon());
  ASSERT_TRUE(rows.ok() && rows->size() == 1);
  EXPECT_EQ(rows->front().block_id, block->id);
  EXPECT_EQ(rows->front().count, 10U);
  EXPECT_EQ(rows->front().instance, "host/1");
  EXPECT_EQ(rows->front().state, BlockState::kHeld);
}

// It may be behind a witness, and have another recipe: only Reserve compares those.
TEST_P(StoreEstablishTest, OfAKeyspaceThatIsThereNothingIsReserved) {
  const Established first =
      Establish({.keyspaces = {First(Numbers("links", 0, 100), 10)}, .instance = "a"});
  NewKeyspace other = Numbers("links", 0, 999);
  other.secret = "other";
  const Established second = Establish(
      {.keyspaces = {First(other, 10), First(Numbers("codes", 0, 100), 10)}, .instance = "b"});
  EXPECT_EQ(second.identity.store_id, first.identity.store_id);
  ASSERT_EQ(second.keyspaces.size(), 2U);
  EXPECT_FALSE(second.keyspaces[0].block.has_value());
  EXPECT_EQ(second.keyspaces[0].record.id, first.keyspaces[0].record.id);
  EXPECT_EQ(second.keyspaces[0].record.secret, first.keyspaces[0].record.secret);
  EXPECT_EQ(second.keyspaces[0].record.rev, first.keyspaces[0].record.rev) << "nothing changed";
  EXPECT_EQ(second.keyspaces[0].record.next, 10U);
  EXPECT_TRUE(second.keyspaces[1].block.has_value()) << "the new one has its block";
  EXPECT_EQ(store_->ListLedger(first.keyspaces[0].record.id, 0, 10, Soon())->size(), 1U);
}

TEST_P(StoreEstablishTest, ManyKeyspacesAreMadeInTheirOrder) {
  EstablishRequest request{.keyspaces = {}, .instance = "a"};
  for (std::uint64_t i = 0; i < 70; ++i) {
    request.keyspaces.push_back(First(Numbers("k" + std::to_string(i % 60), i, 1000), 10));
  }
  const Established made = Establish(request);
  ASSERT_EQ(made.keyspaces.size(), 70U);
  for (std::size_t i = 0; i < 70; ++i) {
    EXPECT_EQ(made.keyspaces[i].record.name, "k" + std::to_string(i % 60));
    EXPECT_EQ(made.keyspaces[i].record.first, i % 60);
    EXPECT_EQ(made.keyspaces[i].block.has_value(), i < 60) << "a name that comes twice is one";
  }
}

TEST_P(StoreEstablishTest, AFirstBlockIsLikeAnyOther) {
  const Established made =
      Establish({.keyspaces = {First(Numbers("links", 0, 100), 60)}, .instance = "a"});
  const KeyspaceRecord& links = made.keyspaces.at(0).record;
  const Block first = made.keyspaces[0].block.value_or(Block{});
  const auto next = store_->Reserve({.keyspace_id = links.id,
                                     .recipe_hash = links.recipe_hash,
                                     .count = 60,
                                     .witness = first.seen,
                                     .instance = "a",
                                     .reservation = RandomHex(16),
                                     .above = 0,
                                     .spent = {}},
                                    Soon());
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_EQ(next->first, 60U);
  EXPECT_EQ(next->count, 40U);
  EXPECT_EQ(next->id, first.id) << "adjacent blocks of one instance share a row";
  ASSERT_TRUE(store_->GiveBack({links.id, first.id, 70, next->seen}, Soon()).ok());
}

TEST_P(StoreEstablishTest, AFirstBlockIsCutToTheKeyspace) {
  const Established made =
      Establish({.keyspaces = {First(Numbers("few", 7, 10), 1000)}, .instance = "a"});
  ASSERT_TRUE(made.keyspaces.at(0).block.has_value());
  EXPECT_EQ(made.keyspaces[0].block->first, 7U);
  EXPECT_EQ(made.keyspaces[0].block->count, 3U);
}

TEST_P(StoreEstablishTest, AnUnsoundKeyspaceMakesNothing) {
  const EstablishRequest request{
      .keyspaces = {First(Numbers("links", 0, 100), 10), First(Numbers("bad", 7, 7), 1)},
      .instance = "a"};
  EXPECT_FALSE(store_->Establish(request, Soon()).ok());
  Establish({});
  EXPECT_EQ(store_->FindKeyspace("links", Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->FindKeyspace("bad", Soon()).code(), Code::kNotFound);
}

// Instances that start at once: one secret, and one of them has the first block.
// S1: a store that vanished under those who use it is not replaced by the next keyspace.
TEST_P(StoreEstablishTest, AKeyspaceAloneMakesNoStore) {
  const bool there = store_->Identity(Soon()).ok();  // One in memory is, from the beginning.
  EXPECT_EQ(store_->CreateKeyspace(Numbers("links", 0, 100), Soon()).ok(), there);
  EXPECT_EQ(store_->Identity(Soon()).code(), there ? Code::kOk : Code::kNotFound);
}

TEST_P(StoreEstablishTest, WhoeverStartsAtOnceAgreesOnOneKeyspace) {
  std::vector<std::unique_ptr<Store>> clients;
  clients.push_back(std::move(store_));
  for (int i = 0; i < 3; ++i) {
    if (auto client = fixture_->OpenClient()) clients.push_back(std::move(client));
  }
  std::vector<Established> made(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < made.size(); ++i) {
    threads.emplace_back([&, i] {
      NewKeyspace mine = Numbers("links", 0, 1000);
      mine.secret = "secret " + std::to_string(i);
      auto established = clients[i % clients.size()]->Establish(
          {.keyspaces = {First(mine, 10)}, .instance = std::to_string(i)}, Soon());
      ASSERT_TRUE(established.ok()) << established.status().message();
      made[i] = *std::move(established);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> identities;
  std::set<std::string> secrets;
  int blocks = 0;
  for (const Established& each : made) {
    ASSERT_EQ(each.keyspaces.size(), 1U);
    identities.insert(each.identity.store_id);
    secrets.insert(each.keyspaces[0].record.secret);
    blocks += each.keyspaces[0].block.has_value() ? 1 : 0;
  }
  EXPECT_EQ(identities.size(), 1U);
  EXPECT_EQ(secrets.size(), 1U);
  EXPECT_EQ(blocks, 1);
  EXPECT_EQ(clients[0]->FindKeyspace("links", Soon())->secret, *secrets.begin());
  EXPECT_EQ(clients[0]->FindKeyspace("links", Soon())->next, 10U);
}

}  // namespace
}  // namespace keymill
