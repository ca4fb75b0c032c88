// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The log, on stderr: text for people, JSON for machines. Issued keys never appear in it
// above trace level; an unguessable key is somebody's secret.

#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "keymill/status.h"

namespace keymill {

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat : std::uint8_t { kAuto, kText, kJson };

// trace | debug | info | warn | error
Result<LogLevel> ParseLogLevel(std::string_view name);
std::string_view LogLevelName(LogLevel level);

// Before the first message; text and info until then. kAuto is text on a terminal and JSON
// otherwise. A library that embeds Keymill may turn the log off.
void SetUpLog(LogLevel level, LogFormat format);
void DisableLog();

// From any thread, at any time: messages of this level and above are written from now on. Also
// turns on a log that was off.
void SetLogLevel(LogLevel level);

// Whether messages are written as JSON.
bool LogIsJson();

// Whether a message of this level would be written.
bool LogEnabled(LogLevel level);

// `component` is the room that speaks: "mint", "store", "http".
void WriteLog(LogLevel level, std::string_view component, std::string_view message);

template <typename... Args>
void Log(LogLevel level, std::string_view component, fmt::format_string<Args...> format,
         Args&&... args) {
  if (!LogEnabled(level)) return;
  WriteLog(level, component, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace keymill
