// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "load/histogram.h"

namespace keymill::load {

// What happened in a time, on one thread or on all. Recording allocates nothing.
struct BenchStats {
  static constexpr std::size_t kStatuses = 1000;

  Histogram latency;  // Nanoseconds of the requests that succeeded.
  // Requests, by what became of them. `ok + errors()` is all of them.
  std::uint64_t ok = 0;
  std::array<std::uint64_t, kStatuses> by_status{};  // Answers other than 200.
  std::uint64_t lost = 0;                            // The connection ended before the answer.
  std::uint64_t malformed = 0;                       // The answer was none.
  std::uint64_t unanswered = 0;                      // No answer within five seconds of the end.
  std::uint64_t unsent = 0;   // Due, but no connection was free within a second of the end.
  std::uint64_t refused = 0;  // A connection could not be made.

  std::uint64_t knocks = 0;  // The same before the server was there: no request, no error.

  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;       // Received.
  std::uint64_t reconnects = 0;  // Connections that ended and had to be made again.

  void Add(const BenchStats& other);
  void Clear() { *this = BenchStats(); }

  [[nodiscard]] std::uint64_t errors() const;
  [[nodiscard]] double ErrorShare() const;  // Of all requests; 0 when there were none.
  // The errors by kind, in words: "503", "connection lost" …; no zeros.
  [[nodiscard]] std::map<std::string, std::uint64_t> ErrorKinds() const;
};

}  // namespace keymill::load
