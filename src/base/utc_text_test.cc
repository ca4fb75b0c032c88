// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/utc_text.h"

#include <ctime>

#include <fmt/chrono.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace keymill {
namespace {

TEST(UtcTextTest, WritesKnownMoments) {
  EXPECT_EQ(UtcText(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(UtcText(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(UtcText(1'462'015'105'796), "2016-04-30T11:18:25.796Z");
  EXPECT_EQ(UtcText(951'782'400'000), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(UtcText(4'107'542'400'000), "2100-03-01T00:00:00.000Z");
  EXPECT_EQ(UtcText(253'402'300'799'999), "9999-12-31T23:59:59.999Z");
}

TEST(UtcTextTest, GivesFarYearsASign) {
  EXPECT_EQ(UtcText(281'474'976'710'655), "+10889-08-02T05:31:50.655Z");  // 2^48 - 1
  EXPECT_EQ(UtcText(-62'167'219'200'001), "-0001-12-31T23:59:59.999Z");
}

TEST(UtcTextTest, AgreesWithTheCalendarOfTheSystem) {
  EXPECT_TRUE(rc::check([] {
    const auto ms = *rc::gen::inRange<std::int64_t>(0, 253'402'300'800'000);
    const std::string expected = fmt::format(
        "{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
    RC_ASSERT(UtcText(ms) == expected);
  }));
}

TEST(ParseUtcTextTest, ReadsWhatPeopleWrite) {
  EXPECT_EQ(*ParseUtcText("2025-01-01"), 1'735'689'600'000);
  EXPECT_EQ(*ParseUtcText("2025-01-01T00:00Z"), 1'735'689'600'000);
  EXPECT_EQ(*ParseUtcText("2016-04-30T11:18:25Z"), 1'462'015'105'000);
  EXPECT_EQ(*ParseUtcText("2016-04-30T11:18:25.7Z"), 1'462'015'105'700);
  EXPECT_EQ(*ParseUtcText("2000-02-29"), 951'782'400'000);
  EXPECT_EQ(*ParseUtcText("1462015105796"), 1'462'015'105'796);
}

TEST(ParseUtcTextTest, ReadsBackEveryMoment) {
  EXPECT_TRUE(rc::check([] {
    const auto ms = *rc::gen::inRange<std::int64_t>(0, 253'402'300'800'000);
    RC_ASSERT(*ParseUtcText(UtcText(ms)) == ms);
  }));
}

TEST(ParseUtcTextTest, RefusesTheRest) {
  for (const char* const text :
       {"", "now", "2025-1-1", "2025-13-01", "2025-02-29", "2025-04-31", "2025-00-10",
        "2025-01-01T24:00Z", "2025-01-01T00:60Z", "2025-01-01T00:00", "2025-01-01T00:00:00.Z",
        "2025-01-01T00:00:00.1234Z", "2025-01-01 00:00Z", "2025-01-01T00:00:00+01:00", "-1",
        "1969-12-31", "99999999999999999999", "253402300800000"}) {
    EXPECT_EQ(ParseUtcText(text).code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace keymill
