// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "links/link_cache.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_clock.h"

namespace keymill::links {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::Pair;
using Found = LinkCache::Found;

class LinkCacheTest : public testing::Test {
 protected:
  Found Look(LinkCache& cache, std::string_view key, std::uint64_t hits = 1) {
    url_.clear();
    return cache.Look(key, clock_.Monotonic(), hits,
                      [&](std::string_view url) { url_ = std::string(url); });
  }
  void Put(LinkCache& cache, std::string_view key, std::string_view url,
           MonotonicTime ends_at = MonotonicTime::max()) {
    cache.Put(key, url, clock_.Monotonic(), ends_at, 0);
  }

  FakeClock clock_;
  std::string url_;
};

TEST_F(LinkCacheTest, OneOfManyAsksTheStoreAgainWhenTimeIsUp) {
  LinkCache cache({.fresh = milliseconds(100)});
  EXPECT_EQ(Look(cache, "k"), Found::kNothing);
  Put(cache, "k", "https://a.test/");
  EXPECT_EQ(Look(cache, "k"), Found::kLink);
  EXPECT_EQ(url_, "https://a.test/");
  clock_.Advance(milliseconds(100));
  EXPECT_EQ(Look(cache, "k"), Found::kStale);
  EXPECT_EQ(url_, "https://a.test/");
  EXPECT_EQ(Look(cache, "k"), Found::kLink);
  clock_.Advance(milliseconds(100));
  EXPECT_EQ(Look(cache, "k"), Found::kNothing);
}

TEST_F(LinkCacheTest, KnowsForAMomentThatAKeyLeadsNowhere) {
  LinkCache cache({.fresh_none = milliseconds(10)});
  Put(cache, "k", "");
  EXPECT_EQ(Look(cache, "k"), Found::kNone);
  clock_.Advance(milliseconds(10));
  EXPECT_EQ(Look(cache, "k"), Found::kNothing);
  EXPECT_TRUE(cache.TakeHits().empty());
}

TEST_F(LinkCacheTest, ALinkThatHasEndedIsNotFollowedEvenWithTheStoreAway) {
  LinkCache cache;
  Put(cache, "k", "https://a.test/", clock_.Monotonic() + milliseconds(10));
  EXPECT_EQ(Look(cache, "k"), Found::kLink);
  clock_.Advance(milliseconds(10));
  EXPECT_EQ(Look(cache, "k"), Found::kNothing);
  EXPECT_FALSE(cache.LookStale("k", clock_.Monotonic(), 1, [](std::string_view) {}));
}

TEST_F(LinkCacheTest, WithTheStoreAwayWhatItSaidLastWillDo) {
  LinkCache cache({.fresh = milliseconds(100), .fresh_none = milliseconds(10)});
  Put(cache, "k", "https://a.test/");
  Put(cache, "none", "");
  clock_.Advance(std::chrono::hours(1));
  EXPECT_EQ(Look(cache, "k"), Found::kNothing);
  std::string url;
  EXPECT_TRUE(cache.LookStale("k", clock_.Monotonic(), 1,
                              [&](std::string_view old) { url = std::string(old); }));
  EXPECT_EQ(url, "https://a.test/");
  EXPECT_FALSE(cache.LookStale("none", clock_.Monotonic(), 1, [](std::string_view) {}));
  EXPECT_FALSE(cache.LookStale("other", clock_.Monotonic(), 1, [](std::string_view) {}));
  // And nobody waits for it again at once.
  EXPECT_EQ(Look(cache, "k"), Found::kLink);
}

TEST_F(LinkCacheTest, CountsEachHitOnce) {
  LinkCache cache;
  Put(cache, "a", "https://a.test/");
  Put(cache, "b", "https://b.test/");
  Put(cache, "c", "https://c.test/");
  Look(cache, "a", 3);
  Look(cache, "b");
  Look(cache, "a");
  Look(cache, "c", 0);
  EXPECT_THAT(cache.TakeHits(), ElementsAre(Pair("a", 4), Pair("b", 1)));
  EXPECT_TRUE(cache.TakeHits().empty());
  Look(cache, "c", 2);
  cache.Drop("c");  // Its hits stay.
  cache.ReturnHits({{"a", 4}, {"c", 1}});
  EXPECT_THAT(cache.TakeHits(), ElementsAre(Pair("a", 4), Pair("c", 3)));
}

TEST_F(LinkCacheTest, NeverTakesMoreMemoryThanItMay) {
  const std::size_t bytes_max = std::size_t{1} << 20;
  LinkCache cache({.bytes_max = bytes_max, .hits_max = 160});
  const std::string url = "https://a.test/" + std::string(2'000, 'x');
  std::uint64_t hits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = "key" + std::to_string(i);
    Put(cache, key, url);
    if (Look(cache, key) == Found::kLink) ++hits;
    EXPECT_LE(cache.stats().bytes, bytes_max);
  }
  EXPECT_EQ(hits, 10'000U);
  EXPECT_GT(cache.stats().entries, 400U);
  // What was asked for last is there, and every hit is counted or said to be lost.
  EXPECT_EQ(Look(cache, "key9999", 0), Found::kLink);
  std::uint64_t counted = 0;
  for (const auto& [key, count] : cache.TakeHits()) counted += count;
  EXPECT_EQ(counted + cache.stats().hits_dropped, hits);
  EXPECT_GT(cache.stats().hits_dropped, 0U);
}

TEST_F(LinkCacheTest, KeepsWhatIsAskedForOften) {
  LinkCache cache({.bytes_max = std::size_t{1} << 20});
  Put(cache, "hot", "https://hot.test/");
  for (int i = 0; i < 10'000; ++i) {
    Put(cache, "key" + std::to_string(i), "https://a.test/");
    ASSERT_EQ(Look(cache, "hot"), Found::kLink) << i;
  }
}

TEST_F(LinkCacheTest, ThreadsCountTogether) {
  LinkCache cache;
  Put(cache, "k", "https://a.test/");
  const MonotonicTime now = clock_.Monotonic();
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> counted{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) cache.Look("k", now, 1, [](std::string_view) {});
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 200; ++i) {
      for (const auto& [key, hits] : cache.TakeHits()) counted += hits;
      cache.Put("k", "https://a.test/", now, MonotonicTime::max(), 0);
    }
  });
  for (std::thread& thread : threads) thread.join();
  for (const auto& [key, hits] : cache.TakeHits()) counted += hits;
  EXPECT_EQ(counted, 60'000U);
}

}  // namespace
}  // namespace keymill::links
