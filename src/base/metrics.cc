// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/metrics.h"

#include <numeric>

#include "base/check.h"

namespace keymill {

std::uint64_t TimeCounts::count() const {
  return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

void OwnedTimes::AddTo(TimeCounts& sum) const {
  for (std::size_t i = 0; i < buckets_.size(); ++i) sum.buckets[i] += buckets_[i].value();
  sum.sum_ns += sum_ns_.value();
}

void SharedTimes::AddTo(TimeCounts& sum) const {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    sum.buckets[i] += buckets_[i].load(std::memory_order_relaxed);
  }
  sum.sum_ns += sum_ns_.load(std::memory_order_relaxed);
}

MetricFamily& MetricFamily::Add(double value, MetricLabels labels) & {
  samples.push_back({std::move(labels), value});
  return *this;
}

MetricFamily& MetricFamily::Add(const TimeCounts& times, MetricLabels labels) & {
  samples.push_back({std::move(labels), 0, times});
  return *this;
}

MetricFamily& MetricFamilies::Make(std::string_view name, std::string_view help, MetricType type) {
  for (const auto& family : families_) {
    if (family->name == name) return *family;
  }
  families_.push_back(std::make_unique<MetricFamily>(
      MetricFamily{.name = std::string(name), .help = std::string(help), .type = type}));
  return *families_.back();
}

MetricFamily& MetricFamilies::Counter(std::string_view name, std::string_view help) {
  KEYMILL_CHECK(name.ends_with("_total"));
  return Make(name, help, MetricType::kCounter);
}

MetricFamily& MetricFamilies::Gauge(std::string_view name, std::string_view help) {
  return Make(name, help, MetricType::kGauge);
}

MetricFamily& MetricFamilies::Times(std::string_view name, std::string_view help) {
  KEYMILL_CHECK(name.ends_with("_seconds"));
  return Make(name, help, MetricType::kTimes);
}

std::vector<const MetricFamily*> MetricFamilies::all() const {
  std::vector<const MetricFamily*> all;
  for (const auto& family : families_) {
    if (!family->samples.empty()) all.push_back(family.get());
  }
  return all;
}

double MetricFamilies::Value(std::string_view name, const MetricLabels& labels) const {
  for (const auto& family : families_) {
    if (family->name != name) continue;
    for (const MetricFamily::Sample& sample : family->samples) {
      if (sample.labels != labels) continue;
      return family->type == MetricType::kTimes ? static_cast<double>(sample.times.count())
                                                : sample.value;
    }
  }
  return -1;
}

}  // namespace keymill
