// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/failure_log.h"

#include <string>

#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace keymill::api {
namespace {

using namespace std::chrono_literals;

TEST(FailureLogTest, AMessageIsWrittenOnceASecond) {
  FakeClock clock;
  FailureLog log;
  EXPECT_TRUE(log.Admits("away", clock.Monotonic()));
  EXPECT_FALSE(log.Admits("away", clock.Monotonic()));
  EXPECT_TRUE(log.Admits("full", clock.Monotonic()));
  clock.Advance(999ms);
  EXPECT_FALSE(log.Admits("away", clock.Monotonic()));
  clock.Advance(1ms);
  EXPECT_TRUE(log.Admits("away", clock.Monotonic()));
}

TEST(FailureLogTest, DifferentMessagesAreLimitedToo) {
  FakeClock clock;
  FailureLog log;
  std::size_t written = 0;
  for (int i = 0; i < 1000; ++i) {
    written += log.Admits("number " + std::to_string(i), clock.Monotonic()) ? 1 : 0;
  }
  EXPECT_EQ(written, FailureLog::kMessagesMax);
}

}  // namespace
}  // namespace keymill::api
