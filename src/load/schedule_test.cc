// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/quantity.h"

namespace keymill::load {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(QuantityTest, TimesAreReadWithTheirUnit) {
  EXPECT_EQ(ParseTime("250us"), 250us);
  EXPECT_EQ(ParseTime("5ms"), 5ms);
  EXPECT_EQ(ParseTime("1.5s"), 1500ms);
  EXPECT_EQ(ParseTime("2m"), 2min);
  for (const char* wrong :
       {"", "5", "ms", "5 ms", "-5ms", ".5s", "5.s", "1.2.3s", "5x", "9999999h"})
    EXPECT_EQ(ParseTime(wrong), std::nullopt) << wrong;
}

TEST(QuantityTest, SizesAndNumbersAreReadWithTheirUnit) {
  EXPECT_EQ(ParseSize("65536"), 65536U);
  EXPECT_EQ(ParseSize("256M"), 256U << 20);
  EXPECT_EQ(ParseSize("1GiB"), 1U << 30);
  EXPECT_EQ(ParseSize("1x"), std::nullopt);
  EXPECT_EQ(ParseNumber("50k"), 50'000.0);
  EXPECT_EQ(ParseNumber("2.5"), 2.5);
  EXPECT_EQ(ParseNumber("-1"), std::nullopt);
}

TEST(QuantityTest, TimesAreWrittenWithThreeDigits) {
  EXPECT_EQ(TimeText(950), "0.95us");
  EXPECT_EQ(TimeText(85'300), "85.3us");
  EXPECT_EQ(TimeText(1'204'000), "1.20ms");
  EXPECT_EQ(TimeText(999'600), "1.00ms");
  EXPECT_EQ(TimeText(12e9), "12.0s");
  EXPECT_EQ(CountText(7), "7");
  EXPECT_EQ(CountText(1'234'567), "1,234,567");
}

TEST(StagesTest, AreReadInTurn) {
  const auto stages = ParseStages("10s:1000,500ms:0-2k");
  ASSERT_TRUE(stages.ok());
  ASSERT_EQ(stages->size(), 2U);
  EXPECT_EQ((*stages)[0].length, 10s);
  EXPECT_EQ((*stages)[0].rate_end, 1000.0);
  EXPECT_EQ((*stages)[1].rate_begin, 0.0);
  EXPECT_EQ((*stages)[1].rate_end, 2000.0);
}

TEST(StagesTest, WhatIsNoneIsNamed) {
  for (const char* wrong :
       {"", "10s", "10:5", "10s:", "10s:x", "0s:5", "10s:5,", "10s:1-", ",", "10s:5000000000"}) {
    const auto stages = ParseStages(wrong);
    ASSERT_FALSE(stages.ok()) << wrong;
    EXPECT_EQ(stages.code(), Code::kInvalidArgument);
    EXPECT_THAT(stages.status().message(), HasSubstr("DURATION:RATE"));
  }
  EXPECT_THAT(ParseStages("1s:5,zz").status().message(), HasSubstr("\"zz\""));
}

TEST(ScheduleTest, AConstantRateIsEvenlySpaced) {
  const Schedule schedule({{2s, 1000, 1000}});
  EXPECT_EQ(schedule.total(), 2000U);
  EXPECT_EQ(schedule.length(), 2s);
  EXPECT_EQ(schedule.DueOf(0), 0ns);
  EXPECT_EQ(schedule.DueOf(1), 1ms);
  EXPECT_EQ(schedule.DueOf(1999), 1999ms);
  EXPECT_EQ(schedule.DueOf(2000), std::nullopt);
}

TEST(ScheduleTest, StagesFollowEachOther) {
  const Schedule schedule({{1s, 10, 10}, {1s, 0, 0}, {1s, 100, 100}});
  EXPECT_EQ(schedule.total(), 110U);
  EXPECT_EQ(schedule.DueOf(9), 900ms);
  EXPECT_EQ(schedule.DueOf(10), 2s);
  EXPECT_EQ(schedule.DueOf(11), 2010ms);
  EXPECT_EQ(schedule.RateAt(500ms), 10.0);
  EXPECT_EQ(schedule.RateAt(1500ms), 0.0);
  EXPECT_EQ(schedule.RateAt(2500ms), 100.0);
  EXPECT_EQ(schedule.RateAt(3s), 0.0);
}

// From 0 to 200/s over two seconds is t^2 * 50 requests after t seconds.
TEST(ScheduleTest, ARampGrowsEvenly) {
  const Schedule schedule({{2s, 0, 200}});
  EXPECT_EQ(schedule.total(), 200U);
  EXPECT_EQ(schedule.DueOf(50), 1s);
  EXPECT_EQ(schedule.RateAt(1s), 100.0);
  const Schedule down({{2s, 200, 0}});
  EXPECT_EQ(down.DueOf(150), 1s);
}

TEST(ScheduleTest, DueTimesNeverGoBackOverStages) {
  const Schedule schedule({{300ms, 0, 777}, {100ms, 777, 333}, {700ms, 333, 333}, {1s, 10, 0}});
  Nanoseconds before{-1};
  for (std::uint64_t i = 0; i < schedule.total(); ++i) {
    const Nanoseconds due = *schedule.DueOf(i);
    ASSERT_GT(due, before) << i;
    ASSERT_LE(due, schedule.length());
    before = due;
  }
}

}  // namespace
}  // namespace keymill::load
