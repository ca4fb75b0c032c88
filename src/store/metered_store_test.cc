// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/metered_store.h"

#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "keymill/key_table.h"

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

TEST(MeteredStoreTest, CountsCallsAboutSingleKeys) {
  const FakeClock clock;
  MeteredStore store(OpenMemoryStore(clock), clock);
  const MonotonicTime deadline = clock.Monotonic() + 1s;
  const NewKeyspace links{.name = "links",
                          .id = "id",
                          .recipe = "recipe",
                          .recipe_hash = "hash",
                          .secret = "",
                          .first = 0,
                          .end = 10};
  ASSERT_TRUE(store.CreateKeyspace(links, deadline).ok());
  KeyTable* const keys = store.key_table();
  ASSERT_NE(keys, nullptr);
  const KeyGuard guard{.keyspace_id = "id", .recipe_hash = "hash", .witness = {}};
  ASSERT_TRUE(keys->AddKeys(guard, {{.key = "k1"}}, deadline).ok());
  const KeyTable::TakeRequest take{.count = 1, .instance = "i", .token = "t"};
  EXPECT_TRUE(keys->TakeKeys(guard, take, deadline).ok());
  EXPECT_EQ(keys->TakeKeys(guard, take, deadline).code(), Code::kExhausted);
  const KeyChange release{.match = {.state = KeyState::kUsed}, .to = KeyState::kReleased};
  EXPECT_EQ(keys->ChangeKeys(guard, release, deadline)->rows.size(), 1U);
  EXPECT_TRUE(keys->FindKey("id", "k1", deadline)->has_value());
  EXPECT_FALSE(keys->FindIdentity("id", std::string(64, 'a'), deadline)->has_value());
  EXPECT_EQ(keys->ListKeys("id", {}, deadline)->rows.size(), 1U);
  EXPECT_TRUE(keys->CountKeys("id", deadline).ok());
  EXPECT_EQ(Calls(store, "take_keys", "refused"), 1);
  for (const char* const operation : {"add_keys", "take_keys", "change_keys", "find_key",
                                      "find_identity", "list_keys", "count_keys"}) {
    EXPECT_EQ(Calls(store, operation, "ok"), 1) << operation;
  }
}

}  // namespace
}  // namespace keymill::store
