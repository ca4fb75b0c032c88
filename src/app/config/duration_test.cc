// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/duration.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill::app {
namespace {

using namespace std::chrono_literals;

TEST(DurationTest, ReadsEachUnit) {
  EXPECT_EQ(ParseDuration("250ms"), 250ms);
  EXPECT_EQ(ParseDuration("2s"), 2s);
  EXPECT_EQ(ParseDuration("1.5s"), 1500ms);
  EXPECT_EQ(ParseDuration("0.001s"), 1ms);
  EXPECT_EQ(ParseDuration("1m"), 1min);
  EXPECT_EQ(ParseDuration("0.5h"), 30min);
  EXPECT_EQ(ParseDuration("0"), 0ms);
  EXPECT_EQ(ParseDuration("0s"), 0ms);
}

TEST(DurationTest, RefusesEverythingElse) {
  for (const char* text : {"",        "s",     "1",       "00",    "-1s",
                           "+1s",     " 1s",   "1s ",     "1 s",   "1S",
                           "1d",      "1us",   ".5s",     "1.s",   "1.2.3s",
                           "1e3s",    "1.5ms", "0.0001s", "1h30m", "9999999999999h",
                           "1_000ms", "0x1s"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(DurationTest, PrintsTheShortestExactText) {
  EXPECT_EQ(DurationText(0ms), "0s");
  EXPECT_EQ(DurationText(250ms), "250ms");
  EXPECT_EQ(DurationText(1500ms), "1500ms");
  EXPECT_EQ(DurationText(2s), "2s");
  EXPECT_EQ(DurationText(90s), "90s");
  EXPECT_EQ(DurationText(60s), "1m");
  EXPECT_EQ(DurationText(1h), "1h");
}

TEST(DurationTest, ParsesWhatItPrints) {
  EXPECT_TRUE(rc::check([] {
    const std::chrono::milliseconds duration(*rc::gen::inRange<std::int64_t>(0, 100'000'000));
    RC_ASSERT(ParseDuration(DurationText(duration)) == duration);
  }));
}

}  // namespace
}  // namespace keymill::app
