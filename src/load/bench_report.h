// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A load run in words: as it goes, and when it is over. Only text is made here; nothing is
// printed.

#pragma once

#include <string>
#include <vector>

#include "load/bench.h"
#include "load/threshold.h"

namespace keymill::load {

// What a report repeats of the run's set-up.
struct BenchSetup {
  std::vector<std::string> urls;
  std::size_t connections = 0;
  std::size_t pipeline = 0;
};

// One line about the last interval, with its LF.
std::string ProgressLine(const BenchProgress& progress);

// The same as a screen of a few lines, for a terminal that shows only the newest.
std::string ProgressScreen(const BenchProgress& progress, const BenchSetup& setup);

// The outcome for people, the duplicates with examples.
std::string ResultTable(const BenchResult& result, const BenchSetup& setup,
                        const std::vector<Verdict>& verdicts);

// The outcome for programs: one JSON object, with its LF. Members are added, never changed.
std::string ResultJson(const BenchResult& result, const BenchSetup& setup,
                       const std::vector<Verdict>& verdicts);

// Whether the run was good: some request succeeded, no duplicates, the check (if it was
// wanted) came to its end, no rule failed.
bool Passed(const BenchResult& result, const std::vector<Verdict>& verdicts);

}  // namespace keymill::load
