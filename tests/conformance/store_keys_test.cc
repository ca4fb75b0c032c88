// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys that are added, taken and changed one by one.

#include "conformance/store_keys.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class StoreWithOrWithoutKeysTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreWithOrWithoutKeysTest, testing::ValuesIn(EveryStore()),
                         NameOf);

TEST_P(StoreWithOrWithoutKeysTest, SaysWhetherItRemembersKeys) {
  EXPECT_EQ(store_->key_table() != nullptr, GetParam().remembers_keys);
}

class StoreKeysTest : public KeyTableTest {
 protected:
  void TearDown() override {
    if (HasFailure()) return;
    // Whatever a test did, each row is counted once.
    KeyTable::Counts listed{};
    for (const KeyRow& row : List({})) ++listed.at(static_cast<std::size_t>(row.state));
    EXPECT_EQ(Count(), listed);
  }
};
// On etcd, which remembers no keys.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreKeysTest);
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreKeysTest, testing::ValuesIn(EveryStoreWithKeys()),
                         NameOf);

TEST_P(StoreKeysTest, WhatIsAddedIsFoundWithAllThatItHas) {
  KeyRow full{.key = "k1",
              .state = KeyState::kReserved,
              .since_ms = 1'750'000'000'123,
              .instance = "host/1",
              .token = RandomHex(16),
              .owner = "\xc3\x84nne \xf0\x9f\x94\x91",
              .identity = Identity('a'),
              .expires_at_ms = 1'760'000'000'456,
              .generation = 7};
  AddNew({full, Available("k2")});
  EXPECT_EQ(Find("k1"), full);
  EXPECT_EQ(Find("k2"), Available("k2"));
  EXPECT_EQ(Find("k3"), std::nullopt);
  const auto twin = keys_->FindIdentity(keyspace_.id, Identity('a'), Soon());
  ASSERT_TRUE(twin.ok()) << twin.status().message();
  EXPECT_EQ(*twin, full);
  EXPECT_EQ(*keys_->FindIdentity(keyspace_.id, Identity('b'), Soon()), std::nullopt);
}

TEST_P(StoreKeysTest, AKeyThatIsThereStaysAsItIs) {
  AddNew({Alias("home", "ann")});
  const auto added = Add({Alias("home", "bob"), Alias("away", "bob")});
  EXPECT_EQ(added.present[0], Alias("home", "ann"));
  EXPECT_EQ(added.present[1], std::nullopt);
  EXPECT_EQ(Find("home")->owner, "ann");
  EXPECT_EQ(Find("away")->owner, "bob");
}

TEST_P(StoreKeysTest, AnIdentityThatIsThereIsFoundBeforeAKey) {
  AddNew({Derived("k1", Identity('a')), Derived("k2", Identity('b'))});
  const auto added = Add({Derived("k9", Identity('a')), Derived("k1", Identity('b')),
                          Derived("k1", Identity('c')), Derived("k3", Identity('c'))});
  EXPECT_EQ(added.present[0], Derived("k1", Identity('a'))) << "its content has a key";
  EXPECT_EQ(added.present[1], Derived("k2", Identity('b'))) << "the identity comes first";
  EXPECT_EQ(added.present[2], Derived("k1", Identity('a'))) << "other content has the key";
  EXPECT_EQ(added.present[3], std::nullopt);
  EXPECT_EQ(Find("k9"), std::nullopt);
  EXPECT_EQ(Count()[static_cast<std::size_t>(KeyState::kDerived)], 3U);
}

TEST_P(StoreKeysTest, OfTwoInOneCallTheSecondFindsTheFirst) {
  const auto added = Add({Alias("home", "ann"), Alias("home", "bob"), Derived("k1", Identity('a')),
                          Derived("k2", Identity('a')), Derived("k1", Identity('b'))});
  EXPECT_EQ(added.present[0], std::nullopt);
  EXPECT_EQ(added.present[1], Alias("home", "ann"));
  EXPECT_EQ(added.present[2], std::nullopt);
  EXPECT_EQ(added.present[3], Derived("k1", Identity('a')));
  EXPECT_EQ(added.present[4], Derived("k1", Identity('a')));
  EXPECT_THAT(KeysOf(List({})), ElementsAre("home", "k1"));
}

TEST_P(StoreKeysTest, AnyNumberHasNoIdentity) {
  AddNew({Alias("a"), Alias("b")});
  AddNew({Alias("c"), Alias("d")});
  EXPECT_EQ(Count()[static_cast<std::size_t>(KeyState::kAlias)], 4U);
}

TEST_P(StoreKeysTest, AUsedKeyIsNeverMadeAvailableByAddingItAgain) {
  AddNew(Pool(3));
  ASSERT_EQ(TakeSome(Take(3, "t1")).size(), 3U);
  for (const auto& present : Add(Pool(3)).present) {
    ASSERT_TRUE(present.has_value());
    EXPECT_EQ(present->state, KeyState::kUsed);
    EXPECT_EQ(present->token, "t1");
  }
  EXPECT_EQ(keys_->TakeKeys(Guard(), Take(1), Soon()).code(), Code::kExhausted);
}

TEST_P(StoreKeysTest, TheSameKeyInTwoKeyspacesIsTwoKeys) {
  const KeyspaceRecord other = Create(0, 10, "other");
  AddNew({Alias("home", "ann"), Derived("k", Identity('a'))});
  const auto added =
      keys_->AddKeys(Guard(other), {Alias("home", "bob"), Derived("k", Identity('a'))}, Soon());
  ASSERT_TRUE(added.ok()) << added.status().message();
  EXPECT_EQ(added->present[0], std::nullopt);
  EXPECT_EQ(added->present[1], std::nullopt);
  EXPECT_EQ((*keys_->FindKey(other.id, "home", Soon()))->owner, "bob");
  EXPECT_EQ(Find("home")->owner, "ann");
  EXPECT_EQ(keys_->TakeKeys(Guard(other), Take(1), Soon()).code(), Code::kExhausted);
}

TEST_P(StoreKeysTest, KeysAreBytes) {
  std::vector<KeyRow> rows;
  for (const std::string key :
       {"abc", "ABC",   "Abc", "a%c", "a_c",   "a'c", "a\\c", "a\"c", "a?c", "a c", "a ", "a",
        " a",  "{abc}", "a:c", "a*c", "a;c--", "$1",  "~",    "null", "0",   "00",  "0.0"}) {
    rows.push_back(Alias(key, "owner of " + key));
  }
  rows.push_back(Alias(std::string(kStoredKeySizeMax, 'x')));
  AddNew(rows);
  for (const KeyRow& row : rows) EXPECT_EQ(Find(row.key), row) << row.key;
  EXPECT_EQ(Find("aBC"), std::nullopt);
  EXPECT_EQ(Find("a%"), std::nullopt);
  EXPECT_EQ(List({.rows_max = 5}).size(), rows.size());
  const auto changed =
      Change({.match = {.keys = {"ABC", "a'c", "a_c", "a ", "ab%"}, .state = KeyState::kAlias},
              .to = KeyState::kReleased,
              .at_ms = 3'000});
  EXPECT_THAT(KeysOf(changed), UnorderedElementsAre("ABC", "a'c", "a_c", "a "));
  EXPECT_EQ(Find("abc")->state, KeyState::kAlias);
}

TEST_P(StoreKeysTest, WhatNoStoreCanKeepIsRefused) {
  const auto refused = [&](const KeyRow& row) {
    const auto added = keys_->AddKeys(Guard(), {Alias("good"), row}, Soon());
    EXPECT_EQ(added.code(), Code::kInvalidArgument) << row.key;
    EXPECT_FALSE(added.status().message().empty());
  };
  refused(Alias(""));
  refused(Alias(std::string(kStoredKeySizeMax + 1, 'x')));
  refused(Alias("a\nb"));
  refused(Alias("\xc3\xa4"));
  refused(Alias("a", std::string(201, 'o')));
  refused(Alias("a", "\xff"));
  refused(Derived("a", "abc"));
  refused(Derived("a", Identity('g')));
  refused(Note("a", std::string((1U << 20U) + 1, 'n')));
  KeyRow with_note = Alias("a");
  with_note.note = "n";
  refused(with_note);
  EXPECT_EQ(keys_->AddKeys(Guard(), {}, Soon()).code(), Code::kInvalidArgument);
  EXPECT_THAT(List({}), IsEmpty());
}

TEST_P(StoreKeysTest, TakesUntilNoneIsLeft) {
  AddNew(Pool(25));
  std::set<std::string> all;
  for (const std::size_t expected : {10U, 10U, 5U}) {
    const auto taken = TakeSome(Take(10));
    EXPECT_EQ(taken.size(), expected);
    all.insert(taken.begin(), taken.end());
  }
  EXPECT_EQ(all.size(), 25U);
  const Witness before = Seen();
  EXPECT_EQ(keys_->TakeKeys(Guard(), Take(10), Soon()).code(), Code::kExhausted);
  EXPECT_EQ(Seen(), before) << "nothing changed";
}

TEST_P(StoreKeysTest, WhatIsTakenSaysWhoHasIt) {
  AddNew({Available("k1")});
  EXPECT_THAT(TakeSome({.count = 5,
                        .to = KeyState::kReserved,
                        .instance = "host/7",
                        .token = "t7",
                        .at_ms = 4'000,
                        .expires_at_ms = 9'000}),
              ElementsAre("k1"));
  const KeyRow expected{.key = "k1",
                        .state = KeyState::kReserved,
                        .since_ms = 4'000,
                        .instance = "host/7",
                        .token = "t7",
                        .expires_at_ms = 9'000};
  EXPECT_EQ(Find("k1"), expected);
}

TEST_P(StoreKeysTest, OnlyWhatIsAvailableIsTaken) {
  KeyRow reserved = Available("reserved");
  reserved.state = KeyState::kReserved;
  KeyRow released = Available("released");
  released.state = KeyState::kReleased;
  AddNew({reserved, released, Alias("alias"), Derived("derived", Identity('a')), Note("note", "n"),
          Available("available")});
  EXPECT_THAT(TakeSome(Take(100)), ElementsAre("available"));
}

// More than one statement, in stores that have statements.
TEST_P(StoreKeysTest, AsManyAsPossibleAtOnce) {
  AddNew(Pool(KeyTable::kKeysMax));
  auto rows = Pool(KeyTable::kKeysMax);
  rows.pop_back();
  rows.push_back(Available("new"));
  const auto again = Add(rows);
  EXPECT_EQ(std::count(again.present.begin(), again.present.end(), std::nullopt), 1);
  auto taken = TakeSome(Take(KeyTable::kKeysMax));
  EXPECT_EQ(std::set<std::string>(taken.begin(), taken.end()).size(), KeyTable::kKeysMax);
  KeyChange change{.match = {.keys = taken, .state = KeyState::kUsed},
                   .to = KeyState::kReleased,
                   .at_ms = 3'000,
                   .rows_max = KeyTable::kKeysMax};
  EXPECT_EQ(Change(change).size(), KeyTable::kKeysMax);
  change.match.keys.push_back("one more");
  EXPECT_EQ(keys_->ChangeKeys(Guard(), change, Soon()).code(), Code::kInvalidArgument);
  EXPECT_EQ(keys_->TakeKeys(Guard(), Take(KeyTable::kKeysMax + 1), Soon()).code(),
            Code::kInvalidArgument);
  rows.push_back(Available("one more"));
  EXPECT_EQ(keys_->AddKeys(Guard(), rows, Soon()).code(), Code::kInvalidArgument);
}

TEST_P(StoreKeysTest, NoKeyIsTakenTwiceByThreadsAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kKeys = 400;
  AddNew(Pool(kKeys));
  std::vector<std::vector<std::string>> got(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::unique_ptr<Store> own = fixture_->OpenClient();
      KeyTable& keys = *(own ? own->key_table() : keys_);
      for (;;) {
        const auto taken = keys.TakeKeys(Guard(), Take(7, "t" + std::to_string(i)), Soon());
        if (!taken.ok()) {
          EXPECT_EQ(taken.code(), Code::kExhausted) << taken.status().message();
          return;
        }
        got[static_cast<std::size_t>(i)].insert(got[static_cast<std::size_t>(i)].end(),
                                                taken->keys.begin(), taken->keys.end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  std::size_t sum = 0;
  for (int i = 0; i < kThreads; ++i) {
    for (const std::string& key : got[static_cast<std::size_t>(i)]) {
      all.insert(key);
      ++sum;
      EXPECT_EQ(Find(key)->token, "t" + std::to_string(i));
    }
  }
  EXPECT_EQ(sum, static_cast<std::size_t>(kKeys));
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kKeys));
}

TEST_P(StoreKeysTest, OneOfThreadsThatAddTheSameAtOnceWins) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20;
  std::vector<std::vector<bool>> won(kThreads, std::vector<bool>(kRounds));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::unique_ptr<Store> own = fixture_->OpenClient();
      KeyTable& keys = *(own ? own->key_table() : keys_);
      for (int round = 0; round < kRounds; ++round) {
        const auto added = keys.AddKeys(
            Guard(), {Alias("alias-" + std::to_string(round), "o" + std::to_string(i))}, Soon());
        ASSERT_TRUE(added.ok()) << added.status().message();
        won[static_cast<std::size_t>(i)][static_cast<std::size_t>(round)] =
            !added->present[0].has_value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t round = 0; round < kRounds; ++round) {
    int winners = 0;
    for (std::size_t i = 0; i < kThreads; ++i) {
      if (!won[i][round]) continue;
      ++winners;
      EXPECT_EQ(Find("alias-" + std::to_string(round))->owner, "o" + std::to_string(i));
    }
    EXPECT_EQ(winners, 1) << round;
  }
}

TEST_P(StoreKeysTest, WhatChangesKeepsTheRest) {
  KeyRow row = Alias("home", "ann");
  row.instance = "host/1";
  row.token = "t1";
  row.generation = 3;
  row.expires_at_ms = 5'000;
  AddNew({row});
  auto changed = Change({.match = {.keys = {"home"}, .state = KeyState::kAlias},
                         .to = KeyState::kReleased,
                         .at_ms = 6'000,
                         .expires_at_ms = 7'000,
                         .generations = 1});
  row.state = KeyState::kReleased;
  row.since_ms = 6'000;
  row.expires_at_ms = 7'000;
  row.generation = 4;
  EXPECT_THAT(changed, ElementsAre(row));
  EXPECT_EQ(Find("home"), row);
  // What is available was never anybody's.
  changed =
      Change({.match = {.state = KeyState::kReleased}, .to = KeyState::kAvailable, .at_ms = 8'000});
  KeyRow fresh = Available("home", 8'000);
  fresh.generation = 4;
  EXPECT_THAT(changed, ElementsAre(fresh));
  EXPECT_EQ(Find("home"), fresh);
  EXPECT_THAT(TakeSome(Take(10)), ElementsAre("home"));
}

// Each part of the match keeps others off.
TEST_P(StoreKeysTest, ARowThatDoesNotMatchStaysAsItIs) {
  AddNew({Available("k1"), Available("k2")});
  ASSERT_EQ(TakeSome({.count = 2,
                      .to = KeyState::kReserved,
                      .instance = "host/1",
                      .token = "t1",
                      .at_ms = 4'000,
                      .expires_at_ms = 9'000})
                .size(),
            2U);
  const KeyRow before = *Find("k1");
  const KeyMatch right{.keys = {"k1"},
                       .state = KeyState::kReserved,
                       .token = "t1",
                       .generation = 0,
                       .since_until_ms = 4'000,
                       .expires_until_ms = 9'000};
  std::vector<KeyMatch> wrong(7, right);
  wrong[0].keys = {"k3"};
  wrong[1].state = KeyState::kUsed;
  wrong[2].token = "t2";
  wrong[3].generation = 1;
  wrong[4].since_until_ms = 3'999;
  wrong[5].expires_until_ms = 8'999;
  wrong[6].state = KeyState::kAvailable;
  const Witness seen = Seen();
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const auto changed = keys_->ChangeKeys(
        Guard(), {.match = wrong[i], .to = KeyState::kAlias, .at_ms = 5'000}, Soon());
    ASSERT_TRUE(changed.ok()) << i << ": " << changed.status().message();
    EXPECT_THAT(changed->rows, IsEmpty()) << i;
    EXPECT_EQ(changed->seen, Witness{}) << i;
  }
  EXPECT_EQ(Find("k1"), before);
  EXPECT_EQ(Seen(), seen) << "nothing changed";
  EXPECT_THAT(KeysOf(Change({.match = right, .to = KeyState::kUsed, .at_ms = 5'000})),
              ElementsAre("k1"));
  EXPECT_EQ(Find("k2")->state, KeyState::kReserved);
}

TEST_P(StoreKeysTest, WhatNeverExpiresHasNotExpired) {
  AddNew({Alias("for ever"), [] {
            KeyRow row = Alias("once");
            row.expires_at_ms = 5'000;
            return row;
          }()});
  EXPECT_THAT(KeysOf(Change({.match = {.state = KeyState::kAlias, .expires_until_ms = 9'000},
                             .to = KeyState::kReleased,
                             .at_ms = 9'000})),
              ElementsAre("once"));
}

TEST_P(StoreKeysTest, RowsAreFoundByStateAndTimeWithoutTheirNames) {
  AddNew({Available("k1"), Available("k2"), Available("k3"), Available("k4")});
  ASSERT_EQ(
      TakeSome(
          {.count = 4, .to = KeyState::kReserved, .instance = "i", .token = "t1", .at_ms = 4'000})
          .size(),
      4U);
  Change({.match = {.keys = {"k1"}, .state = KeyState::kReserved},
          .to = KeyState::kReleased,
          .at_ms = 5'000});
  Change({.match = {.keys = {"k2", "k3"}, .state = KeyState::kReserved},
          .to = KeyState::kReleased,
          .at_ms = 6'000});
  EXPECT_THAT(KeysOf(Change({.match = {.state = KeyState::kReleased, .since_until_ms = 5'500},
                             .to = KeyState::kAvailable,
                             .at_ms = 7'000,
                             .generations = 1})),
              ElementsAre("k1"));
  EXPECT_EQ(Find("k1")->generation, 1U);
  EXPECT_THAT(KeysOf(Change({.match = {.state = KeyState::kReserved, .token = "t1"},
                             .to = KeyState::kAvailable,
                             .at_ms = 7'000})),
              ElementsAre("k4"));
  EXPECT_EQ(Find("k4")->generation, 0U);
  // No more than asked for, and the others next time.
  const KeyChange one{.match = {.state = KeyState::kReleased},
                      .to = KeyState::kAvailable,
                      .at_ms = 8'000,
                      .rows_max = 1};
  std::vector<std::string> both = KeysOf(Change(one));
  ASSERT_EQ(both.size(), 1U);
  for (const std::string& key : KeysOf(Change(one))) both.push_back(key);
  EXPECT_THAT(both, UnorderedElementsAre("k2", "k3"));
  EXPECT_THAT(Change(one), IsEmpty());
}

TEST_P(StoreKeysTest, ANamedKeyChangesOnce) {
  AddNew({Alias("home")});
  EXPECT_THAT(KeysOf(Change({.match = {.keys = {"home", "home"}, .state = KeyState::kAlias},
                             .to = KeyState::kAlias,
                             .at_ms = 5'000,
                             .generations = 1})),
              ElementsAre("home"));
  EXPECT_EQ(Find("home")->generation, 1U);
}

TEST_P(StoreKeysTest, NotesComeAndGo) {
  AddNew({Note("/n/1", "one", 5'000), Note("/n/2", "two", 6'000), Note("/n/3", "three")});
  EXPECT_EQ(Add({Note("/n/1", "other")}).present[0], Note("/n/1", "one", 5'000));
  EXPECT_THAT(Change({.match = {.state = KeyState::kNote, .expires_until_ms = 5'000}, .to = {}}),
              ElementsAre(Note("/n/1", "one", 5'000)));
  EXPECT_EQ(Find("/n/1"), std::nullopt);
  EXPECT_THAT(KeysOf(List({})), ElementsAre("/n/2", "/n/3"));
  AddNew({Note("/n/1", "again")});
  EXPECT_THAT(Change({.match = {.keys = {"/n/1", "/n/3"}, .state = KeyState::kNote}, .to = {}}),
              UnorderedElementsAre(Note("/n/1", "again"), Note("/n/3", "three")));
  EXPECT_THAT(KeysOf(List({})), ElementsAre("/n/2"));
}

TEST_P(StoreKeysTest, OnlyNotesCanGo) {
  AddNew({Alias("home"), Note("/n", "n")});
  EXPECT_EQ(
      keys_->ChangeKeys(Guard(), {.match = {.state = KeyState::kAlias}, .to = {}}, Soon()).code(),
      Code::kInvalidArgument);
  EXPECT_EQ(
      keys_
          ->ChangeKeys(
              Guard(),
              {.match = {.state = KeyState::kNote}, .to = KeyState::kAvailable, .at_ms = 1}, Soon())
          .code(),
      Code::kInvalidArgument);
  EXPECT_EQ(List({}).size(), 2U);
}

TEST_P(StoreKeysTest, ANoteCanBeLongAndHaveAnyBytes) {
  std::string bytes(std::size_t{1} << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
  AddNew({Note("/n/1", bytes), Note("/n/2", bytes), Note("/n/3", "")});
  EXPECT_EQ(Find("/n/1")->note == bytes, true);
  const auto all = List({});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].note == bytes, true);
  EXPECT_EQ(all[2].note, "");
  EXPECT_EQ(Change({.match = {.state = KeyState::kNote}, .to = {}}).size(), 3U);
}

}  // namespace
}  // namespace keymill
