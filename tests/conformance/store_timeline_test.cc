// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Which server is behind a store, and who has agreed that it is the right one. That the timeline
// changes when a server is started anew is shown by the tests of each server.

#include <string>

#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

class StoreTimelineTest : public StoreTest {
 protected:
  StoreIdentity Identity() {
    auto identity = store_->Identity(Soon());
    EXPECT_TRUE(identity.ok()) << identity.status().message();
    return identity.ok() ? *std::move(identity) : StoreIdentity{};
  }
};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreTimelineTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreTimelineTest, AFreshStoreAgreesWithItsOwnTimeline) {
  const StoreIdentity identity = Identity();
  EXPECT_FALSE(identity.timeline.empty());
  EXPECT_EQ(identity.agreed_timeline, identity.timeline);
  const Established again = Establish({});
  EXPECT_EQ(again.identity.timeline, identity.timeline);
  EXPECT_EQ(again.identity.agreed_timeline, identity.timeline);
}

TEST_P(StoreTimelineTest, TellsTheTimeOfItsServerIfItHasOne) {
  const std::int64_t before_ms = SystemClock().WallMs();
  for (const std::int64_t told_ms :
       {store_->Identity(Soon())->now_ms, Establish({}).identity.now_ms}) {
    if (GetParam().name == "Server") {
      EXPECT_GT(told_ms, before_ms - 2'000) << "etcd tells whole seconds";
      EXPECT_LT(told_ms, SystemClock().WallMs() + 2'000);
    } else {
      EXPECT_EQ(told_ms, 0);
    }
  }
}

TEST_P(StoreTimelineTest, IsTheSameForEveryClient) {
  const auto other = fixture_->OpenClient();
  if (!other) return;  // Nobody else can see this store.
  const auto identity = other->Identity(Soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->timeline, Identity().timeline);
  EXPECT_EQ(identity->agreed_timeline, Identity().agreed_timeline);
}

TEST_P(StoreTimelineTest, OnlyThePresentTimelineIsAgreedOn) {
  const StoreIdentity before = Identity();
  ASSERT_TRUE(store_->AgreeOnTimeline("another", Soon()).ok());
  EXPECT_EQ(Identity().agreed_timeline, before.agreed_timeline);
  ASSERT_TRUE(store_->AgreeOnTimeline("", Soon()).ok());
  EXPECT_EQ(Identity().agreed_timeline, before.agreed_timeline);
  ASSERT_TRUE(store_->AgreeOnTimeline(before.timeline, Soon()).ok());
  EXPECT_EQ(Identity().agreed_timeline, before.timeline);
  EXPECT_EQ(Identity().timeline, before.timeline);
}

TEST_P(StoreTimelineTest, NothingIsReservedInAnotherTimeline) {
  const KeyspaceRecord keyspace = Create();
  const Block first = Reserve(Ask(keyspace, 10));
  ReserveRequest request = Ask(keyspace, 10);
  request.timeline = "another";
  request.spent = {first.id};
  EXPECT_EQ(store_->Reserve(request, Soon()).code(), Code::kUnavailable);
  // Nor is anything decided there: whoever asks has to compare its witness first.
  request.witness = {first.seen.rev + 7, first.seen.next};
  EXPECT_EQ(store_->Reserve(request, Soon()).code(), Code::kUnavailable);
  const auto record = store_->FindKeyspace("links", Soon());
  ASSERT_TRUE(record.ok());
  EXPECT_EQ(record->state, KeyspaceState::kOpen);
  EXPECT_EQ(record->rev, first.seen.rev);
  EXPECT_EQ(record->next, first.seen.next);
  EXPECT_EQ(Ledger(keyspace).at(0).state, BlockState::kHeld);

  request = Ask(keyspace, 10);
  request.timeline = Identity().timeline;
  request.witness = first.seen;
  EXPECT_EQ(Reserve(request).first, 10U);
  request = Ask(keyspace, 10);
  EXPECT_EQ(Reserve(request).first, 20U) << "without a timeline any will do";
}

TEST_P(StoreTimelineTest, NothingIsGivenBackInAnotherTimeline) {
  const KeyspaceRecord keyspace = Create();
  const Block block = Reserve(Ask(keyspace, 10));
  GiveBackRequest request{keyspace.id, block.id, 5, block.seen, "another"};
  EXPECT_EQ(store_->GiveBack(request, Soon()).code(), Code::kUnavailable);
  request.witness.next += 1;
  EXPECT_EQ(store_->GiveBack(request, Soon()).code(), Code::kUnavailable);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->rev, block.seen.rev);
  EXPECT_EQ(Ledger(keyspace).at(0).state, BlockState::kHeld);

  request.witness = block.seen;
  request.timeline = Identity().timeline;
  const auto settled = store_->GiveBack(request, Soon());
  ASSERT_TRUE(settled.ok()) << settled.status().message();
  EXPECT_EQ(settled->rev, block.seen.rev + 1);
}

}  // namespace
}  // namespace keymill
