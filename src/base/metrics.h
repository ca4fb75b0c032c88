// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Figures for a monitoring system: how they are counted, and the form in which a part of the
// program tells them. What they look like on the wire is not known here.
//
// Whatever is counted on the path of a request is counted by each thread for itself: an addition
// to a number that no other thread writes, in a cache line that no other thread writes. Whoever
// collects adds the threads up.

#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace keymill {

// Upper bounds of a histogram's buckets, in nanoseconds: 10 µs to 2.5 s. What is above the last
// is counted in a bucket without a bound.
inline constexpr std::array<std::uint64_t, 17> kTimeBoundsNs = {
    10'000,      25'000,      50'000,      100'000,       250'000,      500'000,
    1'000'000,   2'500'000,   5'000'000,   10'000'000,    25'000'000,   50'000'000,
    100'000'000, 250'000'000, 500'000'000, 1'000'000'000, 2'500'000'000};

// The bucket of the smallest number of so many bits. From there it is at most two steps to that of
// any other: each bound is at least twice the one before.
inline constexpr auto kFirstTimeBucket = [] {
  std::array<std::uint8_t, 65> first{};
  for (std::size_t bits = 1; bits < first.size(); ++bits) {
    const std::uint64_t smallest = std::uint64_t{1} << (bits - 1);
    std::uint8_t bucket = 0;
    while (bucket < kTimeBoundsNs.size() && smallest > kTimeBoundsNs[bucket]) ++bucket;
    first[bits] = bucket;
  }
  return first;
}();

// How often times of each size occurred, as of some moment.
struct TimeCounts {
  std::array<std::uint64_t, kTimeBoundsNs.size() + 1> buckets{};  // Not cumulative.
  std::uint64_t sum_ns = 0;

  void Record(std::uint64_t ns) {
    ++buckets[BucketOf(ns)];
    sum_ns += ns;
  }
  [[nodiscard]] std::uint64_t count() const;

  static std::size_t BucketOf(std::uint64_t ns) {
    std::size_t bucket = kFirstTimeBucket[static_cast<std::size_t>(std::bit_width(ns))];
    while (bucket < kTimeBoundsNs.size() && ns > kTimeBoundsNs[bucket]) ++bucket;
    return bucket;
  }
};

// A number that only grows. One thread at a time adds; any may read.
class OwnedCounter {
 public:
  // No locked instruction: nobody else writes.
  void Add(std::uint64_t count) {
    value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// TimeCounts of which one thread at a time adds and any may read.
class OwnedTimes {
 public:
  // `count` times of `ns` each.
  void Record(std::uint64_t ns, std::uint64_t count) {
    buckets_[TimeCounts::BucketOf(ns)].Add(count);
    sum_ns_.Add(ns * count);
  }
  void AddTo(TimeCounts& sum) const;

 private:
  std::array<OwnedCounter, kTimeBoundsNs.size() + 1> buckets_;
  OwnedCounter sum_ns_;
};

// The same for any number of writers: for what is rare, or takes long anyway.
class SharedTimes {
 public:
  void Record(std::uint64_t ns) {
    buckets_[TimeCounts::BucketOf(ns)].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(ns, std::memory_order_relaxed);
  }
  void AddTo(TimeCounts& sum) const;

 private:
  std::array<std::atomic<std::uint64_t>, kTimeBoundsNs.size() + 1> buckets_{};
  std::atomic<std::uint64_t> sum_ns_{0};
};

// A `Counters` for each thread. They stay when their thread ends, so that sums never go back; a
// later thread that the system gives the same id goes on with them. Safe for concurrent use.
template <typename Counters>
class Sharded {
 public:
  // The calling thread's own. Takes a lock: call it once and keep the reference, which is good
  // as long as this object.
  Counters& Mine() KEYMILL_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    std::unique_ptr<Shard>& shard = shards_[std::this_thread::get_id()];
    if (!shard) shard = std::make_unique<Shard>();
    return shard->counters;
  }

  void ForEach(const std::function<void(const Counters&)>& look) const KEYMILL_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    for (const auto& [thread, shard] : shards_) look(shard->counters);
  }

 private:
  struct alignas(64) Shard {
    Counters counters;
  };
  mutable Mutex mu_;
  std::map<std::thread::id, std::unique_ptr<Shard>> shards_ KEYMILL_GUARDED_BY(mu_);
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

enum class MetricType : std::uint8_t { kCounter, kGauge, kTimes };

// One metric with all its label values. Names and labels are those of the monitoring system: base
// units, `_total` behind a counter, and few, bounded label values.
struct MetricFamily {
  struct Sample {
    MetricLabels labels;
    double value = 0;
    TimeCounts times = {};  // Of kTimes, instead of `value`.
  };

  std::string name;
  std::string help;
  MetricType type = MetricType::kGauge;
  std::vector<Sample> samples = {};

  // Adds a sample; for chaining.
  MetricFamily& Add(double value, MetricLabels labels = {}) &;
  MetricFamily& Add(const TimeCounts& times, MetricLabels labels = {}) &;
};

// The families of one collection. References stay good while more are made. Whoever asks for one by
// a name that is there already adds to it: front ends count the same things.
class MetricFamilies {
 public:
  MetricFamily& Counter(std::string_view name, std::string_view help);
  MetricFamily& Gauge(std::string_view name, std::string_view help);
  MetricFamily& Times(std::string_view name, std::string_view help);

  // Those that have samples, in the order in which they were made.
  [[nodiscard]] std::vector<const MetricFamily*> all() const;

  // The value of one sample, for tests; -1 when there is none.
  [[nodiscard]] double Value(std::string_view name, const MetricLabels& labels = {}) const;

 private:
  MetricFamily& Make(std::string_view name, std::string_view help, MetricType type);

  std::vector<std::unique_ptr<MetricFamily>> families_;
};

// A part of the program that has figures to tell.
class MetricSource {
 public:
  virtual ~MetricSource() = default;
  MetricSource(const MetricSource&) = delete;
  MetricSource& operator=(const MetricSource&) = delete;

  // Adds families with the figures as they are now. Called from any thread, several at once, and
  // from event loops: no I/O that may hang, and no lock that is held during such I/O.
  virtual void Collect(MetricFamilies& families) const = 0;

 protected:
  MetricSource() = default;
};

}  // namespace keymill
