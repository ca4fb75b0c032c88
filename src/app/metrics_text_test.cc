// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/metrics_text.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(MetricsTextTest, WritesCountersAndGauges) {
  MetricFamilies families;
  families.Counter("keymill_things_total", "Things.").Add(3, {{"kind", "a\"b\\c\nd"}});
  families.Gauge("keymill_runway_seconds", "How long.")
      .Add(std::numeric_limits<double>::infinity());
  EXPECT_EQ(MetricsText(families),
            "# HELP keymill_things_total Things.\n"
            "# TYPE keymill_things_total counter\n"
            "keymill_things_total{kind=\"a\\\"b\\\\c\\nd\"} 3\n"
            "# HELP keymill_runway_seconds How long.\n"
            "# TYPE keymill_runway_seconds gauge\n"
            "keymill_runway_seconds +Inf\n");
}

TEST(MetricsTextTest, CountsUpToTwoToThe53AreExact) {
  MetricFamilies families;
  families.Counter("a_total", "A.").Add(9007199254740991.0);
  EXPECT_THAT(MetricsText(families), HasSubstr("a_total 9007199254740991\n"));
}

TEST(MetricsTextTest, BucketsOfTimesAreCumulativeAndInSeconds) {
  MetricFamilies families;
  TimeCounts times;
  times.Record(5'000);
  times.Record(20'000);
  times.Record(20'000);
  times.Record(9'000'000'000);
  families.Times("t_seconds", "T.").Add(times, {{"k", "v"}});
  const std::string text = MetricsText(families);
  EXPECT_THAT(text, StartsWith("# HELP t_seconds T.\n# TYPE t_seconds histogram\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_count{k=\"v\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_sum{k=\"v\"} 9.0000"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{k=\"v\",le=\"2.5\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("t_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\n"));
}

}  // namespace
}  // namespace keymill::app
