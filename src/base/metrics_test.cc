// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/metrics.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace keymill {
namespace {

struct Counters {
  OwnedCounter things;
  OwnedTimes times;
};

std::uint64_t Things(const Sharded<Counters>& sharded) {
  std::uint64_t sum = 0;
  sharded.ForEach([&](const Counters& each) { sum += each.things.value(); });
  return sum;
}

TEST(MetricsTest, ThreadsCountForThemselvesAndNothingIsLost) {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 100'000;
  Sharded<Counters> sharded;
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      Counters& mine = sharded.Mine();
      // Together, so that no two threads have the same id.
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (std::uint64_t n = 0; n < kEach; ++n) mine.things.Add(1);
      mine.times.Record(20'000, kEach);
    });
  }
  std::uint64_t seen = 0;
  for (int i = 0; i < 1000; ++i) {  // A sum never goes back while they count.
    const std::uint64_t now = Things(sharded);
    EXPECT_GE(now, seen);
    seen = now;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Things(sharded), kThreads * kEach) << "also when the threads are gone";
  int shards = 0;
  TimeCounts sum;
  sharded.ForEach([&](const Counters& each) {
    ++shards;
    each.times.AddTo(sum);
  });
  EXPECT_EQ(shards, kThreads);
  EXPECT_EQ(sum.count(), kThreads * kEach);
  EXPECT_EQ(sum.buckets[1], kThreads * kEach);
  EXPECT_EQ(sum.sum_ns, kThreads * kEach * 20'000);
}

TEST(MetricsTest, ThreadsShareNoCacheLine) {
  Sharded<OwnedCounter> sharded;
  std::set<std::uintptr_t> lines;
  std::atomic<int> ready{0};
  Mutex mu;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto address = reinterpret_cast<std::uintptr_t>(&sharded.Mine());
      ++ready;
      while (ready < 4) std::this_thread::yield();
      const MutexLock lock(mu);
      lines.insert(address / 64);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines.size(), 4U);
}

TEST(MetricsTest, AThreadKeepsItsShard) {
  Sharded<OwnedCounter> sharded;
  EXPECT_EQ(&sharded.Mine(), &sharded.Mine());
}

TEST(MetricsTest, TimesFallIntoTheBucketWhoseBoundTheyDoNotExceed) {
  EXPECT_EQ(TimeCounts::BucketOf(0), 0U);
  for (std::size_t i = 0; i < kTimeBoundsNs.size(); ++i) {
    EXPECT_EQ(TimeCounts::BucketOf(kTimeBoundsNs.at(i)), i);
    EXPECT_EQ(TimeCounts::BucketOf(kTimeBoundsNs.at(i) + 1), i + 1);
  }
  EXPECT_EQ(TimeCounts::BucketOf(~std::uint64_t{0}), kTimeBoundsNs.size());
  TimeCounts times;
  times.Record(10'000);
  times.Record(10'001);
  times.Record(60'000'000'000);
  EXPECT_EQ(times.count(), 3U);
  EXPECT_EQ(times.sum_ns, 60'000'020'001U);
  EXPECT_EQ(times.buckets.back(), 1U);
}

TEST(MetricsTest, FamiliesKeepTheirOrderAndEmptyOnesAreLeftOut) {
  MetricFamilies families;
  MetricFamily& first = families.Counter("a_total", "A.");
  families.Gauge("nothing", "Has no samples.");
  families.Gauge("b", "B.").Add(2.5);
  first.Add(1, {{"k", "x"}}).Add(2, {{"k", "y"}});
  ASSERT_EQ(families.all().size(), 2U);
  EXPECT_EQ(families.all()[0]->name, "a_total");
  EXPECT_EQ(families.Value("a_total", {{"k", "y"}}), 2);
  EXPECT_EQ(families.Value("b"), 2.5);
  EXPECT_EQ(families.Value("b", {{"k", "x"}}), -1);
  EXPECT_EQ(families.Value("c"), -1);
}

}  // namespace
}  // namespace keymill
