// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/process_metrics.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace keymill {
namespace {

std::optional<std::string> ReadWhole(const char* path) {
  std::ifstream file(path);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<double> Number(std::string_view text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return {};
  return static_cast<double>(number);
}

// What stands behind `name` at the beginning of a line.
std::optional<double> NumberAfter(std::string_view text, std::string_view name) {
  std::size_t at = text.starts_with(name) ? 0 : text.find("\n" + std::string(name));
  if (at == std::string_view::npos) return {};
  at = text.find_first_of("0123456789", at + name.size());
  return at == std::string_view::npos ? std::nullopt : Number(text.substr(at));
}

// Field `index`, counted from 1, of /proc/self/stat. The second one is the program's name, which
// may hold anything.
std::optional<double> StatField(std::string_view stat, int index) {
  std::size_t at = stat.rfind(')');
  if (at == std::string_view::npos) return {};
  stat.remove_prefix(at + 1);
  for (int field = 3;; ++field) {
    at = stat.find_first_not_of(' ');
    if (at == std::string_view::npos) return {};
    stat.remove_prefix(at);
    const std::string_view word = stat.substr(0, stat.find_first_of(" \n"));
    if (field == index) return Number(word);
    stat.remove_prefix(word.size());
  }
}

std::optional<double> OpenFiles() {
  // Linux 6.2 and later say it at once; to count thousands takes milliseconds.
  struct stat folder {};
  if (::stat("/proc/self/fd", &folder) != 0) return {};
  if (folder.st_size > 0) return static_cast<double>(folder.st_size);
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (error) return {};
  return static_cast<double>(std::distance(begin(files), end(files)) - 1);  // Its own.
}

void Add(MetricFamily& family, std::optional<double> value) {
  if (value) family.Add(*value);
}

}  // namespace

void ProcessMetrics::Collect(MetricFamilies& families) const {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    families
        .Counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.")
        .Add(seconds(usage.ru_utime) + seconds(usage.ru_stime));
  }
  Add(families.Gauge("process_open_fds", "Number of open file descriptors."), OpenFiles());
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families.Gauge("process_max_fds", "Maximum number of open file descriptors.")
        .Add(static_cast<double>(limit.rlim_cur));
  }
  const std::optional<std::string> stat = ReadWhole("/proc/self/stat");
  if (!stat) return;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  Add(families.Gauge("process_virtual_memory_bytes", "Virtual memory size in bytes."),
      StatField(*stat, 23));
  if (const auto pages = StatField(*stat, 24)) {
    families.Gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
        .Add(*pages * page);
  }
  Add(families.Gauge("process_threads", "Number of threads of the process."), StatField(*stat, 20));
  const std::optional<std::string> system = ReadWhole("/proc/stat");
  const auto boot = system ? NumberAfter(*system, "btime") : std::nullopt;
  const auto started = StatField(*stat, 22);
  if (boot && started) {
    families
        .Gauge("process_start_time_seconds",
               "Start time of the process since unix epoch in seconds.")
        .Add(*boot + *started / ticks);
  }
}

}  // namespace keymill
