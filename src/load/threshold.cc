// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/threshold.h"

#include <optional>

#include <fmt/format.h>

namespace keymill::load {
namespace {

using Metric = Threshold::Metric;

bool IsLatency(Metric metric) {
  return metric == Metric::kPercentile || metric == Metric::kMax || metric == Metric::kMean;
}

bool ReadMetric(std::string_view name, Threshold& threshold) {
  if (name == "max")
    threshold.metric = Metric::kMax;
  else if (name == "mean")
    threshold.metric = Metric::kMean;
  else if (name == "errors")
    threshold.metric = Metric::kErrors;
  else if (name == "duplicates")
    threshold.metric = Metric::kDuplicates;
  else if (name == "rate")
    threshold.metric = Metric::kRate;
  else if (name == "keys")
    threshold.metric = Metric::kKeys;
  else {
    if (!name.starts_with('p')) return false;
    const std::optional<double> percent = ParseNumber(name.substr(1));
    if (!percent || *percent <= 0 || *percent > 100) return false;
    threshold.metric = Metric::kPercentile;
    threshold.share = *percent / 100;
  }
  return true;
}

bool ReadLimit(std::string_view text, Threshold& threshold) {
  if (IsLatency(threshold.metric)) {
    const std::optional<Nanoseconds> time = ParseTime(text);
    if (time) threshold.limit = static_cast<double>(time->count());
    return time.has_value();
  }
  const bool share = threshold.metric == Metric::kErrors && text.ends_with('%');
  if (share) text.remove_suffix(1);
  const std::optional<double> number = ParseNumber(text);
  if (!number) return false;
  threshold.limit = share ? *number / 100 : *number;
  if (share) threshold.metric = Metric::kErrorShare;
  return true;
}

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<Threshold> ReadOne(std::string_view text) {
  Threshold threshold;
  threshold.text = text;
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) return {};
  threshold.greater = text[sign] == '>';
  if (!ReadMetric(Trim(text.substr(0, sign)), threshold)) return {};
  if (!ReadLimit(Trim(text.substr(sign + 1)), threshold)) return {};
  return threshold;
}

// Nothing when it was not measured.
std::optional<double> Measured(const Threshold& threshold, const BenchResult& result) {
  const BenchStats& stats = result.stats;
  if (IsLatency(threshold.metric) && stats.ok == 0) return {};
  switch (threshold.metric) {
    case Metric::kPercentile:
      return static_cast<double>(stats.latency.Percentile(threshold.share));
    case Metric::kMax:
      return static_cast<double>(stats.latency.max());
    case Metric::kMean:
      return stats.latency.Mean();
    case Metric::kErrors:
      return static_cast<double>(stats.errors());
    case Metric::kErrorShare:
      return stats.ErrorShare();
    case Metric::kDuplicates:
      if (!result.checked) return {};
      return static_cast<double>(result.repeats);
    case Metric::kRate:
      return static_cast<double>(stats.ok) / result.seconds;
    case Metric::kKeys:
      return static_cast<double>(stats.keys) / result.seconds;
  }
  return {};
}

std::string ValueText(Metric metric, double value) {
  if (IsLatency(metric)) return TimeText(value);
  if (metric == Metric::kErrorShare) return fmt::format("{:.3g}%", value * 100);
  if (metric == Metric::kRate || metric == Metric::kKeys) return fmt::format("{:.0f}/s", value);
  return fmt::format("{:.0f}", value);
}

}  // namespace

Result<std::vector<Threshold>> ParseThresholds(std::string_view text) {
  std::vector<Threshold> thresholds;
  for (;;) {
    const std::string_view one = text.substr(0, text.find(','));
    std::optional<Threshold> threshold = ReadOne(Trim(one));
    if (!threshold) {
      return {Code::kInvalidArgument,
              fmt::format("read rule \"{}\": expected a metric (p50 … p99.9, max, mean, errors, "
                          "duplicates, rate, keys), > or <, and a value, such as p99>5ms, "
                          "errors>0.1% or rate<1000",
                          one)};
    }
    thresholds.push_back(std::move(*threshold));
    if (one.size() == text.size()) return thresholds;
    text.remove_prefix(one.size() + 1);
  }
}

Verdict Judge(const Threshold& threshold, const BenchResult& result) {
  const std::optional<double> value = Measured(threshold, result);
  if (!value) return {threshold, true, "not measured"};
  const bool failed = threshold.greater ? *value > threshold.limit : *value < threshold.limit;
  return {threshold, failed, ValueText(threshold.metric, *value)};
}

}  // namespace keymill::load
