// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/log.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { SetUpLog(LogLevel::kInfo, LogFormat::kText); }

  template <typename Body>
  static std::string Captured(Body body) {
    testing::internal::CaptureStderr();
    body();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, ParsesEveryLevelAndNothingElse) {
  EXPECT_EQ(*ParseLogLevel("trace"), LogLevel::kTrace);
  EXPECT_EQ(*ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(*ParseLogLevel("info"), LogLevel::kInfo);
  EXPECT_EQ(*ParseLogLevel("warn"), LogLevel::kWarn);
  EXPECT_EQ(*ParseLogLevel("error"), LogLevel::kError);
  EXPECT_EQ(ParseLogLevel("INFO").code(), Code::kInvalidArgument);
  EXPECT_THAT(ParseLogLevel("loud").status().message(), HasSubstr("use trace, debug, info"));
}

TEST_F(LogTest, WritesOnlyFromItsLevelOn) {
  SetUpLog(LogLevel::kWarn, LogFormat::kText);
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_TRUE(LogEnabled(LogLevel::kWarn));
  const std::string text = Captured([] {
    Log(LogLevel::kInfo, "mint", "quiet");
    Log(LogLevel::kError, "mint", "block of {} numbers", 7);
  });
  EXPECT_THAT(text, HasSubstr("mint: block of 7 numbers\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("quiet")));
}

TEST_F(LogTest, JsonIsOneObjectPerLineWhateverIsInTheMessage) {
  SetUpLog(LogLevel::kInfo, LogFormat::kJson);
  const std::string text =
      Captured([] { Log(LogLevel::kWarn, "store", "{}", "a \"quoted\" {line}\nwith two"); });
  EXPECT_THAT(text, MatchesRegex("\\{\"ts\":[0-9]+\\.[0-9]+,\"level\":\"warn\",\"component\":"
                                 "\"store\",\"msg\":\"a .*\"\\}\n"));
  EXPECT_THAT(text, HasSubstr(R"(a \"quoted\" {line}\nwith two)"));
}

TEST_F(LogTest, AutoIsJsonWhereNobodyWatches) {
  const std::string text = Captured([] {
    SetUpLog(LogLevel::kInfo, LogFormat::kAuto);  // Captured: not a terminal.
    Log(LogLevel::kInfo, "mint", "hello");
  });
  EXPECT_THAT(text, HasSubstr("\"msg\":\"hello\""));
}

TEST_F(LogTest, ATextMessageMayContainBraces) {
  SetUpLog(LogLevel::kInfo, LogFormat::kText);
  EXPECT_THAT(Captured([] { WriteLog(LogLevel::kInfo, "mint", "{} {0} {"); }),
              HasSubstr("{} {0} {"));
}

TEST_F(LogTest, ItsLevelCanBeChangedWhileItIsInUse) {
  SetUpLog(LogLevel::kWarn, LogFormat::kJson);
  const std::string text = Captured([] {
    Log(LogLevel::kDebug, "mint", "before");
    SetLogLevel(LogLevel::kDebug);
    Log(LogLevel::kDebug, "mint", "between");
    SetLogLevel(LogLevel::kError);
    Log(LogLevel::kWarn, "mint", "after");
  });
  EXPECT_THAT(text, HasSubstr("\"msg\":\"between\""));
  EXPECT_THAT(text, testing::Not(HasSubstr("before")));
  EXPECT_THAT(text, testing::Not(HasSubstr("after")));
}

TEST_F(LogTest, CanBeTurnedOff) {
  DisableLog();
  EXPECT_FALSE(LogEnabled(LogLevel::kError));
  EXPECT_EQ(Captured([] { Log(LogLevel::kError, "mint", "nobody hears"); }), "");
}

}  // namespace
}  // namespace keymill
