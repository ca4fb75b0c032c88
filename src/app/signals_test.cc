// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/signals.h"

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace keymill::app {
namespace {

using Action = StopPolicy::Action;
using namespace std::chrono_literals;

TEST(StopPolicyTest, TheFirstSignalAsksForACleanStop) {
  EXPECT_EQ(StopPolicy().Next(FakeClock().Monotonic()), Action::kStop);
}

TEST(StopPolicyTest, ARepeatOfTheSameRequestIsIgnored) {
  FakeClock clock;
  StopPolicy policy;
  ASSERT_EQ(policy.Next(clock.Monotonic()), Action::kStop);
  EXPECT_EQ(policy.Next(clock.Monotonic()), Action::kIgnore);
  clock.Advance(199ms);
  EXPECT_EQ(policy.Next(clock.Monotonic()), Action::kIgnore);
}

TEST(StopPolicyTest, ALaterSignalMeansNowHoweverManyWereIgnored) {
  FakeClock clock;
  StopPolicy policy;
  ASSERT_EQ(policy.Next(clock.Monotonic()), Action::kStop);
  clock.Advance(150ms);
  ASSERT_EQ(policy.Next(clock.Monotonic()), Action::kIgnore);
  clock.Advance(50ms);
  EXPECT_EQ(policy.Next(clock.Monotonic()), Action::kEndNow);
}

}  // namespace
}  // namespace keymill::app
