// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Who may change the keys of a keyspace, how a table that went back is noticed, and how one is
// moved to another store.

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/store_keys.h"

namespace keymill {
namespace {

using testing::HasSubstr;

class StoreKeyGuardTest : public KeyTableTest {
 protected:
  StoreKeyGuardTest() { AddNew({Available("k1"), Available("k2"), Available("k3"), Alias("a1")}); }

  // Each call that changes keys, under this guard.
  std::vector<Status> TryAll(const KeyGuard& guard) {
    return {
        keys_->AddKeys(guard, {Alias("new")}, Soon()).status(),
        keys_->TakeKeys(guard, Take(1), Soon()).status(),
        keys_
            ->ChangeKeys(
                guard,
                {.match = {.state = KeyState::kAlias}, .to = KeyState::kReleased, .at_ms = 5'000},
                Soon())
            .status()};
  }

  void ExpectUntouched() {
    EXPECT_EQ(Find("new"), std::nullopt);
    EXPECT_EQ(Count()[static_cast<std::size_t>(KeyState::kAvailable)], 3U);
    EXPECT_EQ(Find("a1"), Alias("a1"));
  }

  void ExpectRefused(const KeyGuard& guard, Code code, const std::string& word) {
    for (const Status& status : TryAll(guard)) {
      EXPECT_EQ(status.code(), code) << status.message();
      EXPECT_THAT(status.message(), HasSubstr(word));
    }
    ExpectUntouched();
  }
};
// On etcd, which remembers no keys.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreKeyGuardTest);
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreKeyGuardTest, testing::ValuesIn(EveryStoreWithKeys()),
                         NameOf);

TEST_P(StoreKeyGuardTest, EveryChangeMovesTheRevisionOn) {
  KeyGuard guard = Guard();
  guard.witness = Seen();
  std::uint64_t rev = guard.witness.rev;
  const auto moved = [&](const Witness& seen) {
    EXPECT_EQ(seen.rev, ++rev);
    EXPECT_EQ(seen, Seen());
    guard.witness = seen;
  };
  moved(keys_->AddKeys(guard, {Alias("a2"), Alias("a1")}, Soon())->seen);
  moved(keys_->TakeKeys(guard, Take(2), Soon())->seen);
  moved(keys_
            ->ChangeKeys(
                guard,
                {.match = {.state = KeyState::kAlias}, .to = KeyState::kReleased, .at_ms = 5'000},
                Soon())
            ->seen);
  // Nothing to change.
  EXPECT_EQ(keys_->AddKeys(guard, {Alias("a2")}, Soon())->seen, Seen());
  EXPECT_EQ(Seen().rev, rev);
  // The numbers of the keyspace go on beside its keys.
  const Block block = Reserve(Ask(keyspace_, 10));
  moved(block.seen);
  EXPECT_EQ(keys_->AddKeys(guard, {Alias("a3")}, Soon())->seen.next, block.seen.next);
}

TEST_P(StoreKeyGuardTest, AWitnessThatIsAheadQuarantinesTheKeyspace) {
  const std::vector<std::function<Status(const KeyGuard&)>> calls = {
      [&](const KeyGuard& guard) { return keys_->AddKeys(guard, {Alias("new")}, Soon()).status(); },
      [&](const KeyGuard& guard) { return keys_->TakeKeys(guard, Take(1), Soon()).status(); },
      [&](const KeyGuard& guard) {
        return keys_
            ->ChangeKeys(
                guard,
                {.match = {.state = KeyState::kAlias}, .to = KeyState::kReleased, .at_ms = 5'000},
                Soon())
            .status();
      }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string name = "k" + std::to_string(i);
    const KeyspaceRecord keyspace = Create(0, 1'000, name);
    const Witness ahead{Seen(name).rev + 5, Seen(name).next};
    KeyGuard guard = Guard(keyspace);
    guard.witness = ahead;
    const Status refused = calls[i](guard);
    EXPECT_EQ(refused.code(), Code::kQuarantined) << i;
    EXPECT_THAT(refused.message(), HasSubstr("went back"));
    const auto record = store_->FindKeyspace(name, Soon());
    EXPECT_EQ(record->state, KeyspaceState::kQuarantined) << i;
    EXPECT_EQ(record->testified, ahead) << i;
    EXPECT_EQ(*keys_->FindKey(keyspace.id, "new", Soon()), std::nullopt);
    // For everybody.
    EXPECT_EQ(keys_->AddKeys(Guard(keyspace), {Alias("new")}, Soon()).code(), Code::kQuarantined);
  }
}

TEST_P(StoreKeyGuardTest, ANextNumberBelowTheWitnessQuarantinesToo) {
  KeyGuard guard = Guard();
  guard.witness = {Seen().rev, Seen().next + 1};
  EXPECT_EQ(keys_->TakeKeys(guard, Take(1), Soon()).code(), Code::kQuarantined);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->state, KeyspaceState::kQuarantined);
  ExpectRefused(Guard(), Code::kQuarantined, "quarantined");
}

TEST_P(StoreKeyGuardTest, AfterARecoveryTheKeysGoOn) {
  ASSERT_TRUE(store_->Quarantine(keyspace_.id, "test", {}, Soon()).ok());
  ExpectRefused(Guard(), Code::kQuarantined, "quarantined");
  const auto report = store_->Recover(keyspace_.id, {}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  KeyGuard guard = Guard();
  guard.witness = report->seen;
  for (const Status& status : TryAll(guard)) EXPECT_TRUE(status.ok()) << status.message();
}

// Q1: what may be out already is burned before anybody can take it again.
TEST_P(StoreKeyGuardTest, WhoRecoversChangesTheKeysOfAQuarantinedKeyspace) {
  KeyGuard guard = Guard();
  guard.recovering = true;
  guard.witness = {Seen().rev + 100, Seen().next};  // It is behind, which is why it is recovered.
  ASSERT_TRUE(store_->Quarantine(keyspace_.id, "test", guard.witness, Soon()).ok());
  const std::uint64_t rev = Seen().rev;
  const auto taken = keys_->TakeKeys(guard, Take(2), Soon());
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->keys.size(), 2U);
  EXPECT_EQ(taken->seen.rev, rev + 1);
  const auto changed = keys_->ChangeKeys(
      guard, {.match = {.state = KeyState::kAlias}, .to = KeyState::kUsed, .at_ms = 5'000}, Soon());
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(KeysOf(changed->rows), std::vector<std::string>{"a1"});
  EXPECT_EQ(Find("a1")->state, KeyState::kUsed);
  EXPECT_TRUE(keys_->TakeKeys(guard, Take(2), Soon()).ok());
  EXPECT_EQ(keys_->TakeKeys(guard, Take(2), Soon()).code(), Code::kExhausted);
  // It stays closed to everybody else, and keeps what was testified.
  const auto record = store_->FindKeyspace("links", Soon());
  EXPECT_EQ(record->state, KeyspaceState::kQuarantined);
  EXPECT_EQ(record->testified, guard.witness);
  EXPECT_EQ(keys_->TakeKeys(Guard(), Take(1), Soon()).code(), Code::kQuarantined);
  const auto report = store_->Recover(keyspace_.id, {}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->seen.rev, guard.witness.rev);
}

TEST_P(StoreKeyGuardTest, WhoRecoversChangesNothingThatIsOpenOrOfAnotherRecipe) {
  KeyGuard guard = Guard();
  guard.recovering = true;
  ExpectRefused(guard, Code::kFailedPrecondition, "not quarantined");
  ASSERT_TRUE(store_->Quarantine(keyspace_.id, "test", {}, Soon()).ok());
  guard.recipe_hash = "another";
  ExpectRefused(guard, Code::kFailedPrecondition, "recipe");
}

TEST_P(StoreKeyGuardTest, AnotherRecipeIsRefused) {
  KeyGuard guard = Guard();
  guard.recipe_hash = "another";
  ExpectRefused(guard, Code::kFailedPrecondition, "recipe");
}

TEST_P(StoreKeyGuardTest, ARetiredKeyspaceIsRefusedAndCanBeRead) {
  ASSERT_TRUE(store_->RetireKeyspace("links", Soon()).ok());
  ExpectRefused(Guard(), Code::kFailedPrecondition, "retired");
  EXPECT_EQ(List({}).size(), 4U);
}

TEST_P(StoreKeyGuardTest, ASealedStoreIsRefusedAndCanBeRead) {
  ASSERT_TRUE(store_->Seal("elsewhere", false, Soon()).ok());
  ExpectRefused(Guard(), Code::kFailedPrecondition, "elsewhere");
  EXPECT_EQ(List({}).size(), 4U);
}

TEST_P(StoreKeyGuardTest, AnUnknownKeyspaceIsNotFound) {
  KeyGuard guard = Guard();
  guard.keyspace_id = "nobody";
  for (const Status& status : TryAll(guard)) EXPECT_EQ(status.code(), Code::kNotFound);
}

TEST_P(StoreKeyGuardTest, AnotherTimelineIsRefused) {
  KeyGuard guard = Guard();
  guard.timeline = "another";
  for (const Status& status : TryAll(guard)) {
    EXPECT_EQ(status.code(), Code::kUnavailable) << status.message();
  }
  ExpectUntouched();
  guard.timeline = store_->Identity(Soon())->timeline;
  for (const Status& status : TryAll(guard)) EXPECT_TRUE(status.ok()) << status.message();
}

// ---- Filling another store. ----

class StoreKeyFillTest : public StoreKeyGuardTest {
 protected:
  StoreKeyFillTest() : other_(GetParam().make()), target_(other_->OpenClient()) {}

  Status Begin(const std::string& fill) {
    Status begun = target_->BeginFill(store_->Identity(Soon())->store_id, fill, Soon());
    if (!begun.ok()) return begun;
    return target_->FillKeyspace(fill, *store_->FindKeyspace("links", Soon()), Soon());
  }
  Status Fill(const std::string& fill, const std::vector<KeyRow>& rows) {
    return target_->key_table()->FillKeys(fill, keyspace_.id, rows, Soon());
  }

  std::unique_ptr<StoreFixture> other_;
  std::unique_ptr<Store> target_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreKeyFillTest);
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreKeyFillTest, testing::ValuesIn(EveryStoreWithKeys()),
                         NameOf);

TEST_P(StoreKeyFillTest, TheKeysGoOnInTheNewStore) {
  AddNew({Derived("d1", Identity('d')), Note("/n", std::string("\0\xff", 2), 9'000)});
  auto reserve = Take(1, "t1");
  reserve.to = KeyState::kReserved;
  ASSERT_EQ(TakeSome(reserve).size(), 1U);
  ASSERT_TRUE(store_->Seal("elsewhere", false, Soon()).ok());
  ASSERT_TRUE(Begin("fill").ok());
  const auto rows = List({});
  ASSERT_EQ(rows.size(), 6U);
  const auto filled = Fill("fill", rows);
  ASSERT_TRUE(filled.ok()) << filled.message();
  ASSERT_TRUE(Fill("fill", rows).ok()) << "what is there stays as it is";
  ASSERT_TRUE(Fill("fill", {}).ok());
  const auto ended = target_->EndFill("fill", 1, 0, 6, Soon());
  ASSERT_TRUE(ended.ok()) << ended.message();

  KeyTable& there = *target_->key_table();
  EXPECT_EQ(*there.CountKeys(keyspace_.id, Soon()), Count());
  for (const KeyRow& row : rows) EXPECT_EQ(*there.FindKey(keyspace_.id, row.key, Soon()), row);
  EXPECT_EQ((*there.FindIdentity(keyspace_.id, Identity('d'), Soon()))->key, "d1");
  const auto twin = there.AddKeys(Guard(), {Derived("d2", Identity('d'))}, Soon());
  ASSERT_TRUE(twin.ok()) << twin.status().message();
  EXPECT_EQ(twin->present[0], Derived("d1", Identity('d')));
  const auto taken = there.TakeKeys(Guard(), Take(10), Soon());
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  EXPECT_EQ(taken->keys.size(), 2U);
  const auto changed = there.ChangeKeys(Guard(),
                                        {.match = {.state = KeyState::kReserved, .token = "t1"},
                                         .to = KeyState::kUsed,
                                         .at_ms = 5'000},
                                        Soon());
  EXPECT_EQ(changed->rows.size(), 1U);
  const auto gone = there.ChangeKeys(
      Guard(), {.match = {.state = KeyState::kNote, .expires_until_ms = 9'000}, .to = {}}, Soon());
  EXPECT_EQ(gone->rows.size(), 1U);
}

TEST_P(StoreKeyFillTest, AStoreThatIsBeingFilledIsOfNoUse) {
  ASSERT_TRUE(Begin("fill").ok());
  ASSERT_TRUE(Fill("fill", {Alias("a1")}).ok());
  KeyTable& there = *target_->key_table();
  const auto refused = [](const Status& status) {
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("being filled"));
  };
  refused(there.AddKeys(Guard(), {Alias("new")}, Soon()).status());
  refused(there.TakeKeys(Guard(), Take(1), Soon()).status());
  refused(there.FindKey(keyspace_.id, "a1", Soon()).status());
  refused(there.FindIdentity(keyspace_.id, Identity('a'), Soon()).status());
  refused(there.ListKeys(keyspace_.id, {}, Soon()).status());
  refused(there.CountKeys(keyspace_.id, Soon()).status());
}

TEST_P(StoreKeyFillTest, AFillThatIsOverTakesNothing) {
  const auto over = [&](const std::string& fill) {
    const Status refused = Fill(fill, {Alias("late")});
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition) << refused.message();
  };
  over("never begun");
  ASSERT_TRUE(Begin("first").ok());
  ASSERT_TRUE(Fill("first", {Alias("a1"), Derived("d1", Identity('d'))}).ok());
  ASSERT_TRUE(Begin("second").ok());
  over("first");
  ASSERT_TRUE(Fill("second", {Alias("a2", "bob")}).ok());
  over("");
  ASSERT_TRUE(target_->EndFill("second", 1, 0, 1, Soon()).ok());
  over("second");
  KeyTable& there = *target_->key_table();
  const auto page = there.ListKeys(keyspace_.id, {}, Soon());
  ASSERT_TRUE(page.ok()) << page.status().message();
  ASSERT_EQ(page->rows.size(), 1U) << "what the first had written is gone";
  EXPECT_EQ(page->rows[0], Alias("a2", "bob"));
  EXPECT_EQ(*there.FindIdentity(keyspace_.id, Identity('d'), Soon()), std::nullopt);
  EXPECT_EQ((*there.CountKeys(keyspace_.id, Soon()))[static_cast<std::size_t>(KeyState::kDerived)],
            0U);
}

// Nobody can compare them afterwards: whoever finds the store takes keys out of it at once.
TEST_P(StoreKeyFillTest, OtherNumbersOfKeysDoNotEndIt) {
  ASSERT_TRUE(Begin("fill").ok());
  ASSERT_TRUE(Fill("fill", {Alias("a1"), Note("/n", "text", 9'000)}).ok());
  ASSERT_TRUE(Fill("fill", {Alias("a1")}).ok()) << "which is there already";
  for (const std::uint64_t keys : {0U, 1U, 3U}) {
    EXPECT_EQ(target_->EndFill("fill", 1, 0, keys, Soon()).code(), Code::kInternal) << keys;
    const auto identity = target_->Identity(Soon());
    EXPECT_EQ(identity.code(), Code::kFailedPrecondition) << keys;
    EXPECT_THAT(identity.status().message(), HasSubstr("being filled"));
  }
  const Status ended = target_->EndFill("fill", 1, 0, 2, Soon());
  EXPECT_TRUE(ended.ok()) << ended.message();
}

TEST_P(StoreKeyFillTest, TooManyRowsAtOnceAreRefused) {
  ASSERT_TRUE(Begin("fill").ok());
  EXPECT_TRUE(Fill("fill", Pool(Store::kFillRowsMax)).ok());
  EXPECT_EQ(Fill("fill", Pool(Store::kFillRowsMax + 1)).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace keymill
