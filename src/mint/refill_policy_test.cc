// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/refill_policy.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "keymill/store.h"

#include "support/fake_clock.h"

namespace keymill::mint {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kVast = std::uint64_t{1} << 60;

RefillState Fresh() { return {.capacity = kVast, .remaining = kVast}; }

TEST(RefillPolicyTest, TheFirstBlockHasTheConfiguredSize) {
  EXPECT_EQ(RefillCount({.block_size = 1000}, Fresh()), 1000U);
  EXPECT_EQ(RefillCount({.block_size = 1}, Fresh()), 1U);
  EXPECT_EQ(RefillCount({.block_size = 1000, .grow = false}, Fresh()), 1000U);
}

TEST(RefillPolicyTest, TheFirstBlockIsLargerWhenMoreAreWaitedForButAtMostEightfold) {
  RefillState state = Fresh();
  state.waiting = 3000;
  EXPECT_EQ(RefillCount({.block_size = 1000}, state), 3000U);
  state.waiting = 1'000'000;
  EXPECT_EQ(RefillCount({.block_size = 1000}, state), 8000U);
}

TEST(RefillPolicyTest, NoBlockIsLargerThanTwoToThe24) {
  RefillState state = Fresh();
  state.last_block = Store::kBlockCountMax;
  state.consumed = state.last_block;
  state.rate = 1e12;
  EXPECT_EQ(RefillCount({}, state), Store::kBlockCountMax);
}

TEST(RefillPolicyTest, NoBlockIsLargerThanItsShareOfTheCapacity) {
  RefillState state = Fresh();
  state.capacity = state.remaining = std::uint64_t{100} << 16;
  EXPECT_EQ(RefillCount({.block_size = 1000}, state), 100U);
  EXPECT_EQ(RefillCount({.block_size = 1000, .grow = false}, state), 100U);
}

TEST(RefillPolicyTest, NoBlockIsLargerThanItsShareOfWhatRemains) {
  RefillState state = Fresh();
  state.remaining = 6400;
  EXPECT_EQ(RefillCount({.block_size = 1000}, state), 100U);
}

TEST(RefillPolicyTest, AtLeastOneIsAskedForEvenWhenNothingSeemsToRemain) {
  RefillState state = Fresh();
  state.capacity = 10;
  state.remaining = 0;  // Somebody may have given numbers back.
  EXPECT_EQ(RefillCount({}, state), 1U);
}

TEST(RefillPolicyTest, WithoutGrowthEveryBlockHasTheConfiguredSize) {
  RefillState state = Fresh();
  state.last_block = 1000;
  state.consumed = 1000;
  state.rate = 1e6;
  state.waiting = 50'000;
  EXPECT_EQ(RefillCount({.block_size = 1000, .grow = false}, state), 1000U);
}

TEST(RefillPolicyTest, NothingIsReservedWhileTheReservoirIsHalfFull) {
  RefillState state = Fresh();
  state.last_block = 1000;
  state.ahead = 501;
  state.consumed = 499;
  EXPECT_EQ(RefillCount({.block_size = 1000}, state), 0U);
  state.ahead = 500;
  state.consumed = 500;
  EXPECT_GT(RefillCount({.block_size = 1000}, state), 0U);
}

// The rate says that much more is needed, but nobody has taken anything since.
TEST(RefillPolicyTest, NothingIsReservedOnlyBecauseTimePasses) {
  RefillState state = Fresh();
  state.last_block = 1000;
  state.ahead = 900;
  state.consumed = 100;
  state.rate = 1e6;
  EXPECT_EQ(RefillCount({.block_size = 1000}, state), 0U);
}

TEST(RefillPolicyTest, AWaitingRequestIsServedWhateverThePace) {
  RefillState state = Fresh();
  state.last_block = 1'000'000;
  state.waiting = 5;
  EXPECT_GT(RefillCount({}, state), 0U);
}

RC_GTEST_PROP(RefillPolicyProperty, TheLimitsHoldInEveryState, ()) {
  const auto size = [] {
    return rc::gen::map(rc::gen::inRange(0, 62),
                        [](int bits) { return (std::uint64_t{1} << bits) - 1; });
  };
  RefillOptions options;
  options.block_size = *rc::gen::inRange<std::uint32_t>(1, 1U << 20);
  options.grow = *rc::gen::arbitrary<bool>();
  RefillState state;
  state.ahead = *size();
  state.waiting = *size();
  state.rate = static_cast<double>(*size());
  state.last_block = std::min<std::uint64_t>(*size(), Store::kBlockCountMax);
  state.consumed = *size();
  state.capacity = *size() + 1;
  state.remaining = std::min(*size(), state.capacity);
  const std::uint64_t count = RefillCount(options, state);
  RC_ASSERT(count <= Store::kBlockCountMax);
  RC_ASSERT(count <= std::max<std::uint64_t>(16, state.capacity >> 16));
  RC_ASSERT(count <= std::max<std::uint64_t>(1, state.remaining / 64));
  RC_ASSERT(count <= 8 * std::max<std::uint64_t>(state.last_block, options.block_size));
  if (state.waiting > state.ahead) RC_ASSERT(count >= 1U);
}

// One instance and its demand, on a fake clock; a store that grants at once.
class Simulation {
 public:
  explicit Simulation(RefillOptions options, std::uint64_t capacity = kVast) : options_(options) {
    state_.capacity = state_.remaining = capacity;
  }

  // One step of the refiller. Returns how much was reserved.
  std::uint64_t Step() {
    meter_.Observe(taken_, clock_.Monotonic());
    state_.rate = meter_.rate();
    state_.consumed = taken_ - taken_before_last_;
    const std::uint64_t count =
        std::min<std::uint64_t>(RefillCount(options_, state_), state_.remaining);
    if (count == 0) return 0;
    state_.ahead += count;
    state_.remaining -= count;
    state_.last_block = count;
    taken_before_last_ = taken_;
    reserved_ += count;
    return count;
  }
  void Demand(std::uint64_t keys_per_second, milliseconds span) {
    for (milliseconds past{0}; past < span; past += milliseconds(10)) {
      clock_.Advance(milliseconds(10));
      std::uint64_t wanted = keys_per_second / 100;
      while (wanted > 0) {
        const std::uint64_t took = std::min(wanted, state_.ahead);
        state_.ahead -= took;
        taken_ += took;
        wanted -= took;
        state_.waiting = wanted;
        if (Step() == 0 && took == 0) return;  // Exhausted.
      }
      state_.waiting = 0;
      while (Step() > 0) {
      }
    }
  }

  [[nodiscard]] const RefillState& state() const { return state_; }
  [[nodiscard]] std::uint64_t reserved() const { return reserved_; }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }

 private:
  const RefillOptions options_;
  FakeClock clock_;
  RefillState state_;
  RateMeter meter_;
  std::uint64_t taken_ = 0;
  std::uint64_t taken_before_last_ = 0;
  std::uint64_t reserved_ = 0;
};

TEST(RefillSimulationTest, AFewSecondsOfSteadyDemandBuildHalfTheRunwayTargetAtLeast) {
  Simulation simulation({.block_size = 1000, .runway_target = milliseconds(60'000)});
  simulation.Demand(10'000, milliseconds(5'000));
  EXPECT_GE(simulation.state().ahead, 10'000U * 30);
  EXPECT_LE(simulation.state().ahead, 10'000U * 120);
  simulation.Demand(10'000, milliseconds(60'000));
  EXPECT_GE(simulation.state().ahead, 10'000U * 30) << "and it stays so";
}

TEST(RefillSimulationTest, AfterABurstNothingMoreIsReservedWhileIdle) {
  Simulation simulation({.block_size = 1000});
  simulation.Demand(50'000, milliseconds(1'000));
  const std::uint64_t reserved = simulation.reserved();
  simulation.Demand(0, milliseconds(120'000));
  EXPECT_EQ(simulation.reserved(), reserved);
}

TEST(RefillSimulationTest, AnIdleKeyspaceReservesOneBlockOnly) {
  Simulation simulation({.block_size = 1000});
  simulation.Step();
  simulation.Demand(0, milliseconds(600'000));
  EXPECT_EQ(simulation.reserved(), 1000U);
}

// The last keys are shared: no instance sits on a large part of what is left.
TEST(RefillSimulationTest, NearTheEndAnInstanceHoldsLittleOfWhatIsLeft) {
  constexpr std::uint64_t kCapacity = 1'000'000;
  Simulation simulation({.block_size = 1000}, kCapacity);
  std::uint64_t before = ~std::uint64_t{0};
  while (simulation.state().remaining > 100 && simulation.taken() != before) {
    before = simulation.taken();
    simulation.Demand(20'000, milliseconds(100));
    const RefillState& state = simulation.state();
    ASSERT_LE(state.ahead, std::max<std::uint64_t>(16, (state.remaining + state.ahead) / 16))
        << "with " << state.remaining << " left";
  }
  EXPECT_LE(simulation.state().remaining, 100U);
}

// Full demand from the first block on, and a store that takes its time for each block.
struct ColdStart {
  milliseconds longest_wait{0};
  milliseconds last_wait{0};  // When it ended.
};
ColdStart StartUnderLoad(std::uint64_t keys_per_ms, milliseconds trip) {
  constexpr milliseconds kEnd{15'000};
  const RefillOptions options{.block_size = 1000};
  FakeClock clock;
  RateMeter meter;
  meter.Observe(0, clock.Monotonic());
  RefillState state = Fresh();
  state.ahead = state.last_block = 1000;  // The first block comes with the keyspace.
  ColdStart seen;
  std::uint64_t taken = 0;
  std::uint64_t taken_before_last = 0;
  std::uint64_t coming = 0;
  milliseconds lands{0};
  milliseconds dry_since{-1};
  for (milliseconds now{0}; now < kEnd; ++now, clock.Advance(milliseconds(1))) {
    if (coming > 0 && now >= lands) {
      state.ahead += coming;
      state.last_block = coming;
      taken_before_last = taken;
      coming = 0;
    }
    const std::uint64_t took = std::min(keys_per_ms, state.ahead);
    state.ahead -= took;
    taken += took;
    state.waiting = keys_per_ms - took;
    if (state.waiting == 0) {
      dry_since = milliseconds(-1);
    } else {
      if (dry_since.count() < 0) dry_since = now;
      seen.last_wait = now;
      seen.longest_wait = std::max(seen.longest_wait, now - dry_since);
    }
    if (coming > 0) continue;
    meter.Observe(taken, clock.Monotonic());
    state.rate = meter.rate();
    state.consumed = taken - taken_before_last;
    coming = RefillCount(options, state);
    lands = now + trip;
  }
  return seen;
}

TEST(RefillSimulationTest, FullLoadFromTheFirstRequestStarvesNobodyForLong) {
  for (const std::uint64_t keys_per_ms : {100U, 1'000U, 2'000U, 5'000U}) {
    for (const milliseconds trip : {milliseconds(5), milliseconds(35), milliseconds(80)}) {
      SCOPED_TRACE(testing::Message()
                   << keys_per_ms << " keys/ms, a block takes " << trip.count() << " ms");
      const ColdStart seen = StartUnderLoad(keys_per_ms, trip);
      EXPECT_LE(seen.longest_wait, milliseconds(250));
      EXPECT_LE(seen.last_wait, milliseconds(2'000));
    }
  }
}

TEST(RefillPolicyTest, WithoutReservingAheadOnlyWhatIsWaitedForIsReserved) {
  const RefillOptions options{.ahead_of_need = false};
  RefillState state{.capacity = std::uint64_t{1} << 40, .remaining = std::uint64_t{1} << 40};
  EXPECT_EQ(RefillCount(options, state), 0U);
  state.waiting = 5;
  EXPECT_EQ(RefillCount(options, state), 5U);
  state.ahead = 5;
  EXPECT_EQ(RefillCount(options, state), 0U);
  state.waiting = std::uint64_t{1} << 30;
  EXPECT_EQ(RefillCount(options, state), std::uint32_t{1} << 24);
  state.ahead = 0;
  state.waiting = 0;
  state.last_block = 5;
  state.consumed = 5;
  EXPECT_EQ(RefillCount(options, state), 0U) << "what was taken is not replaced";
}

TEST(RateMeterTest, RisesAtOnceAndHalvesInFiveSeconds) {
  FakeClock clock;
  RateMeter meter;
  meter.Observe(0, clock.Monotonic());
  EXPECT_EQ(meter.rate(), 0);
  clock.Advance(std::chrono::seconds(1));
  meter.Observe(10'000, clock.Monotonic());
  EXPECT_DOUBLE_EQ(meter.rate(), 10'000);
  clock.Advance(std::chrono::seconds(5));
  meter.Observe(10'000, clock.Monotonic());
  EXPECT_NEAR(meter.rate(), 5'000, 1);
  clock.Advance(std::chrono::minutes(10));
  meter.Observe(10'000, clock.Monotonic());
  EXPECT_EQ(meter.rate(), 0);
}

TEST(RateMeterTest, TwoLooksInTheSameInstantAreOne) {
  FakeClock clock;
  RateMeter meter;
  meter.Observe(0, clock.Monotonic());
  meter.Observe(1'000'000, clock.Monotonic());
  EXPECT_EQ(meter.rate(), 0) << "no time passed, so there is no rate yet";
  clock.Advance(std::chrono::seconds(1));
  meter.Observe(1'000'000, clock.Monotonic());
  EXPECT_DOUBLE_EQ(meter.rate(), 1'000'000) << "and nothing was forgotten";
}

TEST(RefillPolicyTest, TheFirstBlockIsSmallInASmallKeyspaceAndNoneWithoutReservingAhead) {
  EXPECT_EQ(FirstCount({.block_size = 1000}, std::uint64_t{1} << 40), 1000U);
  EXPECT_EQ(FirstCount({.block_size = 1000}, 1'000'000), 16U);
  EXPECT_EQ(FirstCount({.block_size = 1000}, 3), 1U);
  EXPECT_EQ(FirstCount({.block_size = 1000, .ahead_of_need = false}, 1'000'000), 0U);
}

}  // namespace
}  // namespace keymill::mint
