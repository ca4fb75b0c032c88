// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Looking at the keys of a keyspace: lists, filters and counts.

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/store_keys.h"

namespace keymill {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class StoreKeyListTest : public KeyTableTest {};
// On etcd, which remembers no keys.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreKeyListTest);
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreKeyListTest, testing::ValuesIn(EveryStoreWithKeys()),
                         NameOf);

TEST_P(StoreKeyListTest, ManyPagesHaveEveryRow) {
  constexpr int kKeys = 1'234;
  const auto pool = Pool(kKeys);
  AddNew(pool);
  int pages = 0;
  const auto rows = List({.rows_max = 100}, &pages);
  EXPECT_EQ(rows.size(), pool.size());
  EXPECT_GT(pages, 2);
  EXPECT_EQ(List({.rows_max = KeyTable::kKeysMax}).size(), pool.size());
  std::set<std::string> keys;
  for (const KeyRow& row : pool) keys.insert(row.key);
  for (const KeyRow& row : rows) {
    EXPECT_EQ(keys.erase(row.key), 1U);
    EXPECT_EQ(row, Available(row.key));
  }
}

TEST_P(StoreKeyListTest, APageOfOneGoesOn) {
  AddNew({Available("a", 1), Available("b", 1), Available("c", 2), Alias("d"), Note("e", "n")});
  int pages = 0;
  EXPECT_THAT(KeysOf(List({.rows_max = 1}, &pages)), ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_GE(pages, 5);
}

TEST_P(StoreKeyListTest, AnEmptyTableHasOneEmptyPage) {
  EXPECT_THAT(List({}), IsEmpty());
  EXPECT_EQ(Count(), KeyTable::Counts{});
}

TEST_P(StoreKeyListTest, FiltersByStateTimeAndInstance) {
  for (const int i : {1, 2, 3, 4, 5}) {
    AddNew({Available("k" + std::to_string(i))});
    auto request = Take(1);
    request.at_ms = i * 1'000;
    request.instance = i % 2 == 0 ? "even" : "odd";
    ASSERT_EQ(TakeSome(request).size(), 1U);
  }
  AddNew({Alias("alias"), Available("left", 3'000)});
  const auto keys = [&](KeyTable::Query query) {
    query.rows_max = 2;
    return KeysOf(List(query));
  };
  EXPECT_THAT(keys({.state = KeyState::kUsed}), ElementsAre("k1", "k2", "k3", "k4", "k5"));
  EXPECT_THAT(keys({.state = KeyState::kAvailable}), ElementsAre("left"));
  EXPECT_THAT(keys({.state = KeyState::kReleased}), IsEmpty());
  EXPECT_THAT(keys({.state = KeyState::kUsed, .since_ms = 2'000, .until_ms = 4'000}),
              ElementsAre("k2", "k3"));
  EXPECT_THAT(keys({.since_ms = 3'000}), ElementsAre("k3", "k4", "k5", "left"));
  EXPECT_THAT(keys({.until_ms = 2'000}), ElementsAre("alias", "k1"));
  EXPECT_THAT(keys({.instance = "even"}), ElementsAre("k2", "k4"));
  EXPECT_THAT(keys({.state = KeyState::kUsed, .since_ms = 2'000, .instance = "odd"}),
              ElementsAre("k3", "k5"));
  EXPECT_THAT(keys({.instance = "nobody"}), IsEmpty());
}

TEST_P(StoreKeyListTest, CountsEachState) {
  KeyRow released = Available("released");
  released.state = KeyState::kReleased;
  AddNew({Alias("a1"), Alias("a2"), Derived("d", Identity('a')), Note("n", "n"), released});
  AddNew(Pool(10));
  TakeSome(Take(3));
  auto reserve = Take(2);
  reserve.to = KeyState::kReserved;
  TakeSome(reserve);
  EXPECT_THAT(Count(), ElementsAre(5, 2, 3, 1, 2, 1, 1, 0));
  Change({.match = {.state = KeyState::kNote}, .to = {}});
  Change({.match = {.state = KeyState::kReserved}, .to = KeyState::kAvailable, .at_ms = 5'000});
  EXPECT_THAT(Count(), ElementsAre(7, 0, 3, 1, 2, 1, 0, 0));
}

TEST_P(StoreKeyListTest, AnUnknownKeyspaceIsNotFound) {
  EXPECT_EQ(keys_->FindKey("nobody", "k", Soon()).code(), Code::kNotFound);
  EXPECT_EQ(keys_->FindIdentity("nobody", Identity('a'), Soon()).code(), Code::kNotFound);
  EXPECT_EQ(keys_->ListKeys("nobody", {}, Soon()).code(), Code::kNotFound);
  EXPECT_EQ(keys_->CountKeys("nobody", Soon()).code(), Code::kNotFound);
}

TEST_P(StoreKeyListTest, APageHasAtLeastOneRowAndNotTooMany) {
  EXPECT_EQ(keys_->ListKeys(keyspace_.id, {.rows_max = 0}, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(keys_->ListKeys(keyspace_.id, {.rows_max = KeyTable::kKeysMax + 1}, Soon()).code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace keymill
