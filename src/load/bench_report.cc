// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/bench_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"

namespace keymill::load {
namespace {

struct Point {
  std::string_view name;
  double share;
};
constexpr std::array<Point, 5> kPoints = {
    {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}}};

std::string At(const Histogram& latency, double share) {
  return TimeText(static_cast<double>(latency.Percentile(share)));
}

double PerSecond(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

std::string RateText(std::uint64_t count, double seconds) {
  return CountText(static_cast<std::uint64_t>(std::llround(PerSecond(count, seconds)))) + "/s";
}

std::string DuplicatesText(const BenchProgress& progress) {
  if (!progress.checked) return "not checked";
  return fmt::format("{}{}", progress.at_least ? "at least " : "", CountText(progress.repeats));
}

std::string Kinds(const BenchStats& stats) {
  std::string text;
  for (const auto& [kind, count] : stats.ErrorKinds()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", CountText(count), kind);
  }
  return text;
}

std::string_view LoopText(bool open) {
  return open ? "open loop: latency counts from the time a request was due"
              : "closed loop: a stalled server is asked less, so stalls weigh less than they "
                "would on users; --rate measures those";
}

std::string DuplicateLines(const BenchResult& result) {
  std::string text;
  for (const auto& [key, seen] : result.examples) {
    text += fmt::format("  {}  {} times, first as key {}, again as key {}\n", key, seen.count,
                        CountText(seen.first), CountText(seen.second));
  }
  if (result.duplicate_keys > result.examples.size()) {
    text +=
        fmt::format("  … and {} more\n", CountText(result.duplicate_keys - result.examples.size()));
  }
  return text;
}

std::string CheckLine(const BenchResult& result) {
  if (!result.check_failure.ok()) {
    return fmt::format("unknown: {}", result.check_failure.message());
  }
  if (!result.checked) return "not checked";
  return fmt::format("{} among {} keys, compared byte by byte", CountText(result.repeats),
                     CountText(result.stats.keys));
}

}  // namespace

std::string ProgressLine(const BenchProgress& progress) {
  const BenchStats& recent = progress.recent;
  return fmt::format(
      "{:>5.0f} s  {:>12}  p50 {:>7}  p99 {:>7}  max {:>7}  errors {}  "
      "duplicates {}\n",
      progress.seconds, RateText(recent.ok, progress.interval), At(recent.latency, 0.5),
      At(recent.latency, 0.99), At(recent.latency, 1), CountText(progress.total.errors()),
      DuplicatesText(progress));
}

std::string ProgressScreen(const BenchProgress& progress, const BenchSetup& setup) {
  const BenchStats& recent = progress.recent;
  const BenchStats& total = progress.total;
  std::string text = fmt::format("keymill bench  {}  {} connections x {}  {:.0f} s{}\n",
                                 fmt::join(setup.urls, " "), setup.connections, setup.pipeline,
                                 progress.seconds, progress.finishing ? "  checking keys …" : "");
  text += fmt::format(
      "  rate        {:>14}   over all {}{}\n", RateText(recent.ok, progress.interval),
      RateText(total.ok, progress.seconds),
      progress.wanted_rate > 0 ? fmt::format("   wanted {:.0f}/s", progress.wanted_rate) : "");
  text += fmt::format("  keys        {:>14}   over all {}\n",
                      RateText(recent.keys, progress.interval), CountText(total.keys));
  for (const auto& [name, histogram] :
       {std::pair("latency", &recent.latency), std::pair("over all", &total.latency)}) {
    text += fmt::format("  {:<10}", name);
    for (const Point& point : kPoints) {
      text += fmt::format("  {} {:>7}", point.name, At(*histogram, point.share));
    }
    text += fmt::format("  max {:>7}\n", At(*histogram, 1));
  }
  const std::string kinds = Kinds(total);
  text += fmt::format("  errors      {:>14}   {}\n", CountText(total.errors()), kinds);
  text += fmt::format("  duplicates  {:>14}\n", DuplicatesText(progress));
  return text;
}

std::string ResultTable(const BenchResult& result, const BenchSetup& setup,
                        const std::vector<Verdict>& verdicts) {
  const BenchStats& stats = result.stats;
  std::string text = fmt::format("{}\n{} connections, pipeline {}, {} threads, {:.1f} s\n{}\n\n",
                                 fmt::join(setup.urls, "\n"), setup.connections, setup.pipeline,
                                 result.threads, result.seconds, LoopText(result.open_loop));
  text +=
      fmt::format("requests    {}  {}\n", CountText(stats.ok), RateText(stats.ok, result.seconds));
  text += fmt::format("keys        {}  {}\n", CountText(stats.keys),
                      RateText(stats.keys, result.seconds));
  text += fmt::format("received    {:.1f} MB/s\n", PerSecond(stats.bytes, result.seconds) / 1e6);
  text += "latency   ";
  for (const Point& point : kPoints) {
    text += fmt::format("  {} {}", point.name, At(stats.latency, point.share));
  }
  text += fmt::format("  max {}\n", At(stats.latency, 1));
  text += fmt::format("errors      {}  {:.3g}%  {}\n", CountText(stats.errors()),
                      stats.ErrorShare() * 100, Kinds(stats));
  if (result.awaited) {
    text += fmt::format("awaited     {:.3f} s, {} connections refused until then\n",
                        result.awaited->seconds, CountText(result.awaited->refused));
  }
  if (stats.reconnects > 0) {
    text += fmt::format("reconnects  {}\n", CountText(stats.reconnects));
  }
  text += fmt::format("duplicates  {}\n{}", CheckLine(result), DuplicateLines(result));
  if (result.check_stalled_seconds > 0.01) {
    text += fmt::format(
        "note        the load waited {:.2f} s for its own duplicate check; "
        "--no-check shows what the server can do\n",
        result.check_stalled_seconds);
  }
  for (const Verdict& verdict : verdicts) {
    text += fmt::format("{}      {}  ({})\n", verdict.failed ? "FAILED" : "passed",
                        verdict.threshold.text, verdict.value);
  }
  return text;
}

namespace {

std::string LatencyJson(const Histogram& latency) {
  std::string text;
  for (const Point& point : kPoints) {
    text += fmt::format("\"{}\":{:.4f},", point.name,
                        static_cast<double>(latency.Percentile(point.share)) / 1e6);
  }
  return fmt::format("{{{}\"max\":{:.4f},\"mean\":{:.4f}}}", text,
                     static_cast<double>(latency.max()) / 1e6, latency.Mean() / 1e6);
}

std::string ErrorsJson(const BenchStats& stats) {
  std::string kinds;
  for (const auto& [kind, count] : stats.ErrorKinds()) {
    kinds += fmt::format("{}{}:{}", kinds.empty() ? "" : ",", JsonQuote(kind), count);
  }
  return fmt::format("{{\"total\":{},\"share\":{:.6f},\"kinds\":{{{}}}}}", stats.errors(),
                     stats.ErrorShare(), kinds);
}

std::string DuplicatesJson(const BenchResult& result) {
  if (!result.checked) {
    return fmt::format(
        "{{\"checked\":false,\"failure\":{}}}",
        result.check_failure.ok() ? "null" : JsonQuote(result.check_failure.message()));
  }
  std::string examples;
  for (const auto& [key, seen] : result.examples) {
    examples += fmt::format("{}{{\"key\":{},\"count\":{},\"first\":{},\"second\":{}}}",
                            examples.empty() ? "" : ",", JsonQuote(key), seen.count, seen.first,
                            seen.second);
  }
  return fmt::format("{{\"checked\":true,\"count\":{},\"keys\":{},\"examples\":[{}]}}",
                     result.repeats, result.duplicate_keys, examples);
}

std::string AwaitedJson(const BenchResult& result) {
  if (!result.awaited) return "null";
  return fmt::format("{{\"seconds\":{:.4f},\"refused\":{}}}", result.awaited->seconds,
                     result.awaited->refused);
}

std::string VerdictsJson(const std::vector<Verdict>& verdicts) {
  std::string text;
  for (const Verdict& verdict : verdicts) {
    text +=
        fmt::format("{}{{\"rule\":{},\"value\":{},\"failed\":{}}}", text.empty() ? "" : ",",
                    JsonQuote(verdict.threshold.text), JsonQuote(verdict.value), verdict.failed);
  }
  return fmt::format("[{}]", text);
}

}  // namespace

std::string ResultJson(const BenchResult& result, const BenchSetup& setup,
                       const std::vector<Verdict>& verdicts) {
  const BenchStats& stats = result.stats;
  std::string urls;
  for (const std::string& url : setup.urls) {
    urls += fmt::format("{}{}", urls.empty() ? "" : ",", JsonQuote(url));
  }
  std::string text = fmt::format(
      "{{\"urls\":[{}],\"connections\":{},\"pipeline\":{},\"threads\":{},\"loop\":\"{}\","
      "\"seconds\":{:.3f},\"requests\":{},\"ok\":{},\"keys\":{},\"requests_per_second\":{:.1f},"
      "\"keys_per_second\":{:.1f},\"bytes_received\":{}",
      urls, setup.connections, setup.pipeline, result.threads, result.open_loop ? "open" : "closed",
      result.seconds, stats.ok + stats.errors(), stats.ok, stats.keys,
      PerSecond(stats.ok, result.seconds), PerSecond(stats.keys, result.seconds), stats.bytes);
  text += fmt::format(
      ",\"latency_ms\":{},\"errors\":{},\"reconnects\":{},\"awaited\":{},\"duplicates\":{},"
      "\"check_stalled_seconds\":{:.3f},\"rules\":{},\"passed\":{}}}\n",
      LatencyJson(stats.latency), ErrorsJson(stats), stats.reconnects, AwaitedJson(result),
      DuplicatesJson(result), result.check_stalled_seconds, VerdictsJson(verdicts),
      Passed(result, verdicts));
  return text;
}

bool Passed(const BenchResult& result, const std::vector<Verdict>& verdicts) {
  return result.stats.ok > 0 && result.repeats == 0 && result.check_failure.ok() &&
         std::none_of(verdicts.begin(), verdicts.end(),
                      [](const Verdict& verdict) { return verdict.failed; });
}

}  // namespace keymill::load
