// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/engine_metrics.h"

#include <limits>
#include <string>

#include "mint/forecast.h"
#include "mint/kinds.h"

namespace keymill::mint {
namespace {

double AsDouble(std::uint64_t number) { return static_cast<double>(number); }

// The families that have a sample for each keyspace.
class PerKeyspace {
 public:
  explicit PerKeyspace(MetricFamilies& families)
      : issued_(families.Counter("keymill_keys_issued_total", "Keys handed out by this instance.")),
        waits_(families.Counter("keymill_reservoir_waits_total",
                                "How often a request found no number and waited for a block.")),
        waiting_(families.Gauge("keymill_requests_waiting",
                                "Requests that wait for a block right now.")),
        reserved_(families.Counter("keymill_blocks_reserved_total",
                                   "Blocks of numbers that the store granted.")),
        burned_(families.Counter("keymill_blocks_burned_total",
                                 "Blocks given up, with numbers that will never be used.")),
        returned_(families.Counter("keymill_blocks_returned_total",
                                   "Blocks whose unused numbers went back to the store.")),
        ahead_(families.Gauge("keymill_reservoir_numbers",
                              "Numbers that this instance holds and can turn into keys without "
                              "the store.")),
        runway_(families.Gauge("keymill_runway_seconds",
                               "How long those last at the present rate. +Inf without demand.")),
        used_(families.Gauge("keymill_capacity_used_ratio",
                             "Share of the keyspace that was reserved by any instance, as last "
                             "seen in the store.")),
        exhaustion_(families.Gauge("keymill_exhaustion_timestamp_seconds",
                                   "When the keyspace will be used up, at the present rate or the "
                                   "average one if that is higher. Left out beyond 10000 years.")),
        available_(families.Gauge("keymill_pool_available_keys",
                                  "Keys in the pool that any instance may take, as last counted.")),
        state_(
            families.Gauge("keymill_keyspace_state", "1 for the state that the keyspace is in.")) {}

  void Add(Keyspace& keyspace, std::int64_t now_ms) {
    const MetricLabels labels = {{"keyspace", keyspace.name()}};
    const Keyspace::Stats stats = keyspace.stats();
    AddCounts(stats, labels);
    if (!IsEndless(keyspace.recipe().kind)) AddAhead(stats, labels);
    for (const KeyspaceState state : {KeyspaceState::kOpen, KeyspaceState::kQuarantined,
                                      KeyspaceState::kRetired, KeyspaceState::kSealed}) {
      state_.Add(stats.state == state ? 1 : 0,
                 {labels.front(), {"state", std::string(KeyspaceStateName(state))}});
    }
    if (IsEndless(keyspace.recipe().kind)) return;  // Nothing runs low.
    if (stats.available) available_.Add(AsDouble(*stats.available), labels);
    const std::uint64_t used = stats.next - keyspace.begin();
    const bool counted = !IsStoredByKey(keyspace.recipe().kind);  // By numbers, that is.
    if (counted) used_.Add(AsDouble(used) / AsDouble(keyspace.capacity()), labels);
    if (stats.state == KeyspaceState::kRetired) return;  // Nobody waits for what is over.
    // With nothing held the rate says nothing: it falls while everybody waits.
    if (stats.wanted) {
      runway_.Add(stats.ahead == 0  ? 0
                  : stats.rate <= 0 ? std::numeric_limits<double>::infinity()
                                    : AsDouble(stats.ahead) / stats.rate,
                  labels);
    }
    if (!counted) return;
    const auto exhausted_at_ms = ExhaustedAtMs({.used = used,
                                                .left = keyspace.capacity() - used,
                                                .rate = stats.rate,
                                                .created_at_ms = keyspace.created_at_ms()},
                                               now_ms);
    if (exhausted_at_ms) exhaustion_.Add(static_cast<double>(*exhausted_at_ms) / 1000, labels);
  }

  void AddCounts(const Keyspace::Stats& stats, const MetricLabels& labels) {
    issued_.Add(AsDouble(stats.keys), labels);
    waits_.Add(AsDouble(stats.waited), labels);
    waiting_.Add(AsDouble(stats.waiting), labels);
    reserved_.Add(AsDouble(stats.blocks_reserved), labels);
    burned_.Add(AsDouble(stats.blocks_burned), labels);
    returned_.Add(AsDouble(stats.blocks_returned), labels);
  }
  void AddAhead(const Keyspace::Stats& stats, const MetricLabels& labels) {
    ahead_.Add(AsDouble(stats.ahead), labels);
  }

 private:
  MetricFamily& issued_;
  MetricFamily& waits_;
  MetricFamily& waiting_;
  MetricFamily& reserved_;
  MetricFamily& burned_;
  MetricFamily& returned_;
  MetricFamily& ahead_;
  MetricFamily& runway_;
  MetricFamily& used_;
  MetricFamily& exhaustion_;
  MetricFamily& available_;
  MetricFamily& state_;
};

void AddUp(Keyspace::Stats& sum, const Keyspace::Stats& stats) {
  sum.keys += stats.keys;
  sum.waited += stats.waited;
  sum.waiting += stats.waiting;
  sum.blocks_reserved += stats.blocks_reserved;
  sum.blocks_burned += stats.blocks_burned;
  sum.blocks_returned += stats.blocks_returned;
  sum.ahead += stats.ahead;
}

}  // namespace

void EngineMetrics::Collect(MetricFamilies& families) const {
  const std::vector<Keyspace*> keyspaces = engine_.Known();
  const std::int64_t now_ms = engine_.clock().WallMs();
  PerKeyspace each(families);
  Keyspace::Stats others;
  for (std::size_t i = 0; i < keyspaces.size(); ++i) {
    if (i < kMeteredKeyspacesMax) {
      each.Add(*keyspaces[i], now_ms);
    } else {
      AddUp(others, keyspaces[i]->stats());
    }
  }
  if (keyspaces.size() > kMeteredKeyspacesMax) {
    each.AddCounts(others, {{"keyspace", kOtherKeyspaces}});
    each.AddAhead(others, {{"keyspace", kOtherKeyspaces}});
  }
  families.Gauge("keymill_keyspaces", "Keyspaces that this instance has used so far.")
      .Add(AsDouble(keyspaces.size()));
  families
      .Gauge("keymill_store_up",
             "1 when the last attempt to reach the store succeeded, 0 when it did not.")
      .Add(engine_.store_up() ? 1 : 0);
  families
      .Gauge("keymill_store_unsafe",
             "1 while the store has settings under which it can lose what it has acknowledged, "
             "refused or accepted.")
      .Add(engine_.store_safety().verdict().ok() && engine_.store_safety().accepted_risk().empty()
               ? 0
               : 1);
  families
      .Gauge("keymill_store_unsafe_accepted",
             "1 while such a store is used because of accept_unsafe_store.")
      .Add(engine_.store_safety().accepted_risk().empty() ? 0 : 1);
  engine_.store_metrics().Collect(families);
}

}  // namespace keymill::mint
