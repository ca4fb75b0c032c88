// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/engine_metrics.h"

#include <limits>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

class EngineMetricsTest : public EngineTestBase {
 protected:
  static double Value(const Engine& engine, const std::string& name, MetricLabels labels = {}) {
    MetricFamilies families;
    EngineMetrics(engine).Collect(families);
    return families.Value("keymill_" + name, labels);
  }
  static double Of(const Engine& engine, const std::string& name, const std::string& keyspace) {
    return Value(engine, name, {{"keyspace", keyspace}});
  }
  static double InState(const Engine& engine, const std::string& state) {
    return Value(engine, "keyspace_state", {{"keyspace", "k"}, {"state", state}});
  }
};

TEST_F(EngineMetricsTest, TellsWhatWasIssuedAndWhatIsHeld) {
  const auto engine = StartMemory(1000);
  CounterKeyspace& keyspace = Create(*engine, Orders(1, 5));
  EXPECT_EQ(Of(*engine, "keys_issued_total", "k"), 0);
  EXPECT_EQ(Of(*engine, "reservoir_numbers", "k"), 0);
  EXPECT_EQ(Of(*engine, "runway_seconds", "k"), 0) << "wanted, and nothing is held";
  engine->StepForTest();
  const double held = Of(*engine, "reservoir_numbers", "k");
  EXPECT_GT(held, 3);
  EXPECT_EQ(Of(*engine, "blocks_reserved_total", "k"), 1);
  EXPECT_EQ(Of(*engine, "runway_seconds", "k"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(keyspace.Take(3).count, 3U);
  EXPECT_EQ(Of(*engine, "keys_issued_total", "k"), 3);
  EXPECT_EQ(Of(*engine, "reservoir_numbers", "k"), held - 3);
  EXPECT_NEAR(Of(*engine, "capacity_used_ratio", "k"), held / 99'999, 1e-9);
  EXPECT_EQ(Of(*engine, "blocks_burned_total", "k"), 0);
  EXPECT_EQ(Of(*engine, "blocks_returned_total", "k"), 0);
  EXPECT_EQ(Value(*engine, "keyspaces"), 1);
  EXPECT_EQ(InState(*engine, "open"), 1);
  EXPECT_EQ(InState(*engine, "retired"), 0);
}

TEST_F(EngineMetricsTest, RunwayAndForecastFollowTheRate) {
  const auto engine = StartMemory(1000);
  CounterKeyspace& keyspace = Create(*engine, Orders(1, 9));
  engine->StepForTest();
  EXPECT_EQ(Of(*engine, "exhaustion_timestamp_seconds", "k"), -1) << "no demand, no date";
  EXPECT_EQ(keyspace.Take(100).count, 100U);
  clock_.Advance(std::chrono::seconds(1));
  engine->StepForTest();
  const double ahead = Of(*engine, "reservoir_numbers", "k");
  EXPECT_NEAR(Of(*engine, "runway_seconds", "k"), ahead / 100, 0.01);
  const double now = static_cast<double>(clock_.WallMs()) / 1000;
  const double left = 999'999'999 * (1 - Of(*engine, "capacity_used_ratio", "k"));
  EXPECT_NEAR(Of(*engine, "exhaustion_timestamp_seconds", "k"), now + left / 100, 1);
}

TEST_F(EngineMetricsTest, NumbersThatTheBlocklistSkipsAreNoKeys) {
  const auto engine = StartMemory(1000);
  Recipe recipe = Orders(1, 4);
  recipe.blocklist = {"013"};
  CounterKeyspace& keyspace = Create(*engine, recipe);
  EXPECT_EQ(Mint(*engine, keyspace, 50).size(), 50U);
  EXPECT_EQ(Of(*engine, "keys_issued_total", "k"), 50);
  EXPECT_EQ(keyspace.stats().issued, 51U) << "0013 is none";
}

TEST_F(EngineMetricsTest, ARetiredKeyspaceKeepsItsCountsAndHasNoFuture) {
  const auto engine = StartMemory();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  EXPECT_EQ(Mint(*engine, keyspace, 7).size(), 7U);
  ASSERT_TRUE(engine->Retire("k").ok());
  EXPECT_EQ(Of(*engine, "keys_issued_total", "k"), 7);
  EXPECT_EQ(InState(*engine, "retired"), 1);
  EXPECT_EQ(InState(*engine, "open"), 0);
  EXPECT_EQ(Of(*engine, "reservoir_numbers", "k"), 0);
  EXPECT_EQ(Of(*engine, "blocks_burned_total", "k"), 1) << "what it held is not used any more";
  EXPECT_EQ(Of(*engine, "runway_seconds", "k"), -1);
  EXPECT_EQ(Of(*engine, "exhaustion_timestamp_seconds", "k"), -1);
  ASSERT_TRUE(engine->Retire("k").ok());
  EXPECT_EQ(Of(*engine, "blocks_burned_total", "k"), 1) << "once";
}

TEST_F(EngineMetricsTest, TellsWhetherTheStoreIsThere) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  EXPECT_EQ(Value(*engine, "store_up"), 1);
  faults_->reserve.push_back({{Code::kUnavailable, "injected"}});
  faults_->reserve.push_back({{Code::kUnknownOutcome, "injected"}});
  engine->StepForTest();
  EXPECT_EQ(Value(*engine, "store_up"), 0);
  clock_.Advance(std::chrono::milliseconds(50));
  engine->StepForTest();
  EXPECT_EQ(Of(*engine, "blocks_burned_total", "k"), 1);
  clock_.Advance(std::chrono::milliseconds(50));
  engine->StepForTest();
  EXPECT_EQ(Value(*engine, "store_up"), 1);
  EXPECT_GT(keyspace.stats().ahead, 0U);
  for (const std::string outcome : {"ok", "unavailable", "unknown"}) {
    EXPECT_EQ(Value(*engine, "store_operation_duration_seconds",
                    {{"operation", "reserve"}, {"outcome", outcome}}),
              1)
        << outcome;
  }
}

TEST_F(EngineMetricsTest, DoesNotAskTheStore) {
  const auto engine = StartFaulty(Options());
  Create(*engine, Orders());
  engine->StepForTest();
  const int calls = faults_->reserve_calls;
  bool listed = false;
  faults_->after_list = [&listed] { listed = true; };
  Value(*engine, "store_up");
  EXPECT_EQ(faults_->reserve_calls, calls);
  EXPECT_FALSE(listed);
}

TEST_F(EngineMetricsTest, OnlySoManyKeyspacesHaveFiguresOfTheirOwn) {
  const auto engine = StartMemory();
  for (std::size_t i = 0; i < kMeteredKeyspacesMax + 2; ++i) {
    CounterKeyspace& keyspace = Create(*engine, Orders(), fmt::format("k{}", i));
    engine->WarmUp(keyspace);
    EXPECT_EQ(keyspace.Take(2).count, 2U);
  }
  EXPECT_EQ(Value(*engine, "keyspaces"), kMeteredKeyspacesMax + 2);
  EXPECT_EQ(Of(*engine, "keys_issued_total", fmt::format("k{}", kMeteredKeyspacesMax - 1)), 2);
  EXPECT_EQ(Of(*engine, "keys_issued_total", fmt::format("k{}", kMeteredKeyspacesMax)), -1);
  EXPECT_EQ(Of(*engine, "keys_issued_total", kOtherKeyspaces), 4);
  EXPECT_EQ(Of(*engine, "runway_seconds", kOtherKeyspaces), -1);
}

}  // namespace
}  // namespace keymill::mint
