// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/schedule.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace keymill::load {
namespace {

constexpr double kRateMax = 1e9;

double Seconds(Nanoseconds time) { return static_cast<double>(time.count()) / 1e9; }

std::optional<double> ParseRate(std::string_view text) {
  const std::optional<double> rate = ParseNumber(text);
  if (!rate || *rate > kRateMax) return {};
  return rate;
}

std::optional<Stage> ParseStage(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const std::optional<Nanoseconds> length = ParseTime(text.substr(0, colon));
  const std::string_view rates = text.substr(colon + 1);
  const std::size_t dash = rates.find('-');
  const std::optional<double> begin = ParseRate(rates.substr(0, dash));
  const std::optional<double> end =
      dash == std::string_view::npos ? begin : ParseRate(rates.substr(dash + 1));
  if (!length || length->count() == 0 || !begin || !end) return {};
  return Stage{*length, *begin, *end};
}

}  // namespace

Result<std::vector<Stage>> ParseStages(std::string_view text) {
  std::vector<Stage> stages;
  for (;;) {
    const std::string_view one = text.substr(0, text.find(','));
    const std::optional<Stage> stage = ParseStage(one);
    if (!stage) {
      return {Code::kInvalidArgument,
              fmt::format("read stages: \"{}\" is not DURATION:RATE, such as 10s:1000, or "
                          "DURATION:RATE-RATE for a ramp",
                          one)};
    }
    stages.push_back(*stage);
    if (one.size() == text.size()) return stages;
    text.remove_prefix(one.size() + 1);
  }
}

Schedule::Schedule(const std::vector<Stage>& stages) {
  double count = 0;
  for (const Stage& stage : stages) {
    Step step;
    step.stage = stage;
    step.begin_seconds = Seconds(length_);
    step.begin_count = count;
    step.count = Seconds(stage.length) * (stage.rate_begin + stage.rate_end) / 2;
    count += step.count;
    length_ += stage.length;
    steps_.push_back(step);
  }
  // Sums of fractions may end a hair below the whole number that is meant.
  total_ = static_cast<std::uint64_t>(count + 1e-6);
}

std::optional<Nanoseconds> Schedule::DueOf(std::uint64_t index) const {
  if (index >= total_) return {};
  const auto wanted = static_cast<double>(index);
  const auto after = std::upper_bound(
      steps_.begin(), steps_.end(), wanted,
      [](double value, const Step& step) { return value < step.begin_count + step.count; });
  const Step& step = after == steps_.end() ? steps_.back() : *after;
  const double into = std::max(0.0, wanted - step.begin_count);
  // into = begin * t + slope * t^2 / 2, solved for t in the form that stays exact when the
  // slope is small.
  const double begin = step.stage.rate_begin;
  const double slope = (step.stage.rate_end - begin) / Seconds(step.stage.length);
  const double root = std::sqrt(std::max(0.0, begin * begin + 2 * slope * into));
  const double seconds = into == 0 ? 0 : 2 * into / (begin + root);
  return Nanoseconds(std::llround((step.begin_seconds + seconds) * 1e9));
}

double Schedule::RateAt(Nanoseconds time) const {
  Nanoseconds begin{0};
  for (const Step& step : steps_) {
    if (time < begin + step.stage.length) {
      const double share = Seconds(time - begin) / Seconds(step.stage.length);
      return step.stage.rate_begin + share * (step.stage.rate_end - step.stage.rate_begin);
    }
    begin += step.stage.length;
  }
  return 0;
}

}  // namespace keymill::load
