// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/timeline_watch.h"

#include <gtest/gtest.h>

namespace keymill::mint {
namespace {

using namespace std::chrono_literals;

constexpr MonotonicTime kNow{1'000s};

StoreIdentity At(const std::string& timeline, const std::string& agreed) {
  return {.store_id = "s", .timeline = timeline, .agreed_timeline = agreed, .schema_version = 1};
}

TEST(TimelineWatch, AnAgreedTimelineIsSettledAtOnce) {
  TimelineWatch watch(3s);
  EXPECT_FALSE(watch.See(At("a", "a"), kNow));
  EXPECT_TRUE(watch.Settled(kNow));
  EXPECT_FALSE(watch.MustAgree(kNow));
  EXPECT_EQ(watch.timeline(), "a");
}

TEST(TimelineWatch, AStartOnAnotherTimelineWaits) {
  TimelineWatch watch(3s);
  EXPECT_TRUE(watch.See(At("b", "a"), kNow));
  EXPECT_FALSE(watch.Settled(kNow + 2999ms));
  EXPECT_FALSE(watch.MustAgree(kNow + 2999ms));
  EXPECT_TRUE(watch.Settled(kNow + 3s));
  EXPECT_TRUE(watch.MustAgree(kNow + 3s));
}

TEST(TimelineWatch, AChangeWaitsOnceAndThenAgrees) {
  TimelineWatch watch(3s);
  watch.See(At("a", "a"), kNow);
  EXPECT_TRUE(watch.See(At("b", "a"), kNow + 10s));
  // Looking again neither shortens nor lengthens it.
  EXPECT_FALSE(watch.See(At("b", "a"), kNow + 12s));
  EXPECT_EQ(watch.settled_at(), kNow + 13s);
  EXPECT_TRUE(watch.MustAgree(kNow + 13s));
  EXPECT_FALSE(watch.See(At("b", "b"), kNow + 13s));
  EXPECT_FALSE(watch.MustAgree(kNow + 13s));
}

// S4: who could not look has not compared.
TEST(TimelineWatch, TimeWithoutTheStoreDoesNotCount) {
  TimelineWatch watch(3s);
  watch.See(At("a", "a"), kNow);
  watch.Miss(kNow + 9s);
  EXPECT_TRUE(watch.Settled(kNow + 9s)) << "nothing has changed";
  watch.See(At("b", "a"), kNow + 10s);
  watch.Miss(kNow + 12s);
  EXPECT_FALSE(watch.See(At("b", "a"), kNow + 14s));
  EXPECT_FALSE(watch.Settled(kNow + 14s));
  EXPECT_EQ(watch.settled_at(), kNow + 15s);
  watch.Miss(kNow + 20s);  // Not agreed yet, though its time was over.
  EXPECT_FALSE(watch.MustAgree(kNow + 22s));
  watch.See(At("b", "b"), kNow + 22s);
  EXPECT_TRUE(watch.Settled(kNow + 22s)) << "others had their time";
}

TEST(TimelineWatch, ASecondChangeBeginsAnew) {
  TimelineWatch watch(3s);
  watch.See(At("b", "a"), kNow);
  EXPECT_TRUE(watch.See(At("c", "a"), kNow + 2s));
  EXPECT_EQ(watch.settled_at(), kNow + 5s);
}

TEST(TimelineWatch, WhatOthersAgreedOnNeedsNoWaiting) {
  TimelineWatch watch(3s);
  watch.See(At("a", "a"), kNow);
  EXPECT_TRUE(watch.See(At("b", "b"), kNow + 10s));
  EXPECT_TRUE(watch.Settled(kNow + 10s));
  EXPECT_TRUE(watch.See(At("c", "b"), kNow + 20s));
  EXPECT_FALSE(watch.See(At("c", "c"), kNow + 21s)) << "they agreed meanwhile";
  EXPECT_TRUE(watch.Settled(kNow + 21s));
}

}  // namespace
}  // namespace keymill::mint
