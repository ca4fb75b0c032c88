// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The engine on a store that went back in time.

#include <array>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mint/engine.h"
#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;

class EngineRollbackTest : public EngineTestBase {
 protected:
  void Backup() {
    std::filesystem::copy_file(db(), dir_.path() / "backup",
                               std::filesystem::copy_options::overwrite_existing);
  }
  // As `cp backup keymill.db` does: the same file with older contents.
  void RestoreInPlace() {
    std::filesystem::copy_file(dir_.path() / "backup", db(),
                               std::filesystem::copy_options::overwrite_existing);
  }
  // As most tools do: another file under the same name.
  void RestoreByRename() {
    std::filesystem::copy_file(dir_.path() / "backup", dir_.path() / "new");
    std::filesystem::rename(dir_.path() / "new", db());
  }
  void Reaudit(Engine& engine) {
    clock_.Advance(engine.options().audit_interval);
    engine.StepForTest();
  }
  KeyspaceRecord Record() { return *OpenSqlite()->FindKeyspace("k", clock_.Monotonic()); }
};

TEST_F(EngineRollbackTest, TheNextReservationQuarantinesTheKeyspace) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  Backup();
  EXPECT_EQ(MintNumbers(*engine, keyspace, 200).back(), 210U);
  RestoreInPlace();
  Status outcome;
  MintNumbers(*engine, keyspace, 500, &outcome);
  EXPECT_EQ(outcome.code(), Code::kQuarantined);
  EXPECT_THAT(outcome.message(), HasSubstr("went back"));
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
}

// What was created after the copy was made is not in it, and must not be created again.
TEST_F(EngineRollbackTest, AKeyspaceThatTheStoreHasLostIsNotMadeAnew) {
  StartSqlite()->Close();
  Backup();
  {
    const auto engine = StartSqlite();
    EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 3).front(), 1U);
    engine->Close();
  }
  RestoreInPlace();
  {
    const auto engine = StartSqlite();
    const auto again = engine->Create("k", Orders());
    EXPECT_EQ(again.code(), Code::kQuarantined);
    EXPECT_THAT(again.status().message(), HasSubstr("went back"));
    EXPECT_EQ(engine->Lookup("k").code(), Code::kQuarantined);
    EXPECT_TRUE(engine->Create("other", Orders()).ok());
    engine->Close();
  }
  EngineOptions options;
  options.background = false;
  options.keyspaces = {{"k", Orders()}};
  EXPECT_EQ(Engine::Open(options, OpenSqlite(), OpenWitness(), clock_).code(),
            Code::kFailedPrecondition);

  // Somebody without our witness has made it anew: not the one that we know.
  ASSERT_TRUE(Engine::Open(options, OpenSqlite(), nullptr, clock_).ok());
  const auto engine = StartSqlite();
  EXPECT_EQ(engine->Lookup("k").code(), Code::kQuarantined);
  EXPECT_EQ(engine->Create("k", Orders()).code(), Code::kQuarantined);
}

TEST_F(EngineRollbackTest, TheRegularLookQuarantinesItWhileTheReservoirStillLasts) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  engine->StepForTest();
  Backup();
  MintNumbers(*engine, keyspace, 90);
  engine->StepForTest();
  EXPECT_GT(keyspace.stats().ahead, 0U);
  RestoreInPlace();
  Reaudit(*engine);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
  EXPECT_EQ(keyspace.Take(1).count, 0U) << "what is held may be somebody else's by now";
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
  EXPECT_THAT(Record().reason, HasSubstr("went back"));
}

// A stop waits for the look, and each question to a store that is silent takes its whole timeout.
TEST_F(EngineRollbackTest, ALookEndsWhenTheStoreFallsSilent) {
  const std::array<const char*, 3> names = {"a", "b", "c"};
  {
    const auto before = StartSqlite();
    for (const char* const name : names) {
      MintNumbers(*before, Create(*before, Orders(), name), 10);
    }
    Backup();
    for (const char* const name : names) {
      MintNumbers(*before, Create(*before, Orders(), name), 700);
    }
  }
  RestoreInPlace();
  const auto engine =
      Start(Options(), std::make_unique<FaultyStore>(OpenSqlite(), faults_), OpenWitness());
  for (int i = 0; i < 3; ++i) faults_->give_back.push_back({{Code::kUnavailable, "silent"}});
  Reaudit(*engine);
  EXPECT_EQ(faults_->give_back.size(), 2U) << "asked once";
  faults_->give_back.clear();
  for (int i = 0; i < 3; ++i) Reaudit(*engine);
  for (const char* const name : names) {
    EXPECT_EQ(OpenSqlite()->FindKeyspace(name, clock_.Monotonic())->state,
              KeyspaceState::kQuarantined)
        << name;
  }
}

// Between two looks at the store: the blocks that a stop gives back each move the revision
// on, and must not lift it back to what the witness knows.
TEST_F(EngineRollbackTest, ACleanStopRightAfterTheRestoreQuarantinesIt) {
  auto a = StartSqlite();
  CounterKeyspace& of_a = Create(*a, LastCodes(1'000'000));
  auto keys = Mint(*a, of_a, 5);
  {
    const auto b = StartSqlite();
    const auto more = Mint(*b, Create(*b, LastCodes(1'000'000)), 5);
    keys.insert(keys.end(), more.begin(), more.end());
  }  // What b held is given back.
  Backup();
  const auto more = Mint(*a, of_a, 150);  // From what b gave back.
  keys.insert(keys.end(), more.begin(), more.end());
  RestoreInPlace();
  a->Close();
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);

  const auto c = StartSqlite();
  const auto repeated = Mint(*c, Create(*c, LastCodes(1'000'000)), 150);
  keys.insert(keys.end(), repeated.begin(), repeated.end());
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
}

TEST_F(EngineRollbackTest, EveryEngineStops) {
  const auto a = StartSqlite();
  const auto b = StartSqlite();
  CounterKeyspace& of_a = Create(*a, Orders());
  CounterKeyspace& of_b = Create(*b, Orders());
  MintNumbers(*a, of_a, 5);
  Backup();
  MintNumbers(*b, of_b, 5);
  MintNumbers(*a, of_a, 100);
  RestoreInPlace();
  Reaudit(*a);
  EXPECT_EQ(of_a.Verdict().code(), Code::kQuarantined);
  b->StepForTest();
  EXPECT_EQ(of_b.Verdict().code(), Code::kQuarantined);
  EXPECT_EQ(of_b.Take(1).count, 0U);

  const auto c = StartSqlite();
  CounterKeyspace& of_c = Create(*c, Orders());
  EXPECT_EQ(of_c.Verdict().code(), Code::kQuarantined) << "a restart does not heal it";
}

TEST_F(EngineRollbackTest, ARestartedEngineKnowsItFromTheWitness) {
  {
    const auto engine = StartSqlite();
    MintNumbers(*engine, Create(*engine, Orders()), 5);
    Backup();
    MintNumbers(*engine, *engine->Find("k"), 300);
  }
  RestoreByRename();
  const auto engine = StartSqlite();
  Status outcome;
  EXPECT_TRUE(MintNumbers(*engine, Create(*engine, Orders()), 1, &outcome).empty());
  EXPECT_EQ(outcome.code(), Code::kQuarantined);
}

// The limit of the promise: with every witness gone nobody can know.
TEST_F(EngineRollbackTest, WithoutAnyWitnessItCannotBeNoticed) {
  {
    const auto engine = StartSqlite();
    MintNumbers(*engine, Create(*engine, Orders()), 5);
    Backup();
    MintNumbers(*engine, *engine->Find("k"), 300);
  }
  RestoreByRename();
  std::filesystem::remove_all(data_dir());
  const auto engine = StartSqlite();
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 1).size(), 1U);
  EXPECT_EQ(Record().state, KeyspaceState::kOpen);
}

TEST_F(EngineRollbackTest, ARunningEngineIsItsOwnWitness) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  Backup();
  MintNumbers(*engine, keyspace, 200);
  RestoreInPlace();
  std::filesystem::remove(data_dir() / "witness");
  Reaudit(*engine);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
}

TEST_F(EngineRollbackTest, AFileReplacedUnderAnOpenConnectionIsNoticed) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  Backup();
  MintNumbers(*engine, keyspace, 200);
  RestoreByRename();
  Reaudit(*engine);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined) << "in the file that is there now";
}

TEST_F(EngineRollbackTest, ACopyThatIsUpToDateIsServed) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  EXPECT_EQ(MintNumbers(*engine, keyspace, 10).back(), 10U);
  Backup();
  RestoreByRename();
  Reaudit(*engine);
  const auto numbers = MintNumbers(*engine, keyspace, 300);
  EXPECT_EQ(numbers.back(), 310U);
  EXPECT_GT(Record().next, 300U) << "counted in the file that is there now";
}

TEST_F(EngineRollbackTest, AFileThatVanishesIsAStoreThatIsAwayUntilItComesBack) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  std::filesystem::rename(db(), dir_.path() / "elsewhere");
  Status outcome;
  EXPECT_EQ(MintNumbers(*engine, keyspace, 500, &outcome).back(), 100U);
  EXPECT_EQ(outcome.code(), Code::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(db())) << "it is not made anew";
  std::filesystem::rename(dir_.path() / "elsewhere", db());
  clock_.Advance(std::chrono::milliseconds(50));
  EXPECT_EQ(MintNumbers(*engine, keyspace, 1).front(), 101U);
}

TEST_F(EngineRollbackTest, NothingIsReservedFromAnotherStoreInItsPlace) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  std::filesystem::remove(db());
  OpenSqlite();  // Makes a new one.
  Reaudit(*engine);
  EXPECT_FALSE(engine->store_up());
  EXPECT_THAT(keyspace.DeadlineVerdict().message(), HasSubstr("another store"));
  Status outcome;
  const auto left = MintNumbers(*engine, keyspace, 100'000, &outcome);
  EXPECT_EQ(left.back() - left.front() + 1, left.size()) << "what was held, and nothing new";
  EXPECT_EQ(outcome.code(), Code::kUnavailable);
  const auto again = Engine::Open(Options(), OpenSqlite(), OpenWitness(), clock_);
  EXPECT_EQ(again.code(), Code::kFailedPrecondition) << "and nobody starts on it";
}

TEST_F(EngineRollbackTest, RecoverReopensAboveEverythingThatWasSeen) {
  auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  Backup();
  const std::uint64_t last = MintNumbers(*engine, keyspace, 700).back();
  EXPECT_EQ(engine->Recover("k").code(), Code::kFailedPrecondition) << "nothing is wrong yet";
  RestoreInPlace();
  Reaudit(*engine);
  ASSERT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
  const auto report = engine->Recover("k");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->next_after, last);
  Reaudit(*engine);
  EXPECT_EQ(keyspace.Take(1).count, 0U) << "what was held before stays stopped";
  EXPECT_EQ(keyspace.stats().state, KeyspaceState::kQuarantined) << "and monitoring sees it";
  engine->Close();

  engine = StartSqlite();
  const auto numbers = MintNumbers(*engine, Create(*engine, Orders()), 100);
  EXPECT_EQ(numbers.front(), report->next_after);
  EXPECT_EQ(engine->Explain("k", std::to_string(last))->state, Explanation::State::kUnknown);
  EXPECT_EQ(engine->Recover("nobody").code(), Code::kNotFound);
}

TEST_F(EngineRollbackTest, RecoverNeedNotWaitForSomebodyToNoticeTheRollback) {
  auto engine = StartSqlite();
  MintNumbers(*engine, Create(*engine, Orders()), 10);
  engine->Close();
  Backup();
  engine = StartSqlite();
  const std::uint64_t last = MintNumbers(*engine, Create(*engine, Orders()), 700).back();
  engine->Close();
  RestoreInPlace();

  engine = StartSqlite();
  const auto report = engine->Recover("k");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->next_after, last);
  EXPECT_EQ(engine->Recover("k").code(), Code::kFailedPrecondition) << "once is enough";
}

TEST_F(EngineRollbackTest, RecoverKnowsWhatTheRunningEngineSawEvenWithoutAFile) {
  const auto engine = StartSqlite();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  Backup();
  const std::uint64_t last = MintNumbers(*engine, keyspace, 700).back();
  RestoreInPlace();
  std::filesystem::remove(data_dir() / "witness");
  Reaudit(*engine);
  const auto report = engine->Recover("k");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_GT(report->next_after, last);
}

// Whoever recovers has trouble enough: the machine is busy, perhaps because of that.
TEST_F(EngineRollbackTest, RecoverAsksAStoreAgainThatIsSlowForAMoment) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  ASSERT_TRUE(memory_->Quarantine(keyspace.id(), "test", {}, clock_.Monotonic()).ok());
  const Faults::Fault slow{{Code::kUnavailable, "injected"}};
  faults_->give_back = {slow};
  faults_->find = {slow, slow};
  faults_->recover = {slow, slow, slow, slow};
  const auto report = engine->Recover("k");
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->returned_burned, 0U);

  ASSERT_TRUE(memory_->Quarantine(keyspace.id(), "test", {}, clock_.Monotonic()).ok());
  faults_->recover.assign(5, slow);
  EXPECT_EQ(engine->Recover("k").code(), Code::kUnavailable) << "not for ever";
}

TEST_F(EngineRollbackTest, ARecoveryWhoseAnswerWasLostIsFoundToHaveTakenPlace) {
  const auto engine = StartFaulty(Options());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  const Status unknown(Code::kUnknownOutcome, "injected");
  for (const Faults::When when : {Faults::When::kBefore, Faults::When::kAfter}) {
    ASSERT_TRUE(memory_->Quarantine(keyspace.id(), "test", {}, clock_.Monotonic()).ok());
    const std::uint64_t before = memory_->FindKeyspace("k", clock_.Monotonic())->next;
    faults_->recover = {{unknown, when}, {{Code::kUnavailable, "injected"}}};
    const auto report = engine->Recover("k");
    ASSERT_TRUE(report.ok()) << report.status().message();
    const auto record = memory_->FindKeyspace("k", clock_.Monotonic());
    EXPECT_EQ(record->state, KeyspaceState::kOpen);
    EXPECT_EQ(report->next_before, before);
    EXPECT_EQ(report->next_after, record->next);
    EXPECT_EQ(report->seen.rev, record->rev);
    EXPECT_EQ(report->returned_burned.has_value(), when == Faults::When::kBefore);
  }
  EXPECT_EQ(engine->Recover("k").code(), Code::kFailedPrecondition) << "nothing is left to do";
}

// Another process reserves between our look at the store and our look at the witness that
// both share. Nothing went back.
TEST_F(EngineRollbackTest, AWitnessThatMovesOnDuringALookIsNoRollback) {
  const auto engine = StartFaulty(Options(), OpenWitness());
  const auto other = Start(
      Options(), std::make_unique<FaultyStore>(memory_, std::make_shared<Faults>()), OpenWitness());
  CounterKeyspace& keyspace = Create(*engine, Orders());
  CounterKeyspace& of_other = Create(*other, Orders());
  engine->WarmUp(keyspace);
  faults_->after_list = [&] { MintNumbers(*other, of_other, 300); };
  Reaudit(*engine);
  EXPECT_TRUE(keyspace.Verdict().ok()) << keyspace.Verdict().message();
  EXPECT_EQ(keyspace.Take(1).count, 1U);
  EXPECT_TRUE(of_other.Verdict().ok());
}

// S4: it was cut off while the store went back and others went on, as far as it knows or further.
// What the copy has of its newest block is its own still; what the copy lacks is somebody else's.
TEST_F(EngineRollbackTest, TheRestOfABlockIsNotItsOwnBecauseTheBeginningIs) {
  faults_->timeline = faults_->agreed = "a";
  const auto engine =
      Start(Options(), std::make_unique<FaultyStore>(OpenSqlite(), faults_), nullptr);
  CounterKeyspace& keyspace = Create(*engine, Orders());
  std::uint64_t last = MintNumbers(*engine, keyspace, 10).back();
  Backup();
  const std::uint64_t copied = Record().next;
  while (Record().next == copied) last = MintNumbers(*engine, keyspace, 1).back();
  ASSERT_LT(last + 1, copied) << "its next number is in the copy";

  const KeyspaceRecord seen = Record();
  RestoreByRename();
  const auto other = Start(Options(), OpenSqlite(), nullptr);
  CounterKeyspace& of_other = Create(*other, Orders());
  while (Record().rev < seen.rev || Record().next < seen.next) MintNumbers(*other, of_other, 1);

  faults_->instead = OpenSqlite();
  faults_->timeline = faults_->agreed = "b";
  clock_.Advance(engine->options().watch_interval);
  engine->StepForTest();
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
  EXPECT_EQ(keyspace.Take(1).count, 0U);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
}

}  // namespace
}  // namespace keymill::mint
