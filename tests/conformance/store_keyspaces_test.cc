// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keyspaces: made, found, refused.

#include <string>

#include <gtest/gtest.h>

#include "conformance/every_store.h"

namespace keymill {
namespace {

class StoreKeyspaceTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(EveryStore, StoreKeyspaceTest, testing::ValuesIn(EveryStore()), NameOf);

TEST_P(StoreKeyspaceTest, IdentityStaysTheSameForEveryClient) {
  const auto identity = store_->Identity(Soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->store_id.size(), 32U);
  EXPECT_GE(identity->schema_version, 1U);
  if (auto other = fixture_->OpenClient()) {
    const auto again = other->Identity(Soon());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->store_id, identity->store_id);
    EXPECT_EQ(again->timeline, identity->timeline);
  }
}

TEST_P(StoreKeyspaceTest, ACreatedKeyspaceIsReadBackWhole) {
  const KeyspaceRecord made = Create(5, 500);
  const auto found = store_->FindKeyspace("links", Soon());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->id, made.id);
  EXPECT_EQ(found->recipe, "recipe");
  EXPECT_EQ(found->recipe_hash, "hash");
  EXPECT_EQ(found->secret, std::string("s\0\xff\x80", 4));
  EXPECT_EQ(found->state, KeyspaceState::kOpen);
  EXPECT_EQ(found->first, 5U);
  EXPECT_EQ(found->next, 5U);
  EXPECT_EQ(found->end, 500U);
  EXPECT_EQ(found->rev, 1U);
  EXPECT_GT(found->created_at_ms, 1'700'000'000'000);
}

TEST_P(StoreKeyspaceTest, TheFirstCreatorWinsAndTheSecondIsToldWhatIsThere) {
  const KeyspaceRecord first = Create(0, 100);
  NewKeyspace other = Numbers("links", 0, 999);
  other.secret = "other";
  other.recipe_hash = "other";
  const auto second = store_->CreateKeyspace(other, Soon());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->id, first.id);
  EXPECT_EQ(second->secret, first.secret);
  EXPECT_EQ(second->end, 100U);
}

TEST_P(StoreKeyspaceTest, AnUnsoundKeyspaceIsNotCreated) {
  EXPECT_FALSE(store_->CreateKeyspace(Numbers("bad", 7, 7), Soon()).ok());
  EXPECT_FALSE(store_->CreateKeyspace(Numbers("bad", 0, kNumberEnd + 1), Soon()).ok());
  EXPECT_EQ(store_->FindKeyspace("bad", Soon()).code(), Code::kNotFound);
}

TEST_P(StoreKeyspaceTest, NamesCompareAsBytes) {
  const KeyspaceRecord lower = Create(0, 100, "links");
  const KeyspaceRecord upper = Create(0, 100, "LINKS");
  const KeyspaceRecord trailing = Create(0, 100, "links-");
  EXPECT_NE(lower.id, upper.id);
  EXPECT_NE(lower.id, trailing.id);
  EXPECT_EQ(store_->FindKeyspace("Links", Soon()).code(), Code::kNotFound);
}

TEST_P(StoreKeyspaceTest, ListsKeyspacesByName) {
  Create(0, 100, "b");
  Create(0, 100, "a");
  const auto all = store_->ListKeyspaces(Soon());
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ((*all)[0].name, "a");
  EXPECT_EQ((*all)[1].name, "b");
}

TEST_P(StoreKeyspaceTest, AnUnknownKeyspaceIsNotFound) {
  KeyspaceRecord nowhere;
  nowhere.id = RandomHex(16);
  EXPECT_EQ(store_->Reserve(Ask(nowhere, 1), Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->FindBlock(nowhere.id, 1, Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->GiveBack({nowhere.id, "x", 1, {}}, Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->Quarantine(nowhere.id, "x", {}, Soon()).code(), Code::kNotFound);
  EXPECT_EQ(store_->RetireKeyspace("nowhere", Soon()).code(), Code::kNotFound);
}

TEST_P(StoreKeyspaceTest, AnotherRecipeIsRefused) {
  const KeyspaceRecord keyspace = Create();
  ReserveRequest request = Ask(keyspace, 1);
  request.recipe_hash = "another";
  EXPECT_EQ(store_->Reserve(request, Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->next, 0U);
}

TEST_P(StoreKeyspaceTest, ARetiredKeyspaceGivesNothingAndKeepsItsName) {
  const KeyspaceRecord keyspace = Create();
  ASSERT_TRUE(store_->RetireKeyspace("links", Soon()).ok());
  EXPECT_EQ(store_->Reserve(Ask(keyspace, 1), Soon()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(store_->RetireKeyspace("links", Soon())->state, KeyspaceState::kRetired);
  const auto again = store_->CreateKeyspace(Numbers("links", 0, 10), Soon());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->id, keyspace.id);
  EXPECT_EQ(again->state, KeyspaceState::kRetired);
}

TEST_P(StoreKeyspaceTest, InspectingSaysWhatToDoAndChangesNothing) {
  const KeyspaceRecord keyspace = Create();
  const auto findings = store_->Inspect(Soon());
  ASSERT_TRUE(findings.ok()) << findings.status().message();
  for (const StoreFinding& finding : *findings) {
    EXPECT_FALSE(finding.check.empty() || finding.says.empty() || finding.fix.empty())
        << finding.check << ": " << finding.says << ": " << finding.fix;
  }
  EXPECT_EQ(store_->FindKeyspace("links", Soon())->rev, keyspace.rev);
}

}  // namespace
}  // namespace keymill
