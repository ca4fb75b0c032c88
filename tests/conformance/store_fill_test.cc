// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A store that is filled from another one, as `keymill store copy` does, and how it goes on.

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

using testing::HasSubstr;

// A store with something in it, and an empty one.
class StoreFillTest : public StoreTest {
 protected:
  StoreFillTest() : other_(GetParam().make()), target_(other_->OpenClient()) {}

  static void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

  static void ExpectRefused(const Status& status, std::string_view word) {
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(std::string(word)));
  }

  // Everything but its end. Returns the first error.
  Status Fill(Store& target, const std::string& store_id, const std::string& fill) {
    keyspaces_ = rows_ = 0;
    if (Status begun = target.BeginFill(store_id, fill, Soon()); !begun.ok()) return begun;
    auto records = store_->ListKeyspaces(Soon());
    if (!records.ok()) return records.status();
    for (const KeyspaceRecord& record : *records) {
      if (Status done = target.FillKeyspace(fill, record, Soon()); !done.ok()) return done;
      ++keyspaces_;
      std::uint64_t from = 0;
      for (;;) {
        const auto rows = store_->ListLedger(record.id, from, Store::kFillRowsMax, Soon());
        if (!rows.ok()) return rows.status();
        if (rows->empty()) break;
        Status done = target.FillLedger(fill, record.id, *rows, Soon());
        if (!done.ok()) return done;
        rows_ += rows->size();
        from = rows->back().first + 1;
      }
    }
    return {};
  }

  std::string StoreId() { return store_->Identity(Soon())->store_id; }

  // Seals the first store and fills the second from it.
  void Move() {
    ExpectOk(store_->Seal("elsewhere", false, Soon()));
    ExpectOk(Fill(*target_, StoreId(), "fill"));
    ExpectOk(target_->EndFill("fill", keyspaces_, rows_, 0, Soon()));
  }

  static void ExpectSameRow(const LedgerRow& a, const LedgerRow& b) {
    EXPECT_EQ(a.block_id, b.block_id);
    EXPECT_EQ(a.first, b.first);
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.instance, b.instance);
    EXPECT_EQ(a.reservation, b.reservation);
    EXPECT_EQ(a.reserved_at_ms, b.reserved_at_ms);
    EXPECT_EQ(a.state, b.state);
  }

  // In all but the state of one that was sealed.
  void ExpectSameKeyspace(const KeyspaceRecord& was) {
    const auto now = target_->FindKeyspace(was.name, Soon());
    ASSERT_TRUE(now.ok()) << now.status().message();
    EXPECT_EQ(now->id, was.id);
    EXPECT_EQ(now->recipe, was.recipe);
    EXPECT_EQ(now->recipe_hash, was.recipe_hash);
    EXPECT_EQ(now->secret, was.secret);
    EXPECT_EQ(now->first, was.first);
    EXPECT_EQ(now->end, was.end);
    EXPECT_EQ(now->next, was.next);
    EXPECT_EQ(now->rev, was.rev);
    EXPECT_EQ(now->created_at_ms, was.created_at_ms);
    EXPECT_EQ(now->reason, "");
    EXPECT_EQ(now->state, was.state == KeyspaceState::kSealed ? KeyspaceState::kOpen : was.state);
    const auto before = store_->ListLedger(was.id, 0, 100'000, Soon());
    const auto after = target_->ListLedger(was.id, 0, 100'000, Soon());
    ASSERT_TRUE(before.ok() && after.ok());
    ASSERT_EQ(after->size(), before->size());
    for (std::size_t i = 0; i < before->size(); ++i) ExpectSameRow((*before)[i], (*after)[i]);
  }

  std::unique_ptr<StoreFixture> other_;
  std::unique_ptr<Store> target_;
  std::uint64_t keyspaces_ = 0;  // What Fill has written.
  std::uint64_t rows_ = 0;
};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreFillTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreFillTest, WhatIsLentComesBackToTheNewStoreOrEndsThere) {
  const KeyspaceRecord links = Create(0, 1'000'000, "links");
  std::vector<Block> lent;
  for (int i = 0; i < 100; ++i) {  // More than one transaction takes.
    ReserveRequest request = Ask(links, 10);
    request.lend = true;
    lent.push_back(Reserve(request));
  }
  Move();
  const auto settled = target_->GiveBack({links.id, lent[50].id, 503, {}}, Soon());
  EXPECT_TRUE(settled.ok()) << settled.status().message();
  EXPECT_EQ(target_->Reserve(Ask(links, 10), Soon())->first, 503U);
  ASSERT_TRUE(target_->Quarantine(links.id, "test", {}, Soon()).ok());
  ASSERT_TRUE(target_->Recover(links.id, {}, Soon()).ok());
  EXPECT_EQ(target_->GiveBack({links.id, lent[99].id, 995, {}}, Soon()).code(), Code::kNotFound);
}

TEST_P(StoreFillTest, TheNewStoreGoesOnWhereTheOldOneWas) {
  const KeyspaceRecord links = Create(0, 1'000'000, "links");
  const Block held = Reserve(Ask(links, 100, "a"));
  const Block returned = Reserve(Ask(links, 50, "b"));
  ReserveRequest request = Ask(links, 10, "c");
  request.spent = {held.id};
  const Block last = Reserve(request);
  ASSERT_TRUE(store_->GiveBack({links.id, returned.id, 120, {}}, Soon()).ok());
  Create(7, 10, "unused");
  Create(0, 10, "old");
  ASSERT_TRUE(store_->RetireKeyspace("old", Soon()).ok());
  const KeyspaceRecord ends = Create((std::uint64_t{1} << 63) - 10, kNumberEnd, "ends");
  Reserve(Ask(ends, 4));
  Move();

  for (const KeyspaceRecord& was : *store_->ListKeyspaces(Soon())) ExpectSameKeyspace(was);
  EXPECT_EQ(target_->ListKeyspaces(Soon())->size(), 4U);
  const auto identity = target_->Identity(Soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->store_id, StoreId());
  EXPECT_EQ(identity->agreed_timeline, identity->timeline);

  // A witness of the old store is none the wiser.
  request = Ask(links, 1000, "d");
  request.witness = last.seen;
  request.timeline = identity->timeline;
  auto block = target_->Reserve(request, Soon());
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_EQ(block->first, 120U) << "what was given back";
  EXPECT_EQ(block->count, 30U);
  block = target_->Reserve(Ask(links, 10, "d"), Soon());
  EXPECT_EQ(block->first, 160U);
  ASSERT_TRUE(target_->GiveBack({links.id, last.id, 155, block->seen}, Soon()).ok())
      << "a block of the old store's is held on";
  block = target_->Reserve(Ask(ends, 100, "d"), Soon());
  EXPECT_EQ(block->first, (std::uint64_t{1} << 63) - 6);
  EXPECT_EQ(block->count, 5U);
  EXPECT_EQ(target_->Reserve(Ask(ends, 1), Soon()).code(), Code::kExhausted);
  // And a store that is like any other can be moved on.
  ExpectOk(target_->Seal("further", false, Soon()));
}

TEST_P(StoreFillTest, AStoreWithoutAnythingCanBeMoved) {
  Move();
  EXPECT_EQ(target_->Identity(Soon())->store_id, StoreId());
  EXPECT_TRUE(target_->CreateKeyspace(Numbers("links", 0, 10), Soon()).ok());
}

TEST_P(StoreFillTest, AStoreThatIsBeingFilledIsOfNoUse) {
  const KeyspaceRecord links = Create();
  const Block block = Reserve(Ask(links, 10));
  ExpectOk(store_->Seal("elsewhere", false, Soon()));
  ExpectOk(Fill(*target_, StoreId(), "fill"));
  constexpr std::string_view kSays = "being filled";
  const auto refuses_everything = [&](Store& store) {
    ExpectRefused(store.Identity(Soon()).status(), kSays);
    ExpectRefused(store.Establish({}, Soon()).status(), kSays);
    ExpectRefused(store.CreateKeyspace(Numbers("new", 0, 9), Soon()).status(), kSays);
    ExpectRefused(store.FindKeyspace("links", Soon()).status(), kSays);
    ExpectRefused(store.ListKeyspaces(Soon()).status(), kSays);
    ExpectRefused(store.RetireKeyspace("links", Soon()).status(), kSays);
    ExpectRefused(store.Reserve(Ask(links, 1), Soon()).status(), kSays);
    KeyspaceRecord later;
    later.id = "not there yet";
    ExpectRefused(store.Reserve(Ask(later, 1), Soon()).status(), kSays);
    ExpectRefused(store.GiveBack({links.id, block.id, 5, {}}, Soon()).status(), kSays);
    ExpectRefused(store.FindBlock(links.id, 1, Soon()).status(), kSays);
    ExpectRefused(store.ListLedger(links.id, 0, 10, Soon()).status(), kSays);
    ExpectRefused(store.Quarantine(links.id, "x", {}, Soon()), kSays);
    ExpectRefused(store.Recover(links.id, {}, Soon()).status(), kSays);
    ExpectRefused(store.Seal("further", false, Soon()), kSays);
    EXPECT_TRUE(store.Inspect(Soon()).ok());
  };
  refuses_everything(*target_);
  if (const auto client = other_->OpenClient()) refuses_everything(*client);
  ExpectOk(target_->EndFill("fill", keyspaces_, rows_, 0, Soon()));
  EXPECT_EQ(target_->ListLedger(links.id, 0, 10, Soon())->size(), 1U);
}

// Whoever was interrupted begins again; whoever was only thought to be finds that it is over.
TEST_P(StoreFillTest, BeginningAgainStartsFromNothing) {
  const KeyspaceRecord links = Create();
  for (int i = 0; i < 1203; ++i) Reserve(Ask(links, 1, std::to_string(i % 2)));
  ExpectOk(store_->Seal("elsewhere", false, Soon()));
  const auto record = store_->FindKeyspace("links", Soon());
  const std::vector<LedgerRow> rows = {Ledger(links).at(0)};
  ExpectOk(Fill(*target_, StoreId(), "first"));
  EXPECT_EQ(rows_, 1203U);
  ExpectOk(Fill(*target_, StoreId(), "second"));
  constexpr std::string_view kSays = "another fill has begun";
  ExpectRefused(target_->FillKeyspace("first", *record, Soon()), kSays);
  ExpectRefused(target_->FillLedger("first", links.id, rows, Soon()), kSays);
  ExpectRefused(target_->EndFill("first", 1, 1203, 0, Soon()), kSays);
  ExpectRefused(target_->EndFill("", 1, 1203, 0, Soon()), kSays);
  ExpectOk(target_->BeginFill(StoreId(), "third", Soon()));
  EXPECT_EQ(target_->EndFill("third", 1, 1203, 0, Soon()).code(), Code::kInternal) << "all is gone";
  ExpectOk(Fill(*target_, StoreId(), "fourth"));
  ExpectOk(target_->EndFill("fourth", 1, 1203, 0, Soon()));
  ExpectSameKeyspace(*record);
  ExpectRefused(target_->EndFill("fourth", 1, 1203, 0, Soon()), "ended");
  ExpectRefused(target_->FillLedger("fourth", links.id, rows, Soon()), "ended");
  ExpectRefused(target_->FillKeyspace("fourth", *record, Soon()), "ended");
}

TEST_P(StoreFillTest, WrongNumbersDoNotEndIt) {
  Create();
  Reserve(Ask(Create(0, 100, "codes"), 10));
  ExpectOk(store_->Seal("elsewhere", false, Soon()));
  ExpectOk(Fill(*target_, StoreId(), "fill"));
  EXPECT_EQ(keyspaces_, 2U);
  EXPECT_EQ(rows_, 1U);
  EXPECT_EQ(target_->EndFill("fill", 3, 1, 0, Soon()).code(), Code::kInternal);
  EXPECT_EQ(target_->EndFill("fill", 2, 0, 0, Soon()).code(), Code::kInternal);
  EXPECT_EQ(target_->EndFill("fill", 2, 1, 1, Soon()).code(), Code::kInternal) << "there is no key";
  ExpectRefused(target_->Identity(Soon()).status(), "being filled");
  ExpectOk(target_->EndFill("fill", 2, 1, 0, Soon()));
}

TEST_P(StoreFillTest, NothingIsFilledThatIsThereAlready) {
  ExpectRefused(store_->BeginFill("an id", "fill", Soon()), "empty place");
  ExpectRefused(store_->BeginFill(StoreId(), "fill", Soon()), "empty place");
  Move();
  ExpectRefused(target_->BeginFill(StoreId(), "again", Soon()), "empty place");
  EXPECT_TRUE(target_->Identity(Soon()).ok());
}

TEST_P(StoreFillTest, AFillFromAnotherStoreIsLeftAlone) {
  Create();
  ExpectOk(store_->Seal("elsewhere", false, Soon()));
  ExpectOk(Fill(*target_, StoreId(), "fill"));
  ExpectRefused(target_->BeginFill("another id", "other", Soon()), "from another");
  ExpectOk(target_->EndFill("fill", keyspaces_, rows_, 0, Soon()));
}

TEST_P(StoreFillTest, NobodyFillsWhatWasNotBegun) {
  constexpr std::string_view kSays = "fill the store";
  const KeyspaceRecord links = Create();
  for (Store* const store : {store_.get(), target_.get()}) {
    ExpectRefused(store->FillKeyspace("fill", links, Soon()), kSays);
    ExpectRefused(store->FillLedger("fill", links.id, {}, Soon()), kSays);
    ExpectRefused(store->EndFill("fill", 0, 0, 0, Soon()), kSays);
    ExpectRefused(store->EndFill("", 0, 0, 0, Soon()), kSays);
  }
}

TEST_P(StoreFillTest, OfTwoWhoFillAtOnceOneEndsIt) {
  for (int i = 0; i < 5; ++i) Reserve(Ask(Create(0, 100, "k" + std::to_string(i)), 10));
  ExpectOk(store_->Seal("elsewhere", false, Soon()));
  const std::string id = StoreId();
  const auto client = other_->OpenClient();
  std::vector<Status> ends(2);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back([&, i] {
      Store& target = i == 1 && client ? *client : *target_;
      const std::string fill = "fill " + std::to_string(i);
      Status& end = ends[i];
      end = target.BeginFill(id, fill, Soon());
      const auto records = store_->ListKeyspaces(Soon());
      for (const KeyspaceRecord& record : *records) {
        if (end.ok()) end = target.FillKeyspace(fill, record, Soon());
        if (end.ok()) end = target.FillLedger(fill, record.id, Ledger(record), Soon());
      }
      if (end.ok()) end = target.EndFill(fill, 5, 5, 0, Soon());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(ends[0].ok(), ends[1].ok()) << ends[0].message() << "; " << ends[1].message();
  for (const Status& end : ends) {
    if (!end.ok()) ExpectRefused(end, "fill the store");
  }
  for (const KeyspaceRecord& was : *store_->ListKeyspaces(Soon())) ExpectSameKeyspace(was);
}

}  // namespace
}  // namespace keymill
