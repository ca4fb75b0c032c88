// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/bench_stats.h"

#include <numeric>

namespace keymill::load {

void BenchStats::Add(const BenchStats& other) {
  latency.Add(other.latency);
  for (std::size_t i = 0; i < kStatuses; ++i) by_status[i] += other.by_status[i];
  ok += other.ok;
  lost += other.lost;
  malformed += other.malformed;
  unanswered += other.unanswered;
  unsent += other.unsent;
  refused += other.refused;
  knocks += other.knocks;
  keys += other.keys;
  bytes += other.bytes;
  reconnects += other.reconnects;
}

std::uint64_t BenchStats::errors() const {
  return std::accumulate(by_status.begin(), by_status.end(), std::uint64_t{0}) + lost + malformed +
         unanswered + unsent + refused;
}

double BenchStats::ErrorShare() const {
  const std::uint64_t failed = errors();
  return failed == 0 ? 0.0 : static_cast<double>(failed) / static_cast<double>(ok + failed);
}

std::map<std::string, std::uint64_t> BenchStats::ErrorKinds() const {
  std::map<std::string, std::uint64_t> kinds;
  for (std::size_t i = 0; i < kStatuses; ++i) kinds[std::to_string(i)] = by_status[i];
  kinds["connection lost"] = lost;
  kinds["malformed answer"] = malformed;
  kinds["no answer"] = unanswered;
  kinds["not sent in time"] = unsent;
  kinds["connection refused"] = refused;
  std::erase_if(kinds, [](const auto& kind) { return kind.second == 0; });
  return kinds;
}

}  // namespace keymill::load
