// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What every store must do, run against every store. To add one, write a StoreFixture for
// it and a line at the end of this file.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keymill/store.h"

#include "base/random.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace keymill {
namespace {

using testing::HasSubstr;

// A store's data, apart from the processes that use it.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;
  // Another client of the same data, of which there may be none yet; nullptr when the store
  // has only one client.
  virtual std::unique_ptr<Store> OpenClient() = 0;
};

struct StoreCase {
  std::string name;
  std::function<std::unique_ptr<StoreFixture>()> make;
};

class MemoryFixture final : public StoreFixture {
 public:
  std::unique_ptr<Store> OpenClient() override {
    return std::exchange(opened_, true) ? nullptr : store::OpenMemoryStore();
  }

 private:
  bool opened_ = false;
};

class SqliteFixture final : public StoreFixture {
 public:
  std::unique_ptr<Store> OpenClient() override {
    auto opened =
        store::OpenSqliteStore({.path = dir_.path() / "store.db", .create = true}, SystemClock(),
                               SystemClock().Monotonic() + std::chrono::seconds(30));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }

 private:
  TempDir dir_;
};

MonotonicTime Soon() { return SystemClock().Monotonic() + std::chrono::seconds(30); }

NewKeyspace Numbers(std::string name, std::uint64_t first, std::uint64_t end) {
  return {.name = std::move(name),
          .id = RandomHex(16),
          .recipe = "recipe",
          .recipe_hash = "hash",
          .secret = std::string("s\0\xff\x80", 4),
          .first = first,
          .end = end};
}

EstablishRequest::Part First(NewKeyspace keyspace, std::uint32_t count) {
  return {.keyspace = std::move(keyspace), .count = count, .reservation = RandomHex(16)};
}

// A store in which nothing has been established yet.
class StoreEstablishTest : public testing::TestWithParam<StoreCase> {
 protected:
  StoreEstablishTest() : fixture_(GetParam().make()), store_(fixture_->OpenClient()) {}

  Established Establish(const EstablishRequest& request) {
    auto made = store_->Establish(request, Soon());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *std::move(made) : Established{};
  }

  std::unique_ptr<StoreFixture> fixture_;
  std::unique_ptr<Store> store_;
};

class StoreConformanceTest : public StoreEstablishTest {
 protected:
  StoreConformanceTest() { Establish({}); }

  KeyspaceRecord Create(std::uint64_t first = 0, std::uint64_t end = 1'000'000,
                        std::string name = "links") {
    auto record = store_->CreateKeyspace(Numbers(std::move(name), first, end), Soon());
    EXPECT_TRUE(record.ok()) << record.status().message();
    return *record;
  }

  static ReserveRequest Ask(const KeyspaceRecord& keyspace, std::uint32_t count,
                            std::string instance = "a") {
    return {.keyspace_id = keyspace.id,
            .recipe_hash = keyspace.recipe_hash,
            .count = count,
            .witness = {},
            .instance = std::move(instance),
            .reservation = RandomHex(16),
            .above = 0,
            .spent = {}};
  }

  Block Reserve(const ReserveRequest& request) {
    auto block = store_->Reserve(request, Soon());
    EXPECT_TRUE(block.ok()) << block.status().message();
    return block.ok() ? *block : Block{};
  }

  std::vector<LedgerRow> Ledger(const KeyspaceRecord& keyspace) {
    auto rows = store_->ListLedger(keyspace.id, 0, 100'000, Soon());
    EXPECT_TRUE(rows.ok()) << rows.status().message();
    return rows.ok() ? *rows : std::vector<LedgerRow>{};
  }
};

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

TEST_P(StoreConformanceTest, IdentityStaysTheSameForEveryClient) {
  const auto identity = store_->Identity(Soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->store_id.size(), 32U);
  EXPECT_GE(identity->schema_version, 1U);
  if (auto other = fixture_->OpenClient()) {
    const auto again = other->Identity(Soon());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->store_id, identity->store_id);
    EXPECT_EQ(again->timeline, identity->timeline);
  }
}

TEST_P(StoreConformanceTest, ACreatedKeyspaceIsReadBackWhole) {
  const KeyspaceRecord made = Create(5, 500);
  const auto found = store_->FindKeyspace("links", Soon());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->id, made.id);
  EXPECT_EQ(found->recipe, "recipe");
  EXPECT_EQ(found->recipe_hash, "hash");
  EXPECT_EQ(found->secret, std::string("s\0\xff\x80", 4));
  EXPECT_EQ(found->state, KeyspaceState::kOpen);
  EXPECT_EQ(found->first, 5U);
  EXPECT_EQ(found->next, 5U);
  EXPECT_EQ(found->end, 500U);
  EXPECT_EQ(found->rev, 1U);
  EXPECT_GT(found->created_at_ms, 1'700'000'000'000);
}

TEST_P(StoreConformanceTest, TheFirstCreatorWinsAndTheSecondIsToldWhatIsThere) {
  const KeyspaceRecord first = Create(0, 100);
  NewKeyspace other = Numbers("links", 0, 999);
  other.secret = "other";
  other.recipe_hash = "other";
  const auto second = store_->CreateKeyspace(other, Soon());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->id, first.id);
  EXPECT_EQ(second->secret, first.secret);
  EXPECT_EQ(second->end, 100U);
}

TEST_P(StoreConformanceTest, AnUnsoundKeyspaceIsNotCreated) {
  EXPECT_FALSE(store_->CreateKeyspace(Numbers("bad", 7, 7), Soon()).ok());
  EXPECT_FALSE(store_->CreateKeyspace(Numbers("bad", 0, kNumberEnd + 1), Soon()).ok());
  EXPECT_EQ(store_->FindKeyspace("bad", Soon()).code(), Code::kNotFound);
}

TEST_P(StoreConformanceTest, NamesCompareAsBytes) {
  const KeyspaceRecord lower = Create(0, 100, "links");
  const KeyspaceRecord upper = Create(0, 100, "LINKS");
  const KeyspaceRecord trailing = Create(0, 100, "links-");
  EXPECT_NE(lower.id, upper.id);
  EXPECT_NE(lower.id, trailing.id);
  EXPECT_EQ(store_->FindKeyspace("Links", Soon()).code(), Code::kNotFound);
}

TEST_P(StoreConformanceTest, ListsKeyspacesByName) {
  Create(0, 100, "b");
  Create(0, 100, "a");
  const auto all = store_->ListKeyspaces(Soon());
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].name, "a");
  EXPECT_EQ((*all)[1].name, "b");
}

TEST_P(StoreConformanceTest, ConsecutiveBlocksDoNotOverlap) {
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

TEST_P(StoreConformanceTest, AnUnknownKeyspaceIsNotFound) {
  KeyspaceRecord nowhere;
  nowhere.id = RandomHex(16);
  EXPECT_EQ(store_->Reserve(Ask(nowhere, 1), Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->FindBlock(nowhere.id, 1, Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->GiveBack({nowhere.id, "x", 1, {}}, Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->Quarantine(nowhere.id, "x", Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->RetireKeyspace("nowhere", Soon()).code(), Code::kNotFound);
}

TEST_P(StoreConformanceTest, TheLastBlockIsCutAndThenTheKeyspaceIsExhausted) {
  const KeyspaceRecord keyspace = Create(0, 12);
  EXPECT_EQ(Reserve(Ask(keyspace, 10)).count, 10U);
  const Block last = Reserve(Ask(keyspace, 10));
  EXPECT_EQ(last.first, 10U);
  EXPECT_EQ(last.count, 2U);
  EXPECT_EQ(store_->Reserve(Ask(keyspace, 1), Soon()).code(), Code::kExhausted);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->next, 12U);
}

// Doubles lose integers above 2^53; a store that computes in them repeats numbers there.
TEST_P(StoreConformanceTest, CountsExactlyAroundTwoToThe53) {
  constexpr std::uint64_t kEdge = std::uint64_t{1} << 53;
  const KeyspaceRecord keyspace = Create(kEdge - 2, kEdge + 3);
  for (std::uint64_t number = kEdge - 2; number < kEdge + 3; ++number) {
    const Block block = Reserve(Ask(keyspace, 1));
    EXPECT_EQ(block.first, number);
    EXPECT_EQ(block.seen.next, number + 1);
  }
  EXPECT_EQ(store_->Reserve(Ask(keyspace, 1), Soon()).code(), Code::kExhausted);
}

TEST_P(StoreConformanceTest, CountsExactlyUpToTheEndOfTheNumbers) {
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

TEST_P(StoreConformanceTest, TheLargestBlockIsGranted) {
  const KeyspaceRecord keyspace = Create(0, std::uint64_t{1} << 40);
  EXPECT_EQ(Reserve(Ask(keyspace, Store::kBlockCountMax)).count, Store::kBlockCountMax);
}

TEST_P(StoreConformanceTest, AnotherRecipeIsRefused) {
  const KeyspaceRecord keyspace = Create();
  ReserveRequest request = Ask(keyspace, 1);
  request.recipe_hash = "another";
  EXPECT_EQ(store_->Reserve(request, Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->next, 0U);
}

TEST_P(StoreConformanceTest, ARetiredKeyspaceGivesNothingAndKeepsItsName) {
  const KeyspaceRecord keyspace = Create();
  ASSERT_TRUE(store_->RetireKeyspace("links", Soon()).ok());
  EXPECT_EQ(store_->Reserve(Ask(keyspace, 1), Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(store_->RetireKeyspace("links", Soon())->state, KeyspaceState::kRetired);
  const auto again = store_->CreateKeyspace(Numbers("links", 0, 10), Soon());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->id, keyspace.id);
  EXPECT_EQ(again->state, KeyspaceState::kRetired);
}

TEST_P(StoreConformanceTest, AdjacentBlocksOfOneInstanceShareALedgerRow) {
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

TEST_P(StoreConformanceTest, FindsTheBlockOfANumber) {
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

TEST_P(StoreConformanceTest, WhatIsGivenBackIsGrantedAgainFirst) {
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

TEST_P(StoreConformanceTest, SpentBlocksAreMarkedInPassing) {
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

TEST_P(StoreConformanceTest, GivingBackWorksOnce) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 40, {}}, Soon()).ok());
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, 40, {}}, Soon()).code(), Code::kNotFound);
  Reserve(Ask(keyspace, 60, "b"));
  EXPECT_EQ(store_->GiveBack({keyspace.id, block.id, 40, {}}, Soon()).code(), Code::kNotFound);
}

TEST_P(StoreConformanceTest, GivingBackChecksTheRange) {
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

TEST_P(StoreConformanceTest, AnUntouchedBlockGoesBackWhole) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 0, {}}, Soon()).ok());
  const auto rows = Ledger(keyspace);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, BlockState::kReturned);
}

TEST_P(StoreConformanceTest, AProcessThatCountsUpwardsIsNotGivenLowerNumbers) {
  const KeyspaceRecord keyspace = Create();
  const Block a = Reserve(Ask(keyspace, 100, "a"));
  Reserve(Ask(keyspace, 100, "b"));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, a.id, 10, {}}, Soon()).ok());
  ReserveRequest upwards = Ask(keyspace, 10, "b");
  upwards.above = 150;
  EXPECT_EQ(Reserve(upwards).first, 200U);
  EXPECT_EQ(Reserve(Ask(keyspace, 10, "c")).first, 10U);
}

TEST_P(StoreConformanceTest, AStoreBehindTheWitnessIsQuarantinedForEverybody) {
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
TEST_P(StoreConformanceTest, AStoreBehindTheWitnessTakesNothingBack) {
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

TEST_P(StoreConformanceTest, ANextNumberBelowTheWitnessQuarantinesToo) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  ReserveRequest request = Ask(keyspace, 10);
  request.witness = {block.seen.rev, block.seen.next + 1};
  EXPECT_EQ(store_->Reserve(request, Soon()).code(), Code::kQuarantined);
}

TEST_P(StoreConformanceTest, AWitnessThatAgreesIsServed) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  ReserveRequest request = Ask(keyspace, 10);
  request.witness = block.seen;
  EXPECT_TRUE(store_->Reserve(request, Soon()).ok());
}

TEST_P(StoreConformanceTest, QuarantineKeepsItsFirstReason) {
  const KeyspaceRecord keyspace = Create();
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "first", Soon()).ok());
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "second", Soon()).ok());
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->reason, "first");
}

TEST_P(StoreConformanceTest, RecoverGoesOnAboveEverythingKnownAndBurnsWhatWasReturned) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->GiveBack({keyspace.id, block.id, 30, {}}, Soon()).ok());
  EXPECT_EQ(store_->Recover(keyspace.id, {}, Soon()).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", Soon()).ok());

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

TEST_P(StoreConformanceTest, RecoverBelowTheStoreKeepsTheStoresNumbers) {
  const KeyspaceRecord keyspace = Create();
  Reserve(Ask(keyspace, 100));
  ASSERT_TRUE(store_->Quarantine(keyspace.id, "test", Soon()).ok());
  const auto report = store_->Recover(keyspace.id, {}, Soon());
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->next_after, 100U);
  EXPECT_EQ(Reserve(Ask(keyspace, 1)).first, 100U);
}

TEST_P(StoreConformanceTest, TwoClientsNeverShareABlock) {
  const KeyspaceRecord keyspace = Create();
  std::vector<std::unique_ptr<Store>> clients;
  for (int i = 0; i < 3; ++i) {
    if (auto client = fixture_->OpenClient()) clients.push_back(std::move(client));
  }
  std::vector<Store*> stores = {store_.get(), store_.get()};
  for (const auto& client : clients) stores.push_back(client.get());
  std::vector<std::vector<Block>> blocks(stores.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < stores.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        auto block = stores[i]->Reserve(Ask(keyspace, 7, std::to_string(i)), Soon());
        if (block.ok()) blocks[i].push_back(*block);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::uint64_t> numbers;
  std::size_t total = 0;
  for (const auto& of_client : blocks) {
    EXPECT_EQ(of_client.size(), 20U);
    for (const Block& block : of_client) {
      for (std::uint32_t i = 0; i < block.count; ++i) numbers.insert(block.first + i);
      total += block.count;
    }
  }
  EXPECT_EQ(numbers.size(), total);
}

// A seeded random walk against a model: what is out, what is free, who holds what.
TEST_P(StoreConformanceTest, AgreesWithAModelUnderARandomWalk) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const KeyspaceRecord keyspace = Create(0, 5000);
  std::set<std::uint64_t> out;  // Handed out for good.
  struct Held {
    Block block;
    std::uint64_t end = 0;
  };
  std::map<std::string, Held> held;  // By block id: [first, end).
  Witness last{1, 0};
  for (int step = 0; step < 300; ++step) {
    if (random() % 3 != 0 || held.empty()) {
      ReserveRequest request = Ask(keyspace, static_cast<std::uint32_t>(random() % 60 + 1),
                                   "i" + std::to_string(random() % 3));
      request.witness = last;
      auto block = store_->Reserve(request, Soon());
      if (!block.ok()) {
        ASSERT_EQ(block.code(), Code::kExhausted);
        continue;
      }
      ASSERT_GT(block->seen.rev, last.rev);
      ASSERT_GE(block->seen.next, last.next);
      last = block->seen;
      auto [at, fresh] = held.try_emplace(block->id, Held{*block, block->first + block->count});
      if (!fresh) {
        ASSERT_EQ(at->second.end, block->first) << "a shared row grows at its end";
        at->second.end += block->count;
      }
    } else {
      auto at = held.begin();
      std::advance(at, static_cast<long>(random() % held.size()));
      const Held& row = at->second;
      const std::uint64_t used = row.block.first + random() % (row.end - row.block.first + 1);
      auto settled = store_->GiveBack({keyspace.id, at->first, used, {}}, Soon());
      ASSERT_TRUE(settled.ok()) << settled.status().message();
      last = *settled;
      for (std::uint64_t number = row.block.first; number < used; ++number) {
        ASSERT_TRUE(out.insert(number).second) << "number " << number << " twice";
      }
      held.erase(at);
    }
  }
  for (const auto& [id, row] : held) {
    for (std::uint64_t number = row.block.first; number < row.end; ++number) {
      ASSERT_TRUE(out.insert(number).second) << "number " << number << " twice";
    }
  }
  std::uint64_t end = 0;
  for (const LedgerRow& row : Ledger(keyspace)) {
    ASSERT_EQ(row.first, end) << "the ledger has no hole and no overlap";
    end = row.first + row.count;
  }
  EXPECT_EQ(end, last.next);
}

const auto kEveryStore =
    testing::Values(StoreCase{"Memory", [] { return std::make_unique<MemoryFixture>(); }},
                    StoreCase{"Sqlite", [] { return std::make_unique<SqliteFixture>(); }});

std::string NameOf(const testing::TestParamInfo<StoreCase>& store) { return store.param.name; }

INSTANTIATE_TEST_SUITE_P(EveryStore, StoreEstablishTest, kEveryStore, NameOf);
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreConformanceTest, kEveryStore, NameOf);

}  // namespace
}  // namespace keymill
