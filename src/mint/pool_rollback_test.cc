// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Pools on a store that went back in time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/pool_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class PoolRollbackTest : public PoolTestBase {
 protected:
  void Backup() {
    std::filesystem::copy_file(db(), dir_.path() / "backup",
                               std::filesystem::copy_options::overwrite_existing);
  }
  void Restore() {
    std::filesystem::copy_file(dir_.path() / "backup", db(),
                               std::filesystem::copy_options::overwrite_existing);
  }
  std::unique_ptr<Engine> StartOnFile(std::uint64_t low = 0) {
    return Start(PoolOptionsOf(100, low), OpenSqlite(), OpenWitness());
  }
  void Reaudit(Engine& engine) { Later(engine, engine.options().audit_interval); }
};

// Q1: what this instance holds may be available again, to others, in the store.
TEST_F(PoolRollbackTest, WhatIsHeldDoesNotLeaveAnyMore) {
  for (const Audit audit : {Audit::kBatch, Audit::kKey}) {
    const std::string name(audit == Audit::kBatch ? "batch" : "key");
    const auto engine = StartOnFile();
    const auto created = engine->Create(name, Pool(audit));
    ASSERT_TRUE(created.ok());
    Keyspace& keyspace = *created->keyspace;
    ASSERT_TRUE(engine->FillPool(name, 1'000, {}).ok());
    Backup();
    EXPECT_EQ(Get(*engine, keyspace, 10).size(), 10U);
    Restore();
    Reaudit(*engine);
    EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
    EXPECT_TRUE(TakeNow(keyspace, 1).empty());
    EXPECT_TRUE(Get(*engine, keyspace, 1).empty());
    EXPECT_EQ(OpenSqlite()->FindKeyspace(name, clock_.Monotonic())->state,
              KeyspaceState::kQuarantined);
    engine->Close();
  }
}

TEST_F(PoolRollbackTest, ACleanStopRightAfterTheRestoreQuarantinesIt) {
  const auto engine = StartOnFile();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  Backup();
  EXPECT_EQ(Get(*engine, keyspace, 10).size(), 10U);
  Restore();
  EXPECT_EQ(engine->Close(), 0U);
  EXPECT_EQ(OpenSqlite()->FindKeyspace("k", clock_.Monotonic())->state,
            KeyspaceState::kQuarantined);
}

TEST_F(PoolRollbackTest, ARecoveryBurnsAllThatMayHaveBeenHandedOut) {
  for (const Audit audit : {Audit::kBatch, Audit::kKey}) {
    memory_.reset();
    std::filesystem::remove_all(data_dir());
    std::filesystem::remove(db());
    Recipe recipe = Pool(audit);
    recipe.recycle = true;
    recipe.quarantine_s = 60;
    auto engine = StartOnFile();
    Keyspace& keyspace = MakePool(*engine, recipe, 2'500);
    auto out = Get(*engine, keyspace, 50);  // Known to the copy,
    ASSERT_EQ(out.size(), 50U);
    const std::string released = out.back();
    ASSERT_EQ(engine->ReleaseKey("k", released, 0)->verdict, ReleaseVerdict::kReleased);
    out.pop_back();
    Backup();
    const auto lost = Get(*engine, keyspace, 300);  // and not.
    ASSERT_EQ(lost.size(), 300U);
    out.insert(out.end(), lost.begin(), lost.end());
    Kill(*engine);
    Restore();
    clock_.Advance(std::chrono::seconds(1));
    engine = StartOnFile();
    EXPECT_TRUE(*engine->QuarantineIfBehind("k"));
    const std::uint64_t loose = 2'500 - CountOf(*engine, KeyState::kUsed);
    const auto report = engine->Recover("k");
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->keys_burned, loose);
    EXPECT_GT(loose, 2'000U) << "more than one batch";
    EXPECT_THAT(report->forgotten, HasSubstr("made and handed out"));
    EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 2'500U);
    // It may have been recycled in the lost time, and then it is not for its first owner to end.
    EXPECT_EQ(engine->ReleaseKey("k", out.front(), 0)->verdict, ReleaseVerdict::kOtherGeneration);
    EXPECT_EQ(engine->ReleaseKey("k", released, 0)->verdict, ReleaseVerdict::kOtherGeneration);
    engine->Close();
    engine = StartOnFile(/*low=*/500);
    const auto fresh = Get(*engine, **engine->Lookup("k"), 500);
    EXPECT_EQ(fresh.size(), 500U);
    const auto before = SetOf(out);
    for (const auto& key : fresh) EXPECT_FALSE(before.contains(key)) << key;
    engine->Close();
  }
}

// In the time that was lost a key may have expired, been recycled and given to somebody else, whose
// key it is for as long as the recipe says.
TEST_F(PoolRollbackTest, ARecoveryLetsNoKeyExpireEarly) {
  Recipe recipe = Pool(Audit::kKey);
  recipe.recycle = true;
  recipe.quarantine_s = 60;
  recipe.expires_s = 1'000;
  auto engine = StartOnFile();
  const auto key = Get(*engine, MakePool(*engine, recipe, 1), 1);
  const std::string imported = "another";
  ASSERT_TRUE(engine->Import("k", recipe, {imported}, {}).ok());
  Backup();
  clock_.Advance(std::chrono::seconds(1'100));
  engine->StepForTest();
  clock_.Advance(std::chrono::seconds(100));  // Its quarantine.
  engine->StepForTest();
  ASSERT_EQ(Get(*engine, *engine->Find("k"), 1), key) << "its second life";
  Kill(*engine);
  Restore();
  engine = StartOnFile();
  ASSERT_TRUE(engine->Recover("k").ok());
  EXPECT_EQ(RowOf(*engine, key[0]).state, KeyState::kUsed);
  EXPECT_EQ(RowOf(*engine, key[0]).expires_at_ms, clock_.WallMs() + 1'000'000);
  EXPECT_EQ(RowOf(*engine, imported).state, KeyState::kUsed);
  EXPECT_EQ(RowOf(*engine, imported).expires_at_ms, 0) << "it is never given out here";
}

// As long as it is not through, nobody gets a key.
TEST_F(PoolRollbackTest, ARecoveryThatFailsLeavesItClosed) {
  auto engine = StartShared();
  MakePool(*engine, Pool(Audit::kBatch), 5'000);
  const std::string id = engine->Find("k")->id();
  ASSERT_TRUE(memory_->Quarantine(id, "test", {}, clock_.Monotonic()).ok());
  faults_->change_keys.assign(5, {{Code::kUnavailable, "away"}});
  EXPECT_EQ(engine->Recover("k").code(), Code::kUnavailable);
  EXPECT_EQ(memory_->FindKeyspace("k", clock_.Monotonic())->state, KeyspaceState::kQuarantined);
  const auto report = engine->Recover("k");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(memory_->FindKeyspace("k", clock_.Monotonic())->state, KeyspaceState::kOpen);
  EXPECT_EQ(CountOf(*engine, KeyState::kAvailable), 0U);
}

TEST_F(PoolRollbackTest, ARecoverySaysWhatItCannotMend) {
  const auto engine = StartShared();
  const auto recover = [&](const std::string& name) {
    const auto found = engine->Lookup(name);
    EXPECT_TRUE(memory_->Quarantine((*found)->id(), "test", {}, clock_.Monotonic()).ok());
    const auto report = engine->Recover(name);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report->forgotten : "";
  };
  ASSERT_TRUE(engine->Create("pages", DefaultRecipe(Kind::kDerived)).ok());
  EXPECT_THAT(recover("pages"), HasSubstr("derived"));
  ASSERT_TRUE(engine->Create("orders", Orders()).ok());
  EXPECT_THAT(recover("orders"), IsEmpty());
  ASSERT_TRUE(engine->Create("links", DefaultRecipe(Kind::kShuffled)).ok());
  ASSERT_EQ(engine->ClaimKey("links", "my-alias", "ann")->verdict, ClaimVerdict::kClaimed);
  EXPECT_THAT(recover("links"), HasSubstr("liases"));
}

// S4: cut off while the store went back and others went on, so that its revision is ahead again.
TEST_F(PoolRollbackTest, KeysThatAreNotItsOwnAnyMoreAreNoticedThoughTheStoreIsAhead) {
  for (const Audit audit : {Audit::kBatch, Audit::kKey}) {
    memory_ = store::OpenMemoryStore(clock_);
    faults_ = std::make_shared<Faults>();
    const auto engine = StartShared();
    Keyspace& keyspace = MakePool(*engine, Pool(audit), 1'000);
    EXPECT_EQ(Get(*engine, keyspace, 10).size(), 10U);
    const std::string key = TakeNow(keyspace, 0).empty() ? Get(*engine, keyspace, 1).at(0) : "";
    // What it took is available again.
    const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
    const KeyGuard guard{
        .keyspace_id = record.id, .recipe_hash = record.recipe_hash, .witness = {}};
    ASSERT_FALSE(
        memory_->key_table()
            ->ChangeKeys(
                guard,
                {.match = {.state = KeyState::kUsed}, .to = KeyState::kAvailable, .at_ms = 1},
                clock_.Monotonic())
            ->rows.empty());
    faults_->timeline = "another";
    clock_.Advance(engine->options().watch_interval);
    engine->StepForTest();
    EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
    EXPECT_TRUE(TakeNow(keyspace, 1).empty());
    EXPECT_EQ(memory_->FindKeyspace("k", clock_.Monotonic())->state, KeyspaceState::kQuarantined);
  }
}

// S4: the same, when all that it holds was too old and went back before.
TEST_F(PoolRollbackTest, AKeyThatHasLeftTellsWhenNothingIsHeldAnyMore) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  const auto got = Get(*engine, keyspace, 1);
  ASSERT_EQ(got.size(), 1U);
  Later(*engine, std::chrono::seconds(30));
  ASSERT_EQ(keyspace.stats().ahead, 0U);
  ASSERT_EQ(CountOf(*engine, KeyState::kUsed), 1U);
  const auto record = *memory_->FindKeyspace("k", clock_.Monotonic());
  const auto forgotten = memory_->key_table()->ChangeKeys(
      {.keyspace_id = record.id, .recipe_hash = record.recipe_hash, .witness = {}},
      {.match = {.keys = got, .state = KeyState::kUsed}, .to = KeyState::kAvailable, .at_ms = 1},
      clock_.Monotonic());
  ASSERT_EQ(forgotten->rows.size(), 1U);
  faults_->timeline = "another";
  clock_.Advance(engine->options().watch_interval);
  engine->StepForTest();
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
}

// A release that names no generation also ends a life in which nobody has had the key yet.
TEST_F(PoolRollbackTest, AKeyThatItsFormerOwnerReleasesAgainIsNotLost) {
  Recipe recipe = Pool(Audit::kBatch);
  recipe.recycle = true;
  recipe.quarantine_s = 1'000;
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, recipe, 1);
  const auto first = Get(*engine, keyspace, 1);
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(engine->ReleaseKey("k", first[0], {})->verdict, ReleaseVerdict::kReleased);
  clock_.Advance(std::chrono::seconds(1'030));
  keyspace.Want();
  for (int i = 0; i < 3; ++i) Later(*engine, engine->options().audit_interval);
  ASSERT_EQ(keyspace.stats().ahead, 1U) << "taken again, and still here";
  ASSERT_EQ(engine->ReleaseKey("k", first[0], {})->verdict, ReleaseVerdict::kReleased);
  faults_->timeline = "another";
  clock_.Advance(engine->options().watch_interval);
  engine->StepForTest();
  EXPECT_TRUE(keyspace.Verdict().ok()) << keyspace.Verdict().message();
  EXPECT_EQ(memory_->FindKeyspace("k", clock_.Monotonic())->state, KeyspaceState::kOpen);
}

// Q1: they went back, but the answer was lost; somebody else has had them since, and the store has
// forgotten it.
TEST_F(PoolRollbackTest, WhatGotTooOldGoesBackToNobodyWhenTheStoreMayHaveForgotten) {
  const auto engine = StartShared();
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  EXPECT_EQ(Get(*engine, keyspace, 1).size(), 1U);
  ASSERT_EQ(keyspace.stats().ahead, 99U);
  faults_->change_keys.push_back({{Code::kUnknownOutcome, "lost"}, Faults::When::kBefore});
  Later(*engine, std::chrono::seconds(30));
  faults_->timeline = "another";
  for (int i = 0; i < 10; ++i) Later(*engine, std::chrono::seconds(1));
  EXPECT_TRUE(keyspace.Verdict().ok());
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 100 + keyspace.stats().ahead);
  EXPECT_EQ(keyspace.stats().blocks_returned, 0U);
  EXPECT_EQ(keyspace.stats().blocks_burned, 1U);
}

// The same, of keys that waited for the witness meanwhile.
TEST_F(PoolRollbackTest, WhatTheWitnessLearnsOfTooLateGoesBackToNobody) {
  const auto engine = StartFaulty(PoolOptionsOf(), OpenWitness());
  Recipe recipe = Pool(Audit::kBatch);
  recipe.expires_s = 60;
  Keyspace& keyspace = MakePool(*engine, recipe, 1'000);
  keyspace.Want();
  std::filesystem::create_directory(data_dir() / "witness.new");  // Nobody can write there.
  Later(*engine);
  ASSERT_EQ(CountOf(*engine, KeyState::kUsed), 100U);
  ASSERT_EQ(keyspace.stats().ahead, 0U);
  clock_.Advance(std::chrono::seconds(30));
  faults_->timeline = "another";
  for (int i = 0; i < 10; ++i) Later(*engine, std::chrono::seconds(1));
  std::filesystem::remove(data_dir() / "witness.new");
  for (int i = 0; i < 10; ++i) Later(*engine, std::chrono::seconds(1));
  EXPECT_TRUE(keyspace.Verdict().ok()) << keyspace.Verdict().message();
  EXPECT_EQ(CountOf(*engine, KeyState::kUsed), 100 + keyspace.stats().ahead);
  EXPECT_EQ(keyspace.stats().blocks_returned, 0U);
  EXPECT_EQ(keyspace.stats().blocks_burned, 1U);
}

TEST_F(PoolRollbackTest, AServerThatWasOnlyStartedAnewChangesNothing) {
  const auto engine = StartShared();
  Keyspace& keyspace = MakePool(*engine, Pool(Audit::kBatch), 1'000);
  EXPECT_EQ(Get(*engine, keyspace, 10).size(), 10U);
  faults_->timeline = "another";
  clock_.Advance(engine->options().watch_interval);
  engine->StepForTest();
  EXPECT_TRUE(keyspace.Verdict().ok());
  EXPECT_EQ(TakeNow(keyspace, 1).size(), 1U);
}

}  // namespace
}  // namespace keymill::mint
