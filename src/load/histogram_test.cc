// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/histogram.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill::load {
namespace {

TEST(HistogramTest, AnEmptyOneSaysZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Percentile(0.99), 0U);
  EXPECT_EQ(histogram.Mean(), 0.0);
  EXPECT_EQ(histogram.max(), 0U);
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 200; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(0.5), 100U);
  EXPECT_EQ(histogram.Percentile(0.99), 198U);
  EXPECT_EQ(histogram.Percentile(1.0), 200U);
  EXPECT_DOUBLE_EQ(histogram.Mean(), 100.5);
}

// Every bucket's edges: just below, at and above each power of two.
TEST(HistogramTest, OneValueOfAnySizeIsFoundWithinOnePercent) {
  for (int bit = 0; bit < 40; ++bit) {
    for (const std::int64_t step : {-1, 0, 1, 7}) {
      const auto value = static_cast<std::uint64_t>((std::int64_t{1} << bit) + step);
      if (value > Histogram::kValueMax) continue;
      Histogram histogram;
      histogram.Record(value);
      histogram.Record(Histogram::kValueMax);
      const auto found = static_cast<double>(histogram.Percentile(0.5));
      EXPECT_LE(std::abs(found - static_cast<double>(value)), 0.01 * static_cast<double>(value));
    }
  }
}

TEST(HistogramTest, PercentilesAreWithinOnePercentOfTheSortedValues) {
  rc::check([] {
    const auto raw = *rc::gen::nonEmpty<std::vector<std::uint32_t>>();
    const double share = *rc::gen::inRange(1, 1000) / 1000.0;
    auto histogram = std::make_unique<Histogram>();
    for (const std::uint32_t value : raw) histogram->Record(value);
    std::vector<std::uint32_t> sorted = raw;
    std::sort(sorted.begin(), sorted.end());
    const auto rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    const double truth = sorted[std::max<std::size_t>(rank, 1) - 1];
    RC_ASSERT(std::abs(static_cast<double>(histogram->Percentile(share)) - truth) <= 0.01 * truth);
    RC_ASSERT(histogram->max() == sorted.back());
  });
}

TEST(HistogramTest, TwoAddedAreAsOne) {
  Histogram one;
  Histogram other;
  Histogram both;
  for (std::uint64_t value = 1; value < 100'000; value += 37) {
    (value % 2 == 0 ? one : other).Record(value);
    both.Record(value);
  }
  one.Add(other);
  for (const double share : {0.1, 0.5, 0.9, 0.999, 1.0}) {
    EXPECT_EQ(one.Percentile(share), both.Percentile(share));
  }
  EXPECT_EQ(one.count(), both.count());
  EXPECT_DOUBLE_EQ(one.Mean(), both.Mean());
}

TEST(HistogramTest, WhatIsTooLargeCountsAsTheLargest) {
  Histogram histogram;
  histogram.Record(~std::uint64_t{0});
  EXPECT_EQ(histogram.max(), Histogram::kValueMax);
  EXPECT_EQ(histogram.Percentile(0.5), Histogram::kValueMax);
}

}  // namespace
}  // namespace keymill::load
