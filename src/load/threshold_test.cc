// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/threshold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::load {
namespace {

using testing::HasSubstr;

// 1000 successes of 1 to 1000 us in two seconds, ten 503s, two duplicates.
BenchResult Measured() {
  BenchResult result;
  result.seconds = 2;
  for (std::uint64_t us = 1; us <= 1000; ++us) result.stats.latency.Record(us * 1000);
  result.stats.ok = 1000;
  result.stats.keys = 4000;
  result.stats.by_status[503] = 10;
  result.checked = true;
  result.repeats = 2;
  return result;
}

bool Fails(std::string_view rule, const BenchResult& result = Measured()) {
  const auto thresholds = ParseThresholds(rule);
  EXPECT_TRUE(thresholds.ok()) << rule;
  return Judge(thresholds->front(), result).failed;
}

TEST(ThresholdTest, LatenciesAreJudgedByTime) {
  EXPECT_TRUE(Fails("p99>900us"));
  EXPECT_FALSE(Fails("p99>5ms"));
  EXPECT_TRUE(Fails("p50>0.4ms"));
  EXPECT_TRUE(Fails("p99.9 > 990us"));
  EXPECT_FALSE(Fails("max>1ms"));
  EXPECT_TRUE(Fails("max>999us"));
  EXPECT_TRUE(Fails("mean<1ms"));
}

TEST(ThresholdTest, ErrorsAreJudgedByNumberAndByShare) {
  EXPECT_TRUE(Fails("errors>9"));
  EXPECT_FALSE(Fails("errors>10"));
  EXPECT_TRUE(Fails("errors>0.9%"));
  EXPECT_FALSE(Fails("errors>1%"));
}

TEST(ThresholdTest, DuplicatesAndRatesAreNumbers) {
  EXPECT_TRUE(Fails("duplicates>0"));
  EXPECT_FALSE(Fails("duplicates>2"));
  EXPECT_TRUE(Fails("rate<501"));
  EXPECT_FALSE(Fails("rate<500"));
  EXPECT_FALSE(Fails("keys<2k"));
}

TEST(ThresholdTest, SeveralStandBetweenCommas) {
  const auto thresholds = ParseThresholds("p95>200ms,errors>1%");
  ASSERT_TRUE(thresholds.ok());
  ASSERT_EQ(thresholds->size(), 2U);
  EXPECT_EQ((*thresholds)[1].text, "errors>1%");
}

TEST(ThresholdTest, WhatWasNotMeasuredFails) {
  BenchResult result = Measured();
  result.checked = false;
  EXPECT_TRUE(Fails("duplicates>0", result));
  EXPECT_TRUE(Fails("p99>1h", BenchResult()));
  EXPECT_FALSE(Fails("errors>0%", BenchResult()));
}

TEST(ThresholdTest, WhatIsNoRuleIsNamed) {
  for (const char* wrong : {"", "p99", "p99>", ">5ms", "p99>5", "q99>5ms", "p0>5ms", "p101>5ms",
                            "errors>x", "errors>5ms", "duplicates>1%", "p99>5ms,", "p99=5ms"}) {
    const auto thresholds = ParseThresholds(wrong);
    ASSERT_FALSE(thresholds.ok()) << wrong;
    EXPECT_EQ(thresholds.code(), Code::kInvalidArgument);
  }
  EXPECT_THAT(ParseThresholds("p99>5ms,foo>1").status().message(), HasSubstr("\"foo>1\""));
}

}  // namespace
}  // namespace keymill::load
