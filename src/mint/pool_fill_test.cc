// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/pool_fill.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/pool_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class PoolFillTest : public PoolTestBase {
 protected:
  static std::vector<std::string> AllKeys(Engine& engine) {
    std::vector<std::string> keys;
    KeyTable::Query query;
    do {
      const auto page = engine.ListKeys("k", query);
      for (const KeyRow& row : page->rows) keys.push_back(row.key);
      query.cursor = page->cursor;
    } while (!query.cursor.empty());
    return keys;
  }
};

TEST_F(PoolFillTest, AddsAsManyAsAskedForInBatchesAndTellsSo) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch, "base32", 8);
  recipe.prefix = "inv_";
  recipe.check = CheckSymbol::kAppended;
  MakePool(*engine, recipe);
  std::vector<std::uint64_t> told;
  const auto filled =
      engine->FillPool("k", 4'500, [&](std::uint64_t keys) { told.push_back(keys); });
  ASSERT_TRUE(filled.ok()) << filled.status().message();
  EXPECT_EQ(filled->added, 4'500U);
  EXPECT_EQ(told, (std::vector<std::uint64_t>{2'000, 4'000, 4'500}));
  const auto keys = AllKeys(*engine);
  EXPECT_EQ(SetOf(keys).size(), 4'500U);
  const auto shape = keys::KeyShape::Make(recipe);
  for (const auto& key : keys) EXPECT_TRUE(shape->Check(key).ok()) << key;
}

// The share of each symbol, 62 of which do not divide 256.
TEST_F(PoolFillTest, EverySymbolIsAsLikelyAsAnyOther) {
  const auto engine = StartShared();
  MakePool(*engine, Pool(Audit::kBatch, "base62", 20), 10'000);
  std::map<char, int> counts;
  for (const auto& key : AllKeys(*engine)) {
    for (const char symbol : key) ++counts[symbol];
  }
  EXPECT_EQ(counts.size(), 62U);
  // 3226 each, and five times the deviation of chance.
  for (const auto& each : counts) EXPECT_NEAR(each.second, 3'226, 285) << each.first;
}

TEST_F(PoolFillTest, NeverMakesAUsedKeyAgain) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kKey, "decimal", 3), 500);
  const auto used = SetOf(Get(*engine, keyspace, 200));
  ASSERT_EQ(used.size(), 200U);
  const auto filled = engine->FillPool("k", 100, {});
  ASSERT_TRUE(filled.ok()) << filled.status().message();
  EXPECT_GT(filled->met, 0U);
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 200U);
  for (const auto& key : Get(*engine, keyspace, 500)) EXPECT_FALSE(used.contains(key));
}

TEST_F(PoolFillTest, APoolThatIsNearlyFullIsSaidToBe) {
  const auto engine = StartShared();
  MakePool(*engine, Pool(Audit::kBatch, "decimal", 3));
  const auto filled = engine->FillPool("k", 2'000, {});
  EXPECT_EQ(filled.code(), Code::kExhausted);
  EXPECT_THAT(filled.status().message(), HasSubstr("longer keys"));
  EXPECT_GT(CountOf(*engine, KeyState::kAvailable), 700U);
}

// A few that are met by chance do not make a half-full pool a full one.
TEST_F(PoolFillTest, AFewMoreFitIntoAHalfFullPool) {
  const auto engine = StartShared();
  MakePool(*engine, Pool(Audit::kBatch, "decimal", 3), 400);
  for (int i = 0; i < 60; ++i) Fill(*engine, 1);
}

TEST_F(PoolFillTest, SkipsWhatTheBlocklistHas) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch, "decimal", 4);
  recipe.blocklist = {"111", "222"};
  MakePool(*engine, recipe, 3'000);
  for (const auto& key : AllKeys(*engine)) {
    EXPECT_EQ(key.find("111"), std::string::npos);
    EXPECT_EQ(key.find("222"), std::string::npos);
  }
}

TEST_F(PoolFillTest, ABatchWithoutAnAnswerIsCountedOnce) {
  const auto engine = StartShared();
  MakePool(*engine, Pool(Audit::kBatch));
  faults_->add_keys.push_back({{Code::kUnknownOutcome, "lost"}, Faults::When::kAfter});
  Fill(*engine, 3'000);
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable), 3'000U);
}

TEST_F(PoolFillTest, AStoreThatIsSlowForAMomentIsAskedAgain) {
  const auto engine = StartShared();
  ASSERT_TRUE(engine->Create("k", Pool(Audit::kBatch)).ok());
  for (int i = 0; i < 4; ++i) {
    faults_->add_keys.push_back({{Code::kUnavailable, "no answer by the deadline"}});
  }
  const auto fill = engine->FillPool("k", 100, {});
  ASSERT_TRUE(fill.ok()) << fill.status().message();
  EXPECT_EQ(fill->added, 100U);
}

TEST_F(PoolFillTest, OnlyAPoolIsFilled) {
  const auto engine = StartShared();
  Create(*engine, Orders(), "orders");
  EXPECT_EQ(engine->FillPool("orders", 1, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(engine->FillPool("nobody", 1, {}).code(), Code::kNotFound);
}

}  // namespace
}  // namespace keymill::mint
