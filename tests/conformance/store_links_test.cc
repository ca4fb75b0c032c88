// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys that lead somewhere, in every store that remembers keys.

#include "conformance/store_keys.h"

namespace keymill {
namespace {

KeyRow LinkRow(std::string key, std::string note, std::int64_t expires_at_ms = 0) {
  return {.key = std::move(key),
          .state = KeyState::kLink,
          .since_ms = 1'000,
          .token = "t",
          .expires_at_ms = expires_at_ms,
          .note = std::move(note)};
}

class StoreLinksTest : public KeyTableTest {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreLinksTest);
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreLinksTest, testing::ValuesIn(EveryStoreWithKeys()),
                         NameOf);

TEST_P(StoreLinksTest, GrowsByAnyNumberAndKeepsTheRest) {
  AddNew({LinkRow("one", "https://one.test/"), LinkRow("two", "https://two.test/", 9'000),
          Alias("alias")});
  const auto changed = Change({.match = {.keys = {"one", "two", "alias"}, .state = KeyState::kLink},
                               .to = KeyState::kLink,
                               .at_ms = 2'000,
                               .expires_at_ms = std::nullopt,
                               .generations = 1U << 31});
  EXPECT_EQ(changed.size(), 2U);
  KeyRow one = LinkRow("one", "https://one.test/");
  KeyRow two = LinkRow("two", "https://two.test/", 9'000);
  for (KeyRow* const row : {&one, &two}) {
    row->since_ms = 2'000;
    row->generation = std::uint64_t{1} << 31;
  }
  EXPECT_EQ(Find("one"), one);
  EXPECT_EQ(Find("two"), two);
  EXPECT_EQ(Find("alias"), Alias("alias"));
}

TEST_P(StoreLinksTest, GoesAndLeavesItsIdentityFree) {
  KeyRow link = LinkRow("one", "https://one.test/", 9'000);
  link.identity = Identity('a');
  AddNew({link, LinkRow("two", "https://two.test/")});
  const auto gone =
      Change({.match = {.state = KeyState::kLink, .token = "t", .expires_until_ms = 9'000}});
  EXPECT_EQ(gone, std::vector<KeyRow>{link});
  EXPECT_EQ(Find("one"), std::nullopt);
  link.key = "three";
  AddNew({link});
}

TEST_P(StoreLinksTest, StaysALink) {
  AddNew({LinkRow("one", "https://one.test/"), Available("two")});
  const auto refused = [&](KeyState from, KeyState to) {
    const KeyChange change{.match = {.state = from}, .to = to, .at_ms = 2'000};
    EXPECT_EQ(keys_->ChangeKeys(Guard(), change, Soon()).code(), Code::kInvalidArgument);
  };
  refused(KeyState::kLink, KeyState::kAvailable);
  refused(KeyState::kLink, KeyState::kNote);
  refused(KeyState::kAvailable, KeyState::kLink);
}

}  // namespace
}  // namespace keymill
