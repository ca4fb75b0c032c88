// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the tests of pools share.

#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "mint/engine_test_support.h"
#include "mint/pool_keyspace.h"

namespace keymill::mint {

inline Recipe Pool(Audit audit, std::string alphabet = "base62", std::uint32_t length = 7) {
  Recipe recipe = DefaultRecipe(Kind::kPool);
  recipe.audit = audit;
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  return recipe;
}

class PoolTestBase : public EngineTestBase {
 protected:
  // Nobody fills the pool unless a test says so.
  static EngineOptions PoolOptionsOf(std::uint32_t block_size = 100, std::uint64_t low = 0) {
    EngineOptions options = Options(block_size);
    options.pool.low = low;
    return options;
  }
  // On the store that all engines of a test share, which fails on demand.
  std::unique_ptr<Engine> StartShared(EngineOptions options = PoolOptionsOf()) {
    return StartFaulty(std::move(options));
  }

  static Keyspace& MakePool(Engine& engine, const Recipe& recipe, std::uint64_t filled = 0) {
    const auto created = engine.Create("k", recipe);
    EXPECT_TRUE(created.ok()) << created.status().message();
    Fill(engine, filled);
    return *created->keyspace;
  }
  static void Fill(Engine& engine, std::uint64_t count) {
    const auto filled = engine.FillPool("k", count, {});
    EXPECT_TRUE(filled.ok()) << filled.status().message();
    EXPECT_EQ(filled->added, count);
  }

  static std::vector<std::string> TakeNow(Keyspace& keyspace, std::uint32_t count) {
    std::string text(count * (keyspace.key_size_max() + 1), '\0');
    text.resize(keyspace.TakeKeys(count, "\n", text.data()).bytes);
    std::vector<std::string> keys;
    std::istringstream in{text};
    for (std::string key; std::getline(in, key);) keys.push_back(key);
    return keys;
  }

  // As somebody who waits gets them, until `count` keys are there or a step brings nothing.
  static std::vector<std::string> Get(Engine& engine, Keyspace& keyspace, std::uint32_t count) {
    std::vector<std::string> keys;
    for (bool stuck = false;;) {
      const auto some = TakeNow(keyspace, count - static_cast<std::uint32_t>(keys.size()));
      keys.insert(keys.end(), some.begin(), some.end());
      if (keys.size() == count || (stuck && some.empty())) return keys;
      const auto waiter = keyspace.Await(count - keys.size(), [] {});
      engine.StepForTest();
      if (waiter.ok() && *waiter != 0) keyspace.Forget(*waiter);
      stuck = true;
    }
  }

  static std::uint64_t CountOf(Engine& engine, KeyState state) {
    const auto counts = engine.CountKeys("k");
    EXPECT_TRUE(counts.ok()) << counts.status().message();
    return counts.ok() ? counts->at(static_cast<std::size_t>(state)) : 0;
  }
  static KeyRow RowOf(Engine& engine, const std::string& key) {
    const auto row = engine.FindKey("k", key);
    EXPECT_TRUE(row.ok() && *row) << key;
    return row.ok() && *row ? **row : KeyRow{};
  }
  static std::set<std::string> SetOf(const std::vector<std::string>& keys) {
    return {keys.begin(), keys.end()};
  }

  // As a kill -9 does: nothing goes back.
  static void Kill(Engine& engine) { engine.Close(MonotonicTime::min()); }

  // A moment later the store is asked again.
  void Later(Engine& engine, std::chrono::milliseconds by = std::chrono::milliseconds(100)) {
    clock_.Advance(by);
    engine.StepForTest();
  }
};

}  // namespace keymill::mint
