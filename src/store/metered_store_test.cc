// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/metered_store.h"

#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"
#include "support/fake_clock.h"

namespace keymill::store {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "keymill_store_operation_duration_seconds";

double Calls(const MeteredStore& store, const char* operation, const char* outcome) {
  MetricFamilies families;
  store.Collect(families);
  return families.Value(kName, {{"operation", operation}, {"outcome", outcome}});
}

TEST(MeteredStoreTest, CountsCallsByOperationAndOutcome) {
  const FakeClock clock;
  MeteredStore store(OpenMemoryStore(clock), clock);
  const MonotonicTime deadline = clock.Monotonic() + 1s;
  MetricFamilies nothing;
  store.Collect(nothing);
  EXPECT_TRUE(nothing.all().empty());
  EXPECT_TRUE(store.Establish({.keyspaces = {}, .instance = "i"}, deadline).ok());
  EXPECT_TRUE(store.Identity(deadline).ok());
  EXPECT_TRUE(store.ListKeyspaces(deadline).ok());
  EXPECT_TRUE(store.ListKeyspaces(deadline).ok());
  EXPECT_EQ(store.FindKeyspace("nobody", deadline).code(), Code::kNotFound);
  EXPECT_EQ(Calls(store, "identity", "ok"), 1);
  EXPECT_EQ(Calls(store, "establish", "ok"), 1);
  EXPECT_EQ(Calls(store, "list", "ok"), 2);
  EXPECT_EQ(Calls(store, "find", "refused"), 1);
  EXPECT_EQ(Calls(store, "find", "ok"), -1) << "what never occurred is left out";
}

}  // namespace
}  // namespace keymill::store
