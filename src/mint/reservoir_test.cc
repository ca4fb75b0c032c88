// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/reservoir.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace keymill::mint {
namespace {

constexpr std::uint64_t kRingSegments = 256;  // As reservoir.h has it.

std::vector<std::uint64_t> Numbers(const std::vector<Reservoir::Run>& runs) {
  std::vector<std::uint64_t> numbers;
  for (const Reservoir::Run& run : runs) {
    for (std::uint64_t i = 0; i < run.count; ++i) numbers.push_back(run.first + i);
  }
  return numbers;
}

TEST(ReservoirTest, AnEmptyOneGivesNothing) {
  Reservoir reservoir;
  EXPECT_EQ(reservoir.Take(1).count, 0U);
  EXPECT_EQ(reservoir.ahead(), 0U);
  EXPECT_EQ(reservoir.taken(), 0U);
}

TEST(ReservoirTest, GivesNumbersInTheOrderInWhichTheyWereAdded) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(500, 3));
  ASSERT_TRUE(reservoir.Add(10, 2));
  std::vector<std::uint64_t> got;
  while (reservoir.ahead() > 0) got.push_back(reservoir.Take(1).first);
  EXPECT_EQ(got, (std::vector<std::uint64_t>{500, 501, 502, 10, 11}));
}

TEST(ReservoirTest, GivesExactlyAsManyAsAskedForAndCountsThem) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(100, 50));
  const Reservoir::Run run = reservoir.Take(20);
  EXPECT_EQ(run.first, 100U);
  EXPECT_EQ(run.count, 20U);
  EXPECT_EQ(run.ticket_end, 20U);
  EXPECT_EQ(reservoir.taken(), 20U);
  EXPECT_EQ(reservoir.ahead(), 30U);
  EXPECT_EQ(reservoir.added(), 50U);
}

TEST(ReservoirTest, ARunEndsWhereItsSegmentEnds) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(100, 3));
  ASSERT_TRUE(reservoir.Add(900, 3));
  EXPECT_EQ(reservoir.Take(2).count, 2U);
  const Reservoir::Run rest = reservoir.Take(10);
  EXPECT_EQ(rest.first, 102U);
  EXPECT_EQ(rest.count, 1U);
  const Reservoir::Run next = reservoir.Take(10);
  EXPECT_EQ(next.first, 900U);
  EXPECT_EQ(next.count, 3U);
  EXPECT_EQ(reservoir.Take(10).count, 0U);
}

TEST(ReservoirTest, ContiguousAddsMergeIntoOneRun) {
  Reservoir reservoir;
  for (std::uint64_t i = 0; i < 5 * kRingSegments; ++i) ASSERT_TRUE(reservoir.Add(10 * i, 10));
  EXPECT_EQ(reservoir.Take(~std::uint64_t{0}).count, 50 * kRingSegments);
}

TEST(ReservoirTest, AContiguousAddAfterEverythingWasTakenGoesOn) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(0, 10));
  EXPECT_EQ(reservoir.Take(100).count, 10U);
  EXPECT_EQ(reservoir.Take(100).count, 0U);
  ASSERT_TRUE(reservoir.Add(10, 10));
  EXPECT_EQ(reservoir.Take(100).first, 10U);
}

TEST(ReservoirTest, AFullRingRefusesAndWorksAgainAfterConsumption) {
  Reservoir reservoir;
  std::uint64_t segments = 0;
  while (reservoir.Add(1000 * segments, 2)) ++segments;
  EXPECT_EQ(segments, kRingSegments);
  EXPECT_EQ(reservoir.added(), 2 * segments) << "the refused one left no trace";
  EXPECT_TRUE(reservoir.Add(1000 * (segments - 1) + 2, 1)) << "the last run may still grow";

  EXPECT_EQ(reservoir.Take(2).first, 0U);
  EXPECT_EQ(reservoir.Take(1).first, 1000U);
  EXPECT_TRUE(reservoir.Add(7'000'000, 2));
  EXPECT_FALSE(reservoir.Add(8'000'000, 2));

  std::uint64_t got = 0;
  while (const std::uint64_t count = reservoir.Take(10).count) got += count;
  EXPECT_EQ(got, 2 * segments + 1 - 3 + 2);
  EXPECT_TRUE(reservoir.Add(9'000'000, 2));
  EXPECT_EQ(reservoir.Take(10).first, 9'000'000U);
}

TEST(ReservoirTest, TheRingWrapsManyTimesWithoutLoss) {
  Reservoir reservoir;
  std::uint64_t added = 0;
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 20 * kRingSegments; ++i) {
    ASSERT_TRUE(reservoir.Add(3 * added, 1));  // Every third number: never contiguous.
    ++added;
    if (i % 7 != 0) continue;
    while (expected + 3 < added) {
      ASSERT_EQ(reservoir.Take(1).first, 3 * expected);
      ++expected;
    }
  }
  while (expected < added) ASSERT_EQ(reservoir.Take(1).first, 3 * expected++);
}

TEST(ReservoirTest, SealReturnsExactlyTheRestAndNothingLeavesAfterwards) {
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(100, 10));
  ASSERT_TRUE(reservoir.Add(200, 10));
  ASSERT_TRUE(reservoir.Add(210, 5));
  EXPECT_EQ(reservoir.Take(4).count, 4U);
  const std::vector<Reservoir::Run> rest = reservoir.Seal();
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].first, 104U);
  EXPECT_EQ(rest[0].count, 6U);
  EXPECT_EQ(rest[1].first, 200U);
  EXPECT_EQ(rest[1].count, 15U);
  EXPECT_EQ(reservoir.Take(1).count, 0U);
  EXPECT_EQ(reservoir.ahead(), 0U);
  EXPECT_EQ(reservoir.taken(), 4U) << "sealing takes nothing";
  EXPECT_TRUE(reservoir.Seal().empty()) << "works once";
}

TEST(ReservoirTest, SealOfAnEmptyOneReturnsNothing) {
  Reservoir fresh;
  EXPECT_TRUE(fresh.Seal().empty());
  Reservoir used;
  ASSERT_TRUE(used.Add(0, 5));
  EXPECT_EQ(used.Take(5).count, 5U);
  EXPECT_TRUE(used.Seal().empty());
  EXPECT_EQ(used.taken(), 5U);
}

TEST(ReservoirTest, HoldsNumbersUpToTheLast) {
  constexpr std::uint64_t kLast = (std::uint64_t{1} << 63) - 10;
  Reservoir reservoir;
  ASSERT_TRUE(reservoir.Add(kLast, 9));
  EXPECT_EQ(reservoir.Take(8).first, kLast);
  EXPECT_EQ(reservoir.Take(8).first, kLast + 8);
}

RC_GTEST_PROP(ReservoirProperty, AgreesWithAQueue, ()) {
  Reservoir reservoir;
  std::deque<std::uint64_t> model;
  std::uint64_t next = 0;
  std::uint64_t runs = 0;
  const auto steps = *rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange(0, 1000));
  for (const std::uint64_t step : steps) {
    const std::uint64_t size = step % 37 + 1;
    if (step % 2 == 0) {
      if (step % 3 != 0) {
        next += 5;  // A gap: another segment.
        ++runs;
      }
      RC_ASSERT(reservoir.Add(next, size) || runs >= kRingSegments);
      for (std::uint64_t i = 0; i < size; ++i) model.push_back(next++);
    } else {
      const Reservoir::Run run = reservoir.Take(size);
      RC_ASSERT(run.count <= size);
      RC_ASSERT((run.count == 0) == model.empty());
      for (std::uint64_t i = 0; i < run.count; ++i) {
        RC_ASSERT(!model.empty() && model.front() == run.first + i);
        model.pop_front();
      }
    }
    RC_ASSERT(reservoir.ahead() == model.size());
    RC_ASSERT(reservoir.taken() + reservoir.ahead() == reservoir.added());
  }
  const auto rest = Numbers(reservoir.Seal());
  RC_ASSERT(std::equal(rest.begin(), rest.end(), model.begin(), model.end()));
}

// Many take while one adds and finally seals. Judged over every number: taken or left over,
// exactly once.
struct Race {
  std::uint64_t numbers;
  std::uint64_t segment;  // Numbers per run.
  std::uint64_t take_max;
  std::uint64_t seal_after;  // Stop adding, and seal, once so many were added.
};

class ReservoirRaceTest : public testing::TestWithParam<Race> {};

TEST_P(ReservoirRaceTest, EveryNumberIsTakenOrLeftOverExactlyOnce) {
  const Race race = GetParam();
  Reservoir reservoir;
  std::atomic<bool> sealed{false};
  constexpr std::size_t kThreads = 4;
  std::vector<std::vector<Reservoir::Run>> taken(kThreads);
  std::vector<std::thread> takers;
  for (std::size_t i = 0; i < kThreads; ++i) {
    takers.emplace_back([&, i] {
      std::uint64_t size = i;
      for (;;) {
        const bool last = sealed.load(std::memory_order_acquire);
        const Reservoir::Run run = reservoir.Take(size++ % race.take_max + 1);
        if (run.count > 0) {
          taken[i].push_back(run);
        } else if (last) {
          return;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  // Every other run lies far above: runs never touch, so that each is a segment of its own.
  const std::uint64_t gap = race.numbers;
  std::uint64_t added = 0;
  std::uint64_t runs = 0;
  while (added < race.seal_after) {
    const std::uint64_t size = std::min(race.segment, race.seal_after - added);
    if (reservoir.Add(added + runs % 2 * 2 * gap, size)) {
      added += size;
      ++runs;
    } else {
      std::this_thread::yield();
    }
  }
  const auto rest = reservoir.Seal();
  sealed.store(true, std::memory_order_release);
  for (std::thread& taker : takers) taker.join();

  std::vector<std::uint8_t> seen(race.numbers);
  std::uint64_t total = 0;
  const auto mark = [&](const std::vector<Reservoir::Run>& some) {
    for (const std::uint64_t number : Numbers(some)) {
      const std::uint64_t plain = number % (2 * gap);
      ASSERT_LT(plain, race.numbers);
      ASSERT_EQ(seen[plain]++, 0) << "number " << number << " twice";
      ++total;
    }
  };
  for (const auto& runs_of_one : taken) mark(runs_of_one);
  mark(rest);
  EXPECT_EQ(total, added) << "every number once";
  for (std::uint64_t i = 1; i < kThreads; ++i) {
    EXPECT_TRUE(std::is_sorted(taken[i].begin(), taken[i].end(), [](const auto& a, const auto& b) {
      return a.ticket_end < b.ticket_end;
    })) << "each thread counts upwards";
  }
}

// With segments of one number the ring wraps hundreds of times.
INSTANTIATE_TEST_SUITE_P(Shapes, ReservoirRaceTest,
                         testing::Values(Race{400'000, 1, 1, 400'000}, Race{400'000, 1, 5, 399'999},
                                         Race{400'000, 3, 7, 400'000},
                                         Race{2'000'000, 1000, 64, 1'999'999},
                                         Race{1'000'000, 100'000, 3, 1'000'000}));

}  // namespace
}  // namespace keymill::mint
