// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/bench_command.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/cli.h"
#include "load/bench.h"
#include "load/bench_report.h"
#include "load/threshold.h"

namespace keymill::app {
namespace {

// As the command line says them. What is "" was not said.
struct BenchFlags {
  std::vector<std::string> urls;
  std::size_t connections = 64;
  std::size_t pipeline = 1;
  std::size_t threads = 0;  // 0: half of the processors; the server may need the others.
  std::string duration;
  std::string await;
  std::uint64_t requests = 0;
  std::string rate;
  std::string stages;
  std::string keyspace;
  std::uint64_t count = 0;
  bool no_check = false;
  std::string memory;
  std::string temp_dir;
  bool no_live = false;
  std::vector<std::string> fail_if;
  std::string save;
  std::string output = "table";
};

constexpr std::string_view kDefaultUrl = "http://127.0.0.1:8080";
constexpr std::chrono::hours kForever{24 * 1000};

Status Usage(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

Status ReadTargets(const BenchFlags& flags, load::BenchOptions& options) {
  if (flags.count > 0 && flags.keyspace.empty()) return Usage("--count needs --keyspace");
  const load::TargetRequest request{flags.keyspace, std::max<std::uint64_t>(flags.count, 1)};
  std::vector<std::string> urls = flags.urls;
  if (urls.empty()) urls.emplace_back(kDefaultUrl);
  for (const std::string& url : urls) {
    Result<load::Target> target = load::ParseTarget(url, request);
    if (!target.ok()) return target.status();
    options.targets.push_back(std::move(*target));
  }
  if (flags.connections < options.targets.size()) {
    return Usage(fmt::format("--connections {} cannot reach {} URLs", flags.connections,
                             options.targets.size()));
  }
  return {};
}

// How long, how many, how fast.
Status ReadLoad(const BenchFlags& flags, load::BenchOptions& options) {
  options.requests = flags.requests;
  if (flags.requests > 0) options.duration = kForever;
  if (!flags.duration.empty()) {
    const auto duration = load::ParseTime(flags.duration);
    if (!duration || duration->count() == 0) {
      return Usage(
          fmt::format("--duration \"{}\" is no time such as 10s or 500ms", flags.duration));
    }
    options.duration = *duration;
  }
  if (!flags.await.empty()) {
    const auto await = load::ParseTime(flags.await);
    if (!await || await->count() == 0) {
      return Usage(fmt::format("--await \"{}\" is no time such as 10s or 500ms", flags.await));
    }
    options.await = *await;
  }
  if (!flags.stages.empty()) {
    Result<std::vector<load::Stage>> stages = load::ParseStages(flags.stages);
    if (!stages.ok()) return stages.status();
    options.stages = std::move(*stages);
  }
  if (!flags.rate.empty()) {
    const auto rate = load::ParseNumber(flags.rate);
    if (!rate || *rate <= 0 || *rate > 1e9) {
      return Usage(
          fmt::format("--rate \"{}\" is no number of requests per second such as 5000 "
                      "or 50k",
                      flags.rate));
    }
    options.stages = {{options.duration, *rate, *rate}};
  }
  return {};
}

Status ReadCheck(const BenchFlags& flags, load::BenchOptions& options) {
  options.check = !flags.no_check;
  const char* const tmpdir = std::getenv("TMPDIR");
  options.finder.temp_dir = !flags.temp_dir.empty() ? flags.temp_dir
                            : tmpdir != nullptr     ? tmpdir
                                                    : "/tmp";
  if (flags.memory.empty()) return {};
  const auto memory = load::ParseSize(flags.memory);
  if (!memory || *memory == 0) {
    return Usage(fmt::format("--memory \"{}\" is no size such as 256M or 1G", flags.memory));
  }
  const auto present = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (*memory > present) {
    return Usage(fmt::format("--memory {} is more than this machine has ({}M)", flags.memory,
                             present >> 20));
  }
  options.finder.memory_max = *memory;
  return {};
}

Result<load::BenchOptions> ReadOptions(const BenchFlags& flags) {
  load::BenchOptions options;
  options.connections = flags.connections;
  options.pipeline = flags.pipeline;
  options.threads =
      flags.threads > 0 ? flags.threads : std::max(1U, std::thread::hardware_concurrency() / 2);
  if (Status status = ReadTargets(flags, options); !status.ok()) return status;
  if (Status status = ReadLoad(flags, options); !status.ok()) return status;
  if (Status status = ReadCheck(flags, options); !status.ok()) return status;
  return options;
}

Result<std::vector<load::Threshold>> ReadRules(const BenchFlags& flags) {
  std::vector<load::Threshold> rules;
  for (const std::string& text : flags.fail_if) {
    Result<std::vector<load::Threshold>> some = load::ParseThresholds(text);
    if (!some.ok()) return some;
    for (load::Threshold& rule : *some) {
      if (flags.no_check && rule.metric == load::Threshold::Metric::kDuplicates) {
        return Usage(
            fmt::format("--fail-if {} needs the check that --no-check turns off", rule.text));
      }
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

Status RaiseFileLimit(std::size_t connections) {
  const rlim_t needed = connections + 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return {};
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, needed);
  if (limit.rlim_cur < needed || ::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {Code::kUnavailable,
            fmt::format("open {} connections: this process may have {} files open (ulimit -Hn)",
                        connections, limit.rlim_max)};
  }
  fmt::print(stderr, "keymill: file limit raised from {} to {}\n", before, needed);
  return {};
}

std::atomic<bool> stop_requested{false};

// The first Ctrl-C ends the load and shows what was measured; the second one the program.
void StopOnSignal() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_requested.store(true); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

// The view of a running load, on stderr: on a terminal one screen, else a line a second.
class LiveView {
 public:
  LiveView(const load::BenchSetup& setup, bool screen) : setup_(setup), screen_(screen) {}

  void Show(const load::BenchProgress& progress) {
    if (!screen_) {
      if (!progress.finishing) fmt::print(stderr, "{}", load::ProgressLine(progress));
      return;
    }
    Wipe();
    const std::string text = load::ProgressScreen(progress, setup_);
    lines_ = std::count(text.begin(), text.end(), '\n');
    fmt::print(stderr, "{}", text);
  }
  // Takes the screen away.
  void Wipe() {
    if (lines_ > 0) fmt::print(stderr, "\x1b[{}A\x1b[J", lines_);
    lines_ = 0;
  }

 private:
  const load::BenchSetup& setup_;
  const bool screen_;
  std::ptrdiff_t lines_ = 0;
};

// Opened before the load: a run whose result cannot be kept is not worth its time.
Result<std::unique_ptr<std::ofstream>> OpenSave(const std::string& path) {
  if (path.empty()) return std::unique_ptr<std::ofstream>();
  auto file = std::make_unique<std::ofstream>(path);
  if (!*file) return {Code::kUnavailable, fmt::format("write {}: cannot open it", path)};
  return file;
}

int Explain(const load::BenchResult& result, const std::vector<load::Verdict>& verdicts) {
  if (!result.check_failure.ok()) {
    fmt::print(stderr, "keymill: the duplicate check failed: {}\n", result.check_failure.message());
  }
  if (result.repeats > 0) fmt::print(stderr, "keymill: {} duplicates\n", result.repeats);
  if (result.stats.ok == 0) fmt::print(stderr, "keymill: no request succeeded\n");
  for (const load::Verdict& verdict : verdicts) {
    if (!verdict.failed) continue;
    fmt::print(stderr, "keymill: failed: {} ({})\n", verdict.threshold.text, verdict.value);
  }
  return load::Passed(result, verdicts) ? kExitOk : kExitFailure;
}

int RunBench(const BenchFlags& flags) {
  Result<load::BenchOptions> options = ReadOptions(flags);
  if (!options.ok()) return Fail(options.status());
  const Result<std::vector<load::Threshold>> rules = ReadRules(flags);
  if (!rules.ok()) return Fail(rules.status());
  if (Status status = RaiseFileLimit(flags.connections); !status.ok()) return Fail(status);
  const Result<std::unique_ptr<std::ofstream>> save = OpenSave(flags.save);
  if (!save.ok()) return Fail(save.status());

  load::BenchSetup setup{{}, flags.connections, flags.pipeline};
  for (const load::Target& target : options->targets) setup.urls.push_back(target.url);
  LiveView view(setup, !flags.no_live && ::isatty(STDERR_FILENO) == 1);
  StopOnSignal();
  const Result<load::BenchResult> result = load::RunBench(
      std::move(*options), [&](const load::BenchProgress& progress) { view.Show(progress); },
      stop_requested);
  view.Wipe();
  if (!result.ok()) return Fail(result.status());

  std::vector<load::Verdict> verdicts;
  for (const load::Threshold& rule : *rules) verdicts.push_back(load::Judge(rule, *result));
  const std::string json = load::ResultJson(*result, setup, verdicts);
  fmt::print("{}", flags.output == "json" ? json : load::ResultTable(*result, setup, verdicts));
  std::fflush(stdout);
  const int code = Explain(*result, verdicts);
  if (*save != nullptr && !(**save << json << std::flush)) {
    return Fail({Code::kUnavailable, fmt::format("write {}: it failed", flags.save)});
  }
  return code;
}

void AddLoadFlags(CLI::App& verb, BenchFlags& flags) {
  verb.add_option("URL", flags.urls,
                  "Servers (http://127.0.0.1:8080); a path may follow; redis:// for RESP")
      ->type_name("");
  verb.add_option("-c,--connections", flags.connections, "Connections over all URLs (64)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  verb.add_option("--pipeline", flags.pipeline, "Requests under way per connection (1)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  verb.add_option("--threads", flags.threads, "Event loops (half of the processors)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  CLI::Option* const duration =
      verb.add_option("--duration", flags.duration, "How long (10s)")->type_name("TIME");
  verb.add_option("--await", flags.await,
                  "Knock for so long until a server is there; refusals before are no errors")
      ->type_name("TIME");
  verb.add_option("-n,--requests", flags.requests, "End after so many requests")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50))
      ->type_name("N");
  CLI::Option* const rate =
      verb.add_option("--rate", flags.rate,
                      "Requests per second over all, whatever the server does (open loop); "
                      "latency counts from the time a request was due")
          ->type_name("R");
  verb.add_option("--stages", flags.stages,
                  "Rates in turn: 10s:1000,30s:5000; 10s:0-1000 is a ramp")
      ->type_name("STAGES")
      ->excludes(rate)
      ->excludes(duration);
  verb.add_option("--keyspace", flags.keyspace, "POST for keys of this keyspace")
      ->type_name("NAME");
  verb.add_option("--count", flags.count, "Keys per request (1)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100'000'000}))
      ->type_name("N");
}

void AddReportFlags(CLI::App& verb, BenchFlags& flags) {
  verb.add_flag("--no-check", flags.no_check, "Do not look for duplicates");
  verb.add_option("--memory", flags.memory,
                  "Memory for the duplicate check; more keys than fit go to disk (256M)")
      ->type_name("SIZE");
  verb.add_option("--temp-dir", flags.temp_dir, "Where to spill to ($TMPDIR)")->type_name("DIR");
  verb.add_flag("--no-live", flags.no_live, "A line a second instead of the live view");
  verb.add_option("--fail-if", flags.fail_if,
                  "Exit 1 if so: p99>5ms, errors>0.1%, duplicates>0, rate<1000; repeatable")
      ->type_name("RULE")
      ->take_all()
      ->expected(1);
  verb.add_option("--save", flags.save, "Write the result as JSON")->type_name("FILE");
  verb.add_option("-o,--output", flags.output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
}

}  // namespace

void AddBench(CLI::App& app, std::function<int()>& run) {
  CLI::App* const verb =
      app.add_subcommand("bench", "Put load on servers, measure, and find duplicate keys");
  const auto flags = std::make_shared<BenchFlags>();
  AddLoadFlags(*verb, *flags);
  AddReportFlags(*verb, *flags);
  verb->callback([flags, &run] { run = [flags] { return RunBench(*flags); }; });
}

}  // namespace keymill::app
