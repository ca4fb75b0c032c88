// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/worker_line.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace keymill::mint {
namespace {

constexpr std::uint32_t kBits = 4;  // 16 ids in a unit.
constexpr std::uint64_t Place(std::uint64_t ticks, std::uint64_t sequence = 0) {
  return ticks << kBits | sequence;
}

TEST(WorkerLineTest, HasNothingWithoutAWindow) {
  WorkerLine line(3, kBits);
  EXPECT_EQ(line.worker(), 3U);
  EXPECT_EQ(line.Take(100, 1).count, 0U);
  EXPECT_FALSE(line.HasSome(100));
}

TEST(WorkerLineTest, GivesTheIdsOfTheMomentUntilItIsFull) {
  WorkerLine line(3, kBits);
  line.Extend(100, 200);
  EXPECT_EQ(line.Take(150, 1).first, Place(150));
  EXPECT_EQ(line.Take(150, 1).first, Place(150, 1));
  const WorkerRun rest = line.Take(150, 1000);
  EXPECT_EQ(rest.first, Place(150, 2));
  EXPECT_EQ(rest.count, 14U);
  EXPECT_FALSE(line.HasSome(150));
  EXPECT_EQ(line.Take(150, 1).count, 0U);
  EXPECT_EQ(line.Take(151, 1).first, Place(151));
}

TEST(WorkerLineTest, NothingLeavesTheWindow) {
  WorkerLine line(0, kBits);
  line.Extend(100, 102);
  EXPECT_EQ(line.Take(99, 1).count, 0U) << "the clock is before it";
  EXPECT_EQ(line.Take(101, 100).count, 32U) << "nobody has had its beginning";
  EXPECT_EQ(line.Take(102, 1).count, 0U);
  EXPECT_EQ(line.Take(1'000'000, 1).count, 0U);
}

TEST(WorkerLineTest, WhatAFullUnitLeftUndoneIsCaughtUpWith) {
  WorkerLine line(0, kBits);
  line.Extend(100, 1000);
  ASSERT_EQ(line.Take(100, 16).count, 16U);
  // Whoever waited for 101 woke up in 103.
  const WorkerRun late = line.Take(103, 1000);
  EXPECT_EQ(late.first, Place(101));
  EXPECT_EQ(late.count, 48U);
  ASSERT_EQ(line.Take(104, 16).count, 16U);
  EXPECT_EQ(line.Take(105 + WorkerLine::kLagTicks + 1, 1).first,
            Place(105 + WorkerLine::kLagTicks + 1))
      << "nobody wanted that many for a while";
}

TEST(WorkerLineTest, AUnitThatWasBegunIsCaughtUpWithByWhoWantsMany) {
  constexpr std::uint32_t kWide = 8;  // 256 ids in a unit.
  constexpr std::uint64_t kMany = 256 / WorkerLine::kHastyCalls;
  WorkerLine line(0, kWide);
  line.Extend(100, 1000);
  ASSERT_EQ(line.Take(100, kMany).count, kMany);
  // The clock has moved on in the middle of the unit.
  const WorkerRun late = line.Take(102, kMany);
  EXPECT_EQ(late.first, (100U << kWide) + kMany);
  EXPECT_EQ(late.count, kMany);
  EXPECT_EQ(line.Take(102, kMany - 1).first, 102U << kWide) << "few can have the present time";
  ASSERT_EQ(line.Take(102, kMany).count, kMany);
  EXPECT_EQ(line.Take(102 + WorkerLine::kLagTicks + 1, kMany).first,
            (102 + WorkerLine::kLagTicks + 1) << kWide)
      << "nobody wanted that many for a while";
}

TEST(WorkerLineTest, WithoutHasteAnIdHasTheTimeAtWhichItWasAskedFor) {
  WorkerLine line(0, 8);  // 256 ids in a unit.
  line.Extend(100, 1000);
  ASSERT_EQ(line.Take(100, 3).count, 3U);
  EXPECT_EQ(line.Take(102, 1).first, 102U << 8);
}

TEST(WorkerLineTest, AClockThatGoesBackGetsTheRestOfTheUnitAndThenNothing) {
  WorkerLine line(0, kBits);
  line.Extend(100, 1000);
  ASSERT_EQ(line.Take(500, 10).count, 10U);
  const WorkerRun rest = line.Take(400, 1000);
  EXPECT_EQ(rest.first, Place(500, 10));
  EXPECT_EQ(rest.count, 6U);
  EXPECT_EQ(line.Take(400, 1).count, 0U);
  EXPECT_EQ(line.Take(500, 1).count, 0U);
  EXPECT_EQ(line.Take(501, 1).first, Place(501));
}

// Where Twitter's IdWorkerSpec is not followed. Its clock at 1 gives sequences 0 and 1; set back to
// 0 it refuses; at 1 again it goes on with 2. Ours refuses nothing at 0: it goes on within the unit
// that it was in, with 2, and at 1 again with 3. What its case is about holds: the sequence does
// not begin anew, and no id comes twice.
TEST(WorkerLineTest, GoesOnInItsUnitWhereTwittersIdWorkerRefuses) {
  constexpr std::uint32_t kTwitterBits = 12;
  WorkerLine line(31, kTwitterBits);
  line.Extend(1, 1000);
  EXPECT_EQ(line.Take(1, 1).first, 1U << kTwitterBits | 0U);
  EXPECT_EQ(line.Take(1, 1).first, 1U << kTwitterBits | 1U);
  EXPECT_EQ(line.Take(0, 1).first, 1U << kTwitterBits | 2U) << "of no time that is past";
  EXPECT_EQ(line.Take(1, 1).first, 1U << kTwitterBits | 3U);
  // Once the unit is full, it refuses, too.
  ASSERT_EQ(line.Take(1, 5'000).count, 4'092U);
  EXPECT_EQ(line.Take(0, 1).count, 0U);
}

TEST(WorkerLineTest, RollsOverAsTwittersIdWorkerDoes) {
  constexpr std::uint32_t kTwitterBits = 12;
  WorkerLine line(31, kTwitterBits);
  line.Extend(1, 1000);
  ASSERT_EQ(line.Take(1, 5'000).count, 4'096U);
  EXPECT_EQ(line.Take(1, 1).count, 0U) << "the next millisecond is waited for";
  EXPECT_EQ(line.Take(2, 1).first, 2U << kTwitterBits);
}

TEST(WorkerLineTest, WhatLiesBetweenTwoWindowsIsNotOurs) {
  WorkerLine line(0, kBits);
  line.Extend(100, 200);
  ASSERT_EQ(line.Take(199, 16).count, 16U);
  line.Extend(300, 400);
  EXPECT_EQ(line.Take(250, 1).count, 0U);
  EXPECT_EQ(line.Take(299, 1).count, 0U);
  EXPECT_EQ(line.Take(300, 1).first, Place(300));
  line.Extend(400, 500);
  EXPECT_EQ(line.Take(450, 1).first, Place(450));
}

TEST(WorkerLineTest, AfterTheEndItTellsWhatWasNotUsed) {
  WorkerLine fresh(0, kBits);
  fresh.Extend(100, 200);
  EXPECT_EQ(fresh.Close(), 100U);
  WorkerLine used(0, kBits);
  used.Extend(100, 200);
  ASSERT_EQ(used.Take(150, 1).count, 1U);
  EXPECT_EQ(used.Close(), 151U);
  EXPECT_EQ(used.Close(), 151U);
  EXPECT_EQ(used.Take(150, 1).count, 0U);
  EXPECT_EQ(used.Take(151, 1).count, 0U);
  WorkerLine filled(0, kBits);
  filled.Extend(100, 200);
  ASSERT_EQ(filled.Take(150, 16).count, 16U);
  EXPECT_EQ(filled.Close(), 151U);
}

// Every id is taken at most once, inside of the windows, while they move and the line is closed.
TEST(WorkerLineTest, ThreadsNeverShareAnId) {
  WorkerLine line(0, kBits);
  std::atomic<std::uint64_t> now{100};
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> takes{0};
  std::vector<std::vector<WorkerRun>> taken(4);
  std::vector<std::thread> threads;
  threads.reserve(taken.size());
  for (auto& runs : taken) {
    threads.emplace_back([&] {
      while (!done.load(std::memory_order_relaxed)) {
        const WorkerRun run = line.Take(now.load(std::memory_order_relaxed), 5);
        if (run.count == 0) continue;
        runs.push_back(run);
        takes.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  // Windows of ten units, with a gap of ten after every third.
  std::uint64_t end = 0;
  std::vector<bool> ours(2'000, false);
  for (std::uint64_t first = 100; first + 10 < ours.size(); first = end) {
    if (first / 10 % 4 == 3) first += 10;
    end = first + 10;
    for (std::uint64_t tick = first; tick < end; ++tick) ours[tick] = true;
    line.Extend(first, end);
    const std::uint64_t before = takes;
    for (std::uint64_t tick = first; tick < end; ++tick) now = tick;
    while (takes == before) std::this_thread::yield();  // Every window is used.
  }
  const std::uint64_t unused = line.Close();
  done = true;
  for (std::thread& thread : threads) thread.join();
  std::vector<bool> seen(ours.size() << kBits, false);
  std::uint64_t ids = 0;
  for (const auto& runs : taken) {
    for (const WorkerRun& run : runs) {
      for (std::uint64_t at = run.first; at < run.first + run.count; ++at, ++ids) {
        ASSERT_FALSE(seen[at]) << at;
        seen[at] = true;
        ASSERT_TRUE(ours[at >> kBits]) << at;
        ASSERT_LT(at >> kBits, unused);
      }
    }
  }
  EXPECT_GT(ids, 0U);
}

}  // namespace
}  // namespace keymill::mint
