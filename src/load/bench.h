// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The load generator behind `keymill bench`: connections on event loops, one loop a thread,
// every key through the duplicate check, every latency into a histogram.
//
// Closed loop (no stages): each connection keeps `pipeline` requests under way and sends the
// next one when an answer comes. That finds the most a server can do. Its latencies flatter a
// server that stalls: while it stalls, nobody sends the requests that would have waited
// (coordinated omission).
//
// Open loop (stages): requests are due at times that the server cannot change, and latency
// counts from the time a request was due, not from when a connection was free to send it.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "keymill/status.h"

#include "load/bench_stats.h"
#include "load/duplicate_finder.h"
#include "load/quantity.h"
#include "load/schedule.h"
#include "load/target.h"

namespace keymill::load {

struct BenchOptions {
  // Where the load goes: connections are dealt out evenly. At least one.
  std::vector<Target> targets;

  std::size_t connections = 64;  // Over all threads and targets.
  std::size_t pipeline = 1;      // Requests under way per connection, at most.
  std::size_t threads = 1;       // At most one per connection is used.

  // The end: after this time, or when so many requests were sent (0: no such end), whichever
  // comes first. With stages, their sum is the time. A closed loop also ends when no server
  // has shown a sign of life for 30 s.
  Nanoseconds duration = std::chrono::seconds(10);
  std::uint64_t requests = 0;

  // Open loop; empty means closed loop.
  std::vector<Stage> stages;

  // How long to wait for a server that is only about to start; 0: it must be there. Until the
  // first connection is made, those that are refused are tried again at once and are no
  // errors; whatever comes after it counts. The time is part of the run.
  Nanoseconds await{0};

  // Whether keys are compared, and with how much memory (see DuplicateFinderOptions).
  bool check = true;
  DuplicateFinderOptions finder;
};

struct BenchProgress {
  double seconds = 0;        // Since the beginning.
  double interval = 0;       // Seconds that `recent` covers.
  const BenchStats& recent;  // Since the last report.
  const BenchStats& total;
  double wanted_rate = 0;  // Open loop: requests per second that should be sent now.
  bool checked = false;
  std::uint64_t repeats = 0;  // Duplicates known so far.
  bool at_least = false;      // There may be more among the keys on disk.
  bool finishing = false;     // The load is over; keys on disk are being compared.
};

struct BenchResult {
  double seconds = 0;  // From the first connection to the last answer.
  BenchStats stats;
  bool open_loop = false;
  std::size_t threads = 0;

  // With BenchOptions::await: when the first connection was made, from the beginning on, and
  // how many had been refused until then.
  struct Awaited {
    double seconds = 0;
    std::uint64_t refused = 0;
  };
  std::optional<Awaited> awaited;

  // The duplicate check: exact. `checked` is false when it was off or failed.
  bool checked = false;
  Status check_failure;
  std::uint64_t repeats = 0;         // Keys that had been received before, each time counted.
  std::uint64_t duplicate_keys = 0;  // Different keys among them.
  std::vector<DuplicateFinder::Found> examples;  // Places count the keys received.
  double check_stalled_seconds = 0;              // How long the load waited for its own check.
};

// Puts load on the targets, calling `observe` about once a second on this thread, until the
// end or until `stop` is set, and reports. Whatever the servers do is part of the result.
// Errors: kUnavailable: none of the targets can be reached (in the time to wait for them), or
// this process has no more file descriptors. The message says which and why.
Result<BenchResult> RunBench(BenchOptions options,
                             const std::function<void(const BenchProgress&)>& observe,
                             const std::atomic<bool>& stop);

}  // namespace keymill::load
