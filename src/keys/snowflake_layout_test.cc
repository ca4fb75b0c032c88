// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/snowflake_layout.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill::keys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr SnowflakeLayout kDefault;

SnowflakeLayout Preset(std::string_view name) { return *ParseSnowflakePreset(name); }

void ExpectRefused(const SnowflakeLayout& layout, std::string_view message) {
  const Status status = CheckSnowflakeLayout(layout);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << message;
  EXPECT_THAT(status.message(), HasSubstr(message));
}

// Any layout that passes the check.
SnowflakeLayout AnyLayout() {
  SnowflakeLayout layout;
  layout.worker_bits = *rc::gen::inRange(1U, 32U);
  layout.sequence_bits = *rc::gen::inRange(1U, std::min(32U, 63U - layout.worker_bits));
  const std::uint32_t left = 63 - layout.worker_bits - layout.sequence_bits;
  layout.time_bits = *rc::gen::inRange(1U, std::min(48U, left) + 1);
  layout.epoch_ms = *rc::gen::inRange<std::int64_t>(0, 4'102'444'800'000);
  layout.unit_ms = *rc::gen::inRange(1U, 1001U);
  RC_ASSERT(CheckSnowflakeLayout(layout).ok());
  return layout;
}

SnowflakeParts AnyParts(const SnowflakeLayout& layout) {
  return {.ticks = *rc::gen::inRange<std::uint64_t>(0, SnowflakeTicksEnd(layout)),
          .worker = *rc::gen::inRange<std::uint32_t>(0, SnowflakeWorkersEnd(layout)),
          .sequence = *rc::gen::inRange<std::uint32_t>(0, SnowflakeSequencesEnd(layout))};
}

TEST(SnowflakeLayoutTest, AcceptsEveryPreset) {
  EXPECT_THAT(SnowflakePresetNames(), ElementsAre("default", "twitter", "41-11-11", "javascript"));
  for (const std::string_view name : SnowflakePresetNames()) {
    EXPECT_TRUE(CheckSnowflakeLayout(Preset(name)).ok()) << name;
  }
}

// Ids that were made with them are out in the world.
TEST(SnowflakeLayoutTest, PresetsAreWhatTheyAlwaysWere) {
  EXPECT_EQ(Preset("default"), kDefault);
  EXPECT_EQ(SnowflakeLayoutText(Preset("default")),
            "41/10/12, epoch 2025-01-01T00:00:00.000Z, unit 1 ms");
  EXPECT_EQ(SnowflakeLayoutText(Preset("twitter")),
            "41/10/12, epoch 2010-11-04T01:42:54.657Z, unit 1 ms");
  EXPECT_EQ(SnowflakeLayoutText(Preset("41-11-11")),
            "41/11/11, epoch 2025-01-01T00:00:00.000Z, unit 1 ms");
  EXPECT_EQ(SnowflakeLayoutText(Preset("javascript")),
            "41/6/6, epoch 2025-01-01T00:00:00.000Z, unit 1 ms");
}

TEST(SnowflakeLayoutTest, JavascriptIdsStayBelowTwoToThe53) {
  EXPECT_EQ(SnowflakeMaxId(Preset("javascript")), 9'007'199'254'740'991U);
  EXPECT_EQ(SnowflakeMaxId(kDefault), static_cast<std::uint64_t>(INT64_MAX));
}

TEST(SnowflakeLayoutTest, NamesThePresetsWhenThereIsNoSuch) {
  const Status status = ParseSnowflakePreset("twiter").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("did you mean \"twitter\"?"));
  EXPECT_THAT(status.message(), HasSubstr("default, twitter, 41-11-11, javascript"));
}

TEST(SnowflakeLayoutTest, SaysWhy41And11And12DoNotFit) {
  ExpectRefused({.worker_bits = 11, .sequence_bits = 12},
                "41 + 11 + 12 bits are 64, and an id has 63: one more is the sign");
  EXPECT_TRUE(CheckSnowflakeLayout({.worker_bits = 11, .sequence_bits = 11}).ok());
}

TEST(SnowflakeLayoutTest, RefusesFieldsOutOfRange) {
  ExpectRefused({.time_bits = 0}, "time_bits is 0, the range is 1 to 48");
  ExpectRefused({.time_bits = 49, .worker_bits = 1, .sequence_bits = 1}, "time_bits is 49");
  ExpectRefused({.worker_bits = 0}, "worker_bits is 0, the range is 1 to 31");
  ExpectRefused({.time_bits = 8, .worker_bits = 32}, "worker_bits is 32");
  ExpectRefused({.sequence_bits = 0}, "sequence_bits is 0, the range is 1 to 31");
  ExpectRefused({.time_bits = 8, .sequence_bits = 32}, "sequence_bits is 32");
  ExpectRefused({.unit_ms = 0}, "unit_ms is 0, the range is 1 to 1000");
  ExpectRefused({.unit_ms = 1001}, "unit_ms is 1001");
  ExpectRefused({.epoch_ms = -1}, "epoch_ms is -1, the range is 0 (1970) to");
  ExpectRefused({.epoch_ms = 4'102'444'800'000}, "epoch_ms is 4102444800000");
  ExpectRefused({.time_bits = 0xFFFFFFFF, .worker_bits = 1, .sequence_bits = 1}, "time_bits");
}

// The example in the source of Leaf's decoder.
TEST(SnowflakeLayoutTest, AgreesWithLeafsExample) {
  const SnowflakeLayout twitter = Preset("twitter");
  const SnowflakeParts parts = {
      .ticks = *SnowflakeTicks(twitter, 1'567'733'700'834), .worker = 39, .sequence = 3448};
  EXPECT_EQ(ComposeSnowflake(twitter, parts), 1'169'786'042'799'259'000U);
  EXPECT_EQ(*DecomposeSnowflake(twitter, 1'169'786'042'799'259'000U), parts);
  EXPECT_EQ(SnowflakeTimeMs(twitter, parts.ticks), 1'567'733'700'834);
}

// The masks of Twitter's IdWorkerSpec, which takes the worker as 5 bits of datacenter and 5 of
// worker.
TEST(SnowflakeLayoutTest, AgreesWithTwittersMasks) {
  const SnowflakeLayout twitter = Preset("twitter");
  EXPECT_EQ(ComposeSnowflake(twitter, {.worker = 0x1F}), 0x1F000U);
  EXPECT_EQ(ComposeSnowflake(twitter, {.worker = 0x1F << 5}), 0x3E0000U);
  EXPECT_EQ(ComposeSnowflake(twitter, {.ticks = SnowflakeTicksEnd(twitter) - 1}),
            0xFFFFFFFFFFC00000U & INT64_MAX);
  EXPECT_EQ(ComposeSnowflake(twitter, {.sequence = 4095}), 0xFFFU);
}

TEST(SnowflakeLayoutTest, DecomposesWhatItComposes) {
  EXPECT_TRUE(rc::check([] {
    const SnowflakeLayout layout = AnyLayout();
    const SnowflakeParts parts = AnyParts(layout);
    const std::uint64_t id = ComposeSnowflake(layout, parts);
    RC_ASSERT(id <= SnowflakeMaxId(layout));
    RC_ASSERT(*DecomposeSnowflake(layout, id) == parts);
  }));
}

TEST(SnowflakeLayoutTest, LaterTimesGiveLargerIds) {
  EXPECT_TRUE(rc::check([] {
    const SnowflakeLayout layout = AnyLayout();
    const SnowflakeParts one = AnyParts(layout);
    const SnowflakeParts two = AnyParts(layout);
    if (one.ticks < two.ticks) {
      RC_ASSERT(ComposeSnowflake(layout, one) < ComposeSnowflake(layout, two));
    }
  }));
}

TEST(SnowflakeLayoutTest, RefusesIdsAboveTheLargest) {
  const SnowflakeLayout javascript = Preset("javascript");
  EXPECT_TRUE(DecomposeSnowflake(javascript, 9'007'199'254'740'991).ok());
  const Status status = DecomposeSnowflake(javascript, 9'007'199'254'740'992).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("above 9007199254740991, the largest id of 41/6/6"));
  EXPECT_FALSE(DecomposeSnowflake(kDefault, std::uint64_t{1} << 63).ok());
}

// A part that does not fit must end the process: masked, it would be another worker's id.
TEST(SnowflakeLayoutDeathTest, NeverMasksAPart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ComposeSnowflake(kDefault, {.worker = 1024}), "parts.worker");
  EXPECT_DEATH(ComposeSnowflake(kDefault, {.sequence = 4096}), "parts.sequence");
  EXPECT_DEATH(ComposeSnowflake(kDefault, {.ticks = SnowflakeTicksEnd(kDefault)}), "parts.ticks");
}

TEST(SnowflakeLayoutTest, TimeEndsOnceAndForAll) {
  const std::int64_t end_ms = SnowflakeEndMs(kDefault);
  EXPECT_EQ(end_ms, kSnowflakeEpochMs + (std::int64_t{1} << 41));
  EXPECT_EQ(*SnowflakeTicks(kDefault, end_ms - 1), SnowflakeTicksEnd(kDefault) - 1);
  for (const std::int64_t ms : {end_ms, end_ms + 1, std::numeric_limits<std::int64_t>::max()}) {
    const Status status = SnowflakeTicks(kDefault, ms).status();
    EXPECT_EQ(status.code(), Code::kExhausted);
    EXPECT_THAT(status.message(), HasSubstr("ended at 2094-09-07T15:47:35.552Z"));
  }
}

TEST(SnowflakeLayoutTest, RefusesClocksBeforeTheEpoch) {
  EXPECT_EQ(*SnowflakeTicks(kDefault, kSnowflakeEpochMs), 0U);
  for (const std::int64_t ms :
       {kSnowflakeEpochMs - 1, std::int64_t{0}, std::numeric_limits<std::int64_t>::min()}) {
    const Status status = SnowflakeTicks(kDefault, ms).status();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("before the epoch 2025-01-01T00:00:00.000Z; set"));
  }
}

TEST(SnowflakeLayoutTest, CountsTicksInUnits) {
  const SnowflakeLayout coarse = {.epoch_ms = 1000, .unit_ms = 10};
  EXPECT_EQ(*SnowflakeTicks(coarse, 1009), 0U);
  EXPECT_EQ(*SnowflakeTicks(coarse, 1010), 1U);
  EXPECT_EQ(SnowflakeTimeMs(coarse, 1), 1010);
  EXPECT_EQ(SnowflakeEndMs(coarse), 1000 + (std::int64_t{10} << 41));
}

TEST(SnowflakeLayoutTest, TellsYearsLeft) {
  EXPECT_NEAR(SnowflakeYearsLeft(kDefault, kSnowflakeEpochMs), 69.68, 0.01);
  EXPECT_EQ(SnowflakeYearsLeft(kDefault, SnowflakeEndMs(kDefault)), 0);
  EXPECT_EQ(SnowflakeYearsLeft(kDefault, std::numeric_limits<std::int64_t>::max()), 0);
  EXPECT_GT(SnowflakeYearsLeft(kDefault, std::numeric_limits<std::int64_t>::min()), 69);
}

TEST(SnowflakeLayoutTest, EndsOfTheWidestLayoutDoNotOverflow) {
  const SnowflakeLayout widest = {.time_bits = 48,
                                  .worker_bits = 1,
                                  .sequence_bits = 1,
                                  .epoch_ms = 4'102'444'799'999,
                                  .unit_ms = 1000};
  ASSERT_TRUE(CheckSnowflakeLayout(widest).ok());
  EXPECT_EQ(SnowflakeEndMs(widest), 281'474'976'710'656'000 + 4'102'444'799'999);
  EXPECT_EQ(*SnowflakeTicks(widest, SnowflakeEndMs(widest) - 1), SnowflakeTicksEnd(widest) - 1);
}

TEST(SnowflakeLayoutTest, BoundsHoldAllIdsOfAMillisecond) {
  const auto bounds = *SnowflakeBoundsOf(kDefault, kSnowflakeEpochMs + 1, kSnowflakeEpochMs + 2);
  EXPECT_EQ(bounds.first, ComposeSnowflake(kDefault, {.ticks = 1}));
  EXPECT_EQ(bounds.last,
            ComposeSnowflake(kDefault, {.ticks = 1, .worker = 1023, .sequence = 4095}));
}

TEST(SnowflakeLayoutTest, BoundsAreCutAtTheEndsOfTime) {
  const SnowflakeBounds all = {.first = 0, .last = SnowflakeMaxId(kDefault)};
  EXPECT_EQ(*SnowflakeBoundsOf(kDefault, kSnowflakeEpochMs, SnowflakeEndMs(kDefault)), all);
  EXPECT_EQ(*SnowflakeBoundsOf(kDefault, std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max()),
            all);
}

TEST(SnowflakeLayoutTest, BoundsSayWhyThereAreNone) {
  const auto refusal = [](std::int64_t from_ms, std::int64_t to_ms,
                          const SnowflakeLayout& layout = kDefault) {
    const Status status = SnowflakeBoundsOf(layout, from_ms, to_ms).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(refusal(5, 5), HasSubstr("is empty; `to` must be later than `from`"));
  EXPECT_THAT(refusal(6, 5), HasSubstr("is empty"));
  EXPECT_THAT(refusal(0, kSnowflakeEpochMs), HasSubstr("ends before the first id"));
  EXPECT_THAT(refusal(SnowflakeEndMs(kDefault), SnowflakeEndMs(kDefault) + 1),
              HasSubstr("begins after the last id"));
  EXPECT_THAT(refusal(1001, 1010, {.epoch_ms = 1000, .unit_ms = 10}), HasSubstr("10 ms apart"));
}

// An id is inside exactly when its time is, in every layout and for every range.
TEST(SnowflakeLayoutTest, BoundsHoldAnIdExactlyWhenItsTimeIsInTheRange) {
  EXPECT_TRUE(rc::check([] {
    const SnowflakeLayout layout = AnyLayout();
    const SnowflakeParts parts = AnyParts(layout);
    const std::uint64_t id = ComposeSnowflake(layout, parts);
    const std::int64_t time_ms = SnowflakeTimeMs(layout, parts.ticks);
    const std::int64_t from_ms = time_ms + *rc::gen::inRange<std::int64_t>(-3000, 3000);
    const std::int64_t to_ms = time_ms + *rc::gen::inRange<std::int64_t>(-3000, 3000);
    const auto bounds = SnowflakeBoundsOf(layout, from_ms, to_ms);
    const bool inside = bounds.ok() && bounds->first <= id && id <= bounds->last;
    RC_ASSERT(inside == (from_ms <= time_ms && time_ms < to_ms));
  }));
}

}  // namespace
}  // namespace keymill::keys
