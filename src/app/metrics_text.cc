// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/metrics_text.h"

#include <limits>
#include <vector>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace keymill::app {
namespace {

constexpr double kNsPerSecond = 1e9;

prometheus::MetricType TypeOf(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return prometheus::MetricType::Counter;
    case MetricType::kGauge:
      return prometheus::MetricType::Gauge;
    case MetricType::kTimes:
      break;
  }
  return prometheus::MetricType::Histogram;
}

prometheus::ClientMetric::Histogram HistogramOf(const TimeCounts& times) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_sum = static_cast<double>(times.sum_ns) / kNsPerSecond;
  for (std::size_t i = 0; i < times.buckets.size(); ++i) {
    histogram.sample_count += times.buckets.at(i);
    const double bound = i < kTimeBoundsNs.size()
                             ? static_cast<double>(kTimeBoundsNs.at(i)) / kNsPerSecond
                             : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({.cumulative_count = histogram.sample_count, .upper_bound = bound});
  }
  return histogram;
}

prometheus::ClientMetric Convert(const MetricFamily::Sample& sample, MetricType type) {
  prometheus::ClientMetric metric;
  for (const auto& [name, value] : sample.labels) metric.label.push_back({name, value});
  if (type == MetricType::kCounter) metric.counter.value = sample.value;
  if (type == MetricType::kGauge) metric.gauge.value = sample.value;
  if (type == MetricType::kTimes) metric.histogram = HistogramOf(sample.times);
  return metric;
}

}  // namespace

std::string MetricsText(const MetricFamilies& families) {
  std::vector<prometheus::MetricFamily> converted;
  for (const MetricFamily* const family : families.all()) {
    prometheus::MetricFamily& target = converted.emplace_back();
    target.name = family->name;
    target.help = family->help;
    target.type = TypeOf(family->type);
    for (const MetricFamily::Sample& sample : family->samples) {
      target.metric.push_back(Convert(sample, family->type));
    }
  }
  return prometheus::TextSerializer().Serialize(converted);
}

}  // namespace keymill::app
