// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/forecast.h"

#include <gtest/gtest.h>

namespace keymill::mint {
namespace {

constexpr std::int64_t kNow = 1'750'000'000'000;

TEST(ForecastTest, FollowsThePresentRate) {
  const Consumption busy{.used = 10, .left = 1000, .rate = 100, .created_at_ms = kNow};
  EXPECT_EQ(ExhaustedAtMs(busy, kNow), kNow + 10'000);
}

TEST(ForecastTest, FollowsTheAverageWhenThatIsHigher) {
  const Consumption idle{
      .used = 5'000, .left = 1'000, .rate = 0.5, .created_at_ms = kNow - 1'000'000};
  EXPECT_EQ(ExhaustedAtMs(idle, kNow), kNow + 200'000);
}

TEST(ForecastTest, IsSilentWithoutDemandForTheYoungAndTheEternal) {
  EXPECT_EQ(ExhaustedAtMs({.left = 1'000, .created_at_ms = kNow - 1'000'000}, kNow), std::nullopt);
  EXPECT_EQ(ExhaustedAtMs({.used = 1'000, .left = 1'000, .created_at_ms = kNow - 59'000}, kNow),
            std::nullopt);
  EXPECT_EQ(ExhaustedAtMs({.left = ~std::uint64_t{0}, .rate = 1, .created_at_ms = kNow}, kNow),
            std::nullopt);
}

}  // namespace
}  // namespace keymill::mint
