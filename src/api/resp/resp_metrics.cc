// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/resp/resp_metrics.h"

#include <string>
#include <utility>

namespace keymill::api::resp {

void RespMetrics::Collect(MetricFamilies& families) const {
  std::array<std::pair<std::uint64_t, std::uint64_t>, kVerbCount + 1> sums{};
  TimeCounts times;
  counters_.ForEach([&](const RespCounters& counters) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i].first += counters.commands[i].answered.value();
      sums[i].second += counters.commands[i].refused.value();
    }
    counters.times.AddTo(times);
  });
  MetricFamily& commands = families.Counter(
      "keymill_resp_commands_total",
      "RESP commands, by name and by whether the answer was an error; only those that occurred.");
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::string name = i < kVerbCount ? std::string(Commands()[i].name) : "unknown";
    const auto add = [&](std::uint64_t count, const char* outcome) {
      if (count == 0) return;
      commands.Add(static_cast<double>(count), {{"command", name}, {"outcome", outcome}});
    };
    add(sums[i].first, "ok");
    add(sums[i].second, "error");
  }
  families
      .Times("keymill_resp_duration_seconds",
             "From the beginning of the event loop's round that read a command to the moment when "
             "its answer is handed to the system.")
      .Add(times);
}

}  // namespace keymill::api::resp
