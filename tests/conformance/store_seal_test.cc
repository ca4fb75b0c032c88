// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A store that is closed to be moved: nothing is written to it any more, whoever was at it.

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

using testing::HasSubstr;

class StoreSealTest : public StoreTest {
 protected:
  void Seal(std::string_view moved_to = "elsewhere", bool instead = false) {
    const Status sealed = store_->Seal(moved_to, instead, Soon());
    EXPECT_TRUE(sealed.ok()) << sealed.message();
  }

  static void ExpectSealed(const Status& status, std::string_view moved_to = "elsewhere") {
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("sealed"));
    EXPECT_THAT(status.message(), HasSubstr(std::string(moved_to)));
  }

  // Two clients at least, where there can be more than one.
  std::vector<Store*> Clients() {
    for (int i = 0; i < 2; ++i) {
      if (auto client = fixture_->OpenClient()) clients_.push_back(std::move(client));
    }
    std::vector<Store*> all = {store_.get()};
    for (const auto& client : clients_) all.push_back(client.get());
    return all;
  }

  std::vector<std::unique_ptr<Store>> clients_;
};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreSealTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreSealTest, NothingCanBeWrittenAndEverythingRead) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  Seal();
  const auto record = store_->FindKeyspace("links", Soon());
  ASSERT_TRUE(record.ok()) << record.status().message();
  EXPECT_EQ(record->state, KeyspaceState::kSealed);
  EXPECT_EQ(record->reason, "elsewhere");
  EXPECT_EQ(record->next, 10U);
  EXPECT_GE(record->rev, block.seen.rev);

  ExpectSealed(store_->Reserve(Ask(keyspace, 1), Soon()).status());
  ExpectSealed(store_->GiveBack({keyspace.id, block.id, 5, {}}, Soon()).status());
  ExpectSealed(store_->Establish({}, Soon()).status());
  ExpectSealed(
      store_->Establish({.keyspaces = {First(Numbers("new", 0, 9), 1)}, .instance = "a"}, Soon())
          .status());
  ExpectSealed(store_->CreateKeyspace(Numbers("new", 0, 9), Soon()).status());
  ExpectSealed(store_->CreateKeyspace(Numbers("links", 0, 9), Soon()).status());
  ExpectSealed(store_->RetireKeyspace("links", Soon()).status());
  ExpectSealed(store_->Quarantine(keyspace.id, "late", {.rev = 99, .next = 99}, Soon()));
  ExpectSealed(store_->Recover(keyspace.id, {}, Soon()).status());
  // Whoever has seen more than the store holds cannot change that either.
  ReserveRequest ahead = Ask(keyspace, 1);
  ahead.witness = {.rev = 1000, .next = 1000};
  ExpectSealed(store_->Reserve(ahead, Soon()).status());

  EXPECT_TRUE(store_->Identity(Soon()).ok());
  EXPECT_TRUE(store_->Inspect(Soon()).ok());
  EXPECT_EQ(store_->ListKeyspaces(Soon())->size(), 1U);
  EXPECT_EQ(store_->ListKeyspaces(Soon())->front().rev, record->rev) << "nothing was changed";
  EXPECT_EQ(store_->ListKeyspaces(Soon())->front().testified, (Witness{}));
  EXPECT_TRUE(store_->FindBlock(keyspace.id, 3, Soon())->has_value());
  EXPECT_EQ(Ledger(keyspace).at(0).state, BlockState::kHeld);
  if (auto other = fixture_->OpenClient()) {
    ExpectSealed(other->Reserve(Ask(keyspace, 1), Soon()).status());
    ExpectSealed(other->Establish({}, Soon()).status());
  }
}

TEST_P(StoreSealTest, AnEmptyStoreCanBeSealedToo) {
  Seal();
  ExpectSealed(store_->CreateKeyspace(Numbers("new", 0, 9), Soon()).status());
}

TEST_P(StoreSealTest, SealingAgainChangesNothing) {
  Create();
  Seal();
  const auto before = store_->FindKeyspace("links", Soon());
  Seal();
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->rev, before->rev);
}

TEST_P(StoreSealTest, ItIsSealedForAnotherOneOnlyInstead) {
  const KeyspaceRecord keyspace = Create();
  Seal("first");
  ExpectSealed(store_->Seal("second", false, Soon()), "first");
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->reason, "first");
  Seal("second", true);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->reason, "second");
  ExpectSealed(store_->Reserve(Ask(keyspace, 1), Soon()).status(), "second");
  ExpectSealed(store_->CreateKeyspace(Numbers("new", 0, 9), Soon()).status(), "second");
  Seal("second");
  EXPECT_EQ(store_->Seal("", true, Soon()).code(), Code::kInvalidArgument);
}

TEST_P(StoreSealTest, AQuarantinedKeyspaceKeepsTheStoreOpen) {
  const KeyspaceRecord good = Create(0, 100, "good");
  const KeyspaceRecord bad = Create(0, 100, "bad");
  ASSERT_TRUE(store_->Quarantine(bad.id, "test", {}, Soon()).ok());
  const Status refused = store_->Seal("elsewhere", false, Soon());
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("keymill recover bad"));
  EXPECT_EQ(Reserve(Ask(good, 1)).first, 0U);
  EXPECT_EQ(store_->FindKeyspace("bad", Soon())->state, KeyspaceState::kQuarantined);
  ASSERT_TRUE(store_->Recover(bad.id, {}, Soon()).ok());
  Seal();
  EXPECT_EQ(store_->FindKeyspace("bad", Soon())->state, KeyspaceState::kSealed);
}

TEST_P(StoreSealTest, ARetiredKeyspaceStaysRetired) {
  Create();
  const auto retired = store_->RetireKeyspace("links", Soon());
  ASSERT_TRUE(retired.ok());
  Seal();
  const auto record = store_->FindKeyspace("links", Soon());
  EXPECT_EQ(record->state, KeyspaceState::kRetired);
  EXPECT_EQ(record->rev, retired->rev);
  ExpectSealed(store_->RetireKeyspace("links", Soon()).status());
}

// Blocks are reserved all the time; whatever somebody was told before the seal, or while it was
// made, is what can be read once it is there.
TEST_P(StoreSealTest, NoBlockIsGrantedThatTheSealHasNotSeen) {
  const std::vector<KeyspaceRecord> keyspaces = {Create(0, 1'000'000, "a"),
                                                 Create(0, 1'000'000, "b")};
  const std::vector<Store*> stores = Clients();
  constexpr std::size_t kThreads = 4;
  std::atomic<int> granted{0};
  std::atomic<bool> refused{false};
  std::vector<std::map<std::string, std::set<std::uint64_t>>> got(kThreads);  // By keyspace id.
  std::vector<Status> ends(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t round = 0; ends[i].ok(); ++round) {
        const KeyspaceRecord& keyspace = keyspaces[(i + round) % 2];
        const auto block =
            stores[i % stores.size()]->Reserve(Ask(keyspace, 3, std::to_string(i)), Soon());
        ends[i] = block.status();
        refused = refused || !block.ok();
        if (!block.ok()) break;
        ++granted;
        for (std::uint64_t n = 0; n < block->count; ++n)
          got[i][keyspace.id].insert(block->first + n);
      }
    });
  }
  while (granted < 40 && !refused) std::this_thread::yield();
  const Status sealed = store_->Seal("elsewhere", false, Soon());
  EXPECT_TRUE(sealed.ok()) << sealed.message();
  const auto records = store_->ListKeyspaces(Soon());
  const std::vector<std::vector<LedgerRow>> ledgers = {Ledger(keyspaces[0]), Ledger(keyspaces[1])};
  for (std::thread& thread : threads) thread.join();

  for (const Status& end : ends) ExpectSealed(end);
  ASSERT_TRUE(records.ok() && records->size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto now = store_->FindKeyspace(keyspaces[i].name, Soon());
    EXPECT_EQ(now->rev, (*records)[i].rev) << "nothing came after the seal";
    EXPECT_EQ(now->next, (*records)[i].next);
    std::uint64_t end = 0;
    for (const LedgerRow& row : ledgers[i]) {
      ASSERT_EQ(row.first, end);
      end += row.count;
    }
    EXPECT_EQ(end, (*records)[i].next) << "the ledger and the counter are of one time";
    for (const auto& of_thread : got) {
      const auto numbers = of_thread.find(keyspaces[i].id);
      if (numbers == of_thread.end()) continue;
      EXPECT_LT(*numbers->second.rbegin(), end) << "what was acknowledged is there";
    }
  }
}

TEST_P(StoreSealTest, AKeyspaceThatIsMadeMeanwhileIsSealedToo) {
  const std::vector<Store*> stores = Clients();
  constexpr std::size_t kThreads = 4;
  std::atomic<int> created{0};
  std::atomic<bool> refused{false};
  std::mutex mutex;
  std::set<std::string> made;
  std::vector<Status> ends(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; ends[i].ok(); ++round) {
        const std::string name = "k" + std::to_string(i) + "-" + std::to_string(round);
        Store& store = *stores[i % stores.size()];
        ends[i] =
            i % 2 == 0
                ? store.CreateKeyspace(Numbers(name, 0, 100), Soon()).status()
                : store
                      .Establish({.keyspaces = {First(Numbers(name, 0, 100), 5)}, .instance = "a"},
                                 Soon())
                      .status();
        refused = refused || !ends[i].ok();
        if (!ends[i].ok()) break;
        ++created;
        const std::lock_guard lock(mutex);
        made.insert(name);
      }
    });
  }
  while (created < 12 && !refused) std::this_thread::yield();
  Seal();
  const auto records = store_->ListKeyspaces(Soon());
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) ExpectSealed(end);
  ASSERT_TRUE(records.ok());
  std::set<std::string> there;
  for (const KeyspaceRecord& record : *records) {
    EXPECT_EQ(record.state, KeyspaceState::kSealed) << record.name;
    there.insert(record.name);
  }
  EXPECT_EQ(there, made);
  EXPECT_EQ(store_->ListKeyspaces(Soon())->size(), made.size()) << "none came after the seal";
}

TEST_P(StoreSealTest, OfTwoWhoSealItAtOnceOneWins) {
  for (int i = 0; i < 10; ++i) Create(0, 100, "k" + std::to_string(i));
  const std::vector<Store*> stores = Clients();
  std::vector<Status> ends(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back([&, i] {
      ends[i] = stores[i % stores.size()]->Seal("place " + std::to_string(i), false, Soon());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string winner;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!ends[i].ok()) continue;
    EXPECT_EQ(winner, "");
    winner = "place " + std::to_string(i);
  }
  ASSERT_NE(winner, "");
  for (const Status& end : ends) {
    if (!end.ok()) ExpectSealed(end, winner);
  }
  for (const KeyspaceRecord& record : *store_->ListKeyspaces(Soon())) {
    EXPECT_EQ(record.reason, winner);
  }
}

}  // namespace
}  // namespace keymill
