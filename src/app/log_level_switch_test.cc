// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/log_level_switch.h"

#include <gtest/gtest.h>

namespace keymill::app {
namespace {

class LogLevelSwitchTest : public ::testing::Test {
 protected:
  ~LogLevelSwitchTest() override { SetLogLevel(LogLevel::kInfo); }
  LogLevelSwitch level_;
};

TEST_F(LogLevelSwitchTest, FlipsBetweenTheConfiguredLevelAndMore) {
  level_.Configure(LogLevel::kWarn);
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
  EXPECT_EQ(level_.Flip(), LogLevel::kDebug);
  EXPECT_TRUE(LogEnabled(LogLevel::kDebug));
  EXPECT_FALSE(LogEnabled(LogLevel::kTrace));
  EXPECT_EQ(level_.Flip(), LogLevel::kWarn);
  EXPECT_FALSE(LogEnabled(LogLevel::kInfo));
}

TEST_F(LogLevelSwitchTest, MoreThanDebugIsTrace) {
  level_.Configure(LogLevel::kDebug);
  EXPECT_EQ(level_.Flip(), LogLevel::kTrace);
  EXPECT_TRUE(LogEnabled(LogLevel::kTrace));
}

TEST_F(LogLevelSwitchTest, AConfiguredLevelEndsWhatWasFlipped) {
  level_.Configure(LogLevel::kInfo);
  level_.Flip();
  level_.Configure(LogLevel::kError);
  EXPECT_FALSE(LogEnabled(LogLevel::kWarn));
  EXPECT_EQ(level_.Flip(), LogLevel::kDebug);
}

}  // namespace
}  // namespace keymill::app
