// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/log.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/fork.h"
#include "base/json.h"
#include "base/mutex.h"

namespace keymill {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"trace", "debug", "info", "warn", "error"};
constexpr std::array<spdlog::level::level_enum, 5> kSpdlogLevels = {
    spdlog::level::trace, spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
    spdlog::level::err};

struct LogState {
  std::shared_ptr<spdlog::logger> logger;
  bool json = false;
};

Mutex write_mu;  // Held from the look at the pipe to the end of the write.
std::uint64_t dropped KEYMILL_GUARDED_BY(write_mu) = 0;  // Messages since one was written.
std::atomic<int> level_now{static_cast<int>(LogLevel::kInfo)};
constexpr int kOff = 99;

LogState& State() {
  static auto* const state = [] {
    auto* const fresh = new LogState;  // Never destroyed: threads may log at exit.
    fresh->logger = std::make_shared<spdlog::logger>(
        "keymill", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    fresh->logger->set_level(spdlog::level::trace);
    fresh->logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    return fresh;
  }();
  return *state;
}

void WriteLine(LogLevel level, std::string_view component, std::string_view message) {
  LogState& state = State();
  const auto index = static_cast<std::size_t>(level);
  if (!state.json) {
    state.logger->log(kSpdlogLevels.at(index), "{}: {}", component, message);
    return;
  }
  const auto now = spdlog::log_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  state.logger->log(kSpdlogLevels.at(index),
                    R"({{"ts":{}.{:03},"level":"{}","component":"{}",)"
                    R"("msg":{}}})",
                    ms / 1000, ms % 1000, kLevels.at(index), component, JsonQuote(message));
}

}  // namespace

Result<LogLevel> ParseLogLevel(std::string_view name) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels.at(i) == name) return static_cast<LogLevel>(i);
  }
  return Status(Code::kInvalidArgument,
                fmt::format("log level \"{}\": use trace, debug, info, warn or error", name));
}

std::string_view LogLevelName(LogLevel level) {
  return kLevels.at(static_cast<std::size_t>(level));
}

void SetUpLog(LogLevel level, LogFormat format) {
  LogState& state = State();
  state.json =
      format == LogFormat::kJson || (format == LogFormat::kAuto && ::isatty(STDERR_FILENO) == 0);
  state.logger->set_pattern(state.json ? "%v" : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  SetLogLevel(level);
}

void SetLogLevel(LogLevel level) {
  level_now.store(static_cast<int>(level), std::memory_order_relaxed);
}

void DisableLog() { level_now.store(kOff, std::memory_order_relaxed); }

bool LogIsJson() { return State().json; }

bool LogEnabled(LogLevel level) {
  return static_cast<int>(level) >= level_now.load(std::memory_order_relaxed);
}

void WriteLog(LogLevel level, std::string_view component, std::string_view message) {
  const ForkHold no_fork_while_the_sink_is_locked;
  const MutexLock one_at_a_time(write_mu);
  // Whoever does not read the log must not be able to stop the service.
  if (!WritableNow(STDERR_FILENO)) {
    ++dropped;
    return;
  }
  if (const std::uint64_t lost = std::exchange(dropped, 0); lost > 0) {
    WriteLine(LogLevel::kWarn, "log", fmt::format("{} messages were lost: nobody read them", lost));
  }
  WriteLine(level, component, message);
}

}  // namespace keymill
