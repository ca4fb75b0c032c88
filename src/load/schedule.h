// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// When requests are due, for a load that does not wait for the server.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "keymill/status.h"

#include "load/quantity.h"

namespace keymill::load {

// For `length`, requests per second from `rate_begin`, changing evenly, to `rate_end`.
struct Stage {
  Nanoseconds length{0};
  double rate_begin = 0;
  double rate_end = 0;
};

// "10s:1000,30s:5000": 1000/s for ten seconds, then 5000/s for thirty.
// "10s:0-1000,30s:1000": from 0 to 1000/s over ten seconds, then 1000/s for thirty.
// Errors: kInvalidArgument, with the stage that is none and the form expected.
Result<std::vector<Stage>> ParseStages(std::string_view text);

// The stages in turn. Immutable after construction.
class Schedule {
 public:
  // REQUIRES: every length is positive, no rate is negative.
  explicit Schedule(const std::vector<Stage>& stages);

  // The number of requests of all stages.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] Nanoseconds length() const { return length_; }

  // When request `index` (from 0) is due, from the beginning on; nothing behind the last.
  // Grows with `index`.
  [[nodiscard]] std::optional<Nanoseconds> DueOf(std::uint64_t index) const;

  // The rate that is wanted at a time; 0 behind the end.
  [[nodiscard]] double RateAt(Nanoseconds time) const;

 private:
  struct Step {
    Stage stage;
    double begin_seconds = 0;
    double begin_count = 0;  // Requests of the stages before it.
    double count = 0;        // Requests of this one.
  };
  std::vector<Step> steps_;
  std::uint64_t total_ = 0;
  Nanoseconds length_{0};
};

}  // namespace keymill::load
