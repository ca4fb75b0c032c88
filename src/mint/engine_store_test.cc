// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Stores that may not be reserved from, although they answer: those whose server was replaced,
// those that lose what they acknowledge, and those that were moved.

#include <algorithm>

#include <gmock/gmock.h>

#include "mint/engine_test_support.h"

namespace keymill::mint {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const StoreFinding kFsyncOff{"fsync", true, "fsync is off", "ALTER SYSTEM SET fsync = on"};

class EngineStoreTest : public EngineTestBase {
 protected:
  // On the timeline "a", which everybody agreed on.
  std::unique_ptr<Engine> StartOnA(EngineOptions options = Options()) {
    faults_->timeline = faults_->agreed = "a";
    return StartFaulty(std::move(options));
  }
  void Advance(Engine& engine, std::chrono::milliseconds time) {
    clock_.Advance(time);
    engine.StepForTest();
  }
  KeyspaceRecord Record() {
    Store& store = faults_->instead ? *faults_->instead : *memory_;
    return *store.FindKeyspace("k", clock_.Monotonic() + 1s);
  }
  // A store in which the keyspace has come as far as `record`.
  std::shared_ptr<Store> CopyOf(const KeyspaceRecord& record) {
    std::shared_ptr<Store> copy = store::OpenMemoryStore(clock_);
    NewKeyspace made;
    made.name = record.name;
    made.id = record.id;
    made.recipe = record.recipe;
    made.recipe_hash = record.recipe_hash;
    made.first = record.first;
    made.end = record.end;
    EXPECT_TRUE(copy->CreateKeyspace(made, clock_.Monotonic() + 1s).ok());
    ReserveRequest request;
    request.keyspace_id = record.id;
    request.recipe_hash = record.recipe_hash;
    request.instance = "before";
    for (std::uint64_t rev = 1; rev < record.rev; ++rev) {
      const std::uint64_t left = record.next - record.first - (rev - 1);
      request.count = rev + 1 == record.rev ? static_cast<std::uint32_t>(left) : 1;
      request.reservation = std::to_string(rev);
      EXPECT_TRUE(copy->Reserve(request, clock_.Monotonic() + 1s).ok());
    }
    return copy;
  }
};

TEST_F(EngineStoreTest, NothingIsReservedInAnotherTimelineBeforeTheGracePeriodIsOver) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  EXPECT_EQ(MintNumbers(*engine, keyspace, 10).back(), 10U);
  faults_->timeline = "b";
  const std::size_t granted = faults_->granted.size();
  Status outcome;
  MintNumbers(*engine, keyspace, 100'000, &outcome);  // All that it holds.
  EXPECT_EQ(faults_->granted.size(), granted);
  EXPECT_EQ(outcome.code(), Code::kUnavailable);
  Advance(*engine, 100ms);  // The look that notices.
  EXPECT_EQ(engine->Ready().code(), Code::kUnavailable);
  EXPECT_THAT(engine->Ready().message(), HasSubstr("compare"));
  Advance(*engine, engine->options().timeline_grace - 1ms);
  EXPECT_EQ(faults_->granted.size(), granted);
  EXPECT_EQ(faults_->agreed, "a");
  Advance(*engine, 1ms);
  EXPECT_EQ(faults_->granted.size(), granted + 1);
  EXPECT_EQ(faults_->agreed, "b") << "so that whoever starts now need not wait";
  EXPECT_TRUE(engine->Ready().ok());
}

TEST_F(EngineStoreTest, WhatIsInTheReservoirIsServedInTheGracePeriod) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  faults_->timeline = "b";
  Advance(*engine, engine->options().audit_interval);
  EXPECT_TRUE(engine->Ready().ok());
  EXPECT_EQ(keyspace.Take(1).count, 1U);
}

TEST_F(EngineStoreTest, AStartInATimelineThatNobodyAgreedOnWaits) {
  {
    const auto engine = StartOnA();
    Create(*engine, Orders());
    engine->Close();
  }
  faults_->timeline = "b";
  const auto engine = StartFaulty(Options());
  Keyspace* const keyspace = *engine->Lookup("k");
  engine->WarmUp(*keyspace);
  EXPECT_EQ(keyspace->stats().ahead, 0U);
  EXPECT_EQ(engine->Ready().code(), Code::kUnavailable);
  Advance(*engine, engine->options().timeline_grace);
  EXPECT_GT(keyspace->stats().ahead, 0U);
}

TEST_F(EngineStoreTest, ATimelineThatOthersAgreedOnNeedsNoWaiting) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  faults_->timeline = faults_->agreed = "b";
  Advance(*engine, engine->options().audit_interval);
  const std::size_t granted = faults_->granted.size();
  MintNumbers(*engine, keyspace, 1000);
  EXPECT_GT(faults_->granted.size(), granted);
}

// A copy that is ahead of what b has seen and behind what a has seen: b would find nothing wrong
// with it, and hand out what a has handed out. That is what the period is for.
TEST_F(EngineStoreTest, AnInstanceThatHasSeenMoreObjectsInTime) {
  for (const bool grace : {true, false}) {
    SCOPED_TRACE(grace);
    memory_ = store::OpenMemoryStore(clock_);
    faults_->instead = nullptr;
    EngineOptions options = Options(/*block_size=*/10);
    options.refill.grow = false;
    if (!grace) options.timeline_grace = 0ms;
    const auto a = StartOnA(options);
    CounterKeyspace& of_a = Create(*a, Orders());
    MintNumbers(*a, of_a, 5);
    const auto b = StartFaulty(options);
    Keyspace& of_b = **b->Lookup("k");
    MintNumbers(*b, of_b, 5);
    const KeyspaceRecord at_copy = Record();
    const std::uint64_t last_of_a = MintNumbers(*a, of_a, 500).back();
    ASSERT_GT(last_of_a, at_copy.next + 100);

    faults_->instead = CopyOf(at_copy);
    faults_->timeline = "b";
    auto of_b_later = MintNumbers(*b, of_b, 300);
    Advance(*b, 100ms);
    const auto more = MintNumbers(*b, of_b, 300);
    of_b_later.insert(of_b_later.end(), more.begin(), more.end());
    Advance(*a, a->options().audit_interval);
    Advance(*b, options.timeline_grace);
    EXPECT_EQ(MintNumbers(*b, of_b, 300).size(), 0U) << "a has quarantined it";
    EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
    const auto repeats = std::count_if(of_b_later.begin(), of_b_later.end(), [&](auto number) {
      return number >= at_copy.next && number <= last_of_a;
    });
    EXPECT_EQ(repeats > 0, !grace) << repeats;
  }
}

// A store may refuse whatever names a timeline that is not agreed on: an objection must not.
TEST_F(EngineStoreTest, WhoHoldsNothingObjectsAsWell) {
  for (const bool away : {false, true}) {
    SCOPED_TRACE(away);
    memory_ = store::OpenMemoryStore(clock_);
    faults_->instead = nullptr;
    const auto engine = StartOnA();
    CounterKeyspace& keyspace = Create(*engine, Orders());
    MintNumbers(*engine, keyspace, 5);
    const KeyspaceRecord at_copy = Record();
    MintNumbers(*engine, keyspace, 500);
    while (keyspace.Take(1).count > 0) {
    }
    faults_->instead = CopyOf(at_copy);
    faults_->timeline = "b";
    if (away) faults_->give_back.push_back({Status(Code::kUnknownOutcome, "no answer in time")});
    Advance(*engine, engine->options().watch_interval);
    if (away) Advance(*engine, 100ms);  // Others wait for it: it is said again at once.
    EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
  }
}

// It was frozen for longer than the period, and others have gone on beyond what it has seen.
TEST_F(EngineStoreTest, WhoseLastBlockIsNotItsOwnObjectsAfterThePeriod) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 5);
  const KeyspaceRecord at_copy = Record();
  MintNumbers(*engine, keyspace, 500);
  while (keyspace.Take(1).count > 0) {
  }
  KeyspaceRecord gone_on = at_copy;
  gone_on.rev = Record().rev + 10;
  faults_->instead = CopyOf(gone_on);
  ASSERT_GE(Record().next, at_copy.next);
  faults_->timeline = faults_->agreed = "b";
  Advance(*engine, engine->options().watch_interval);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
}

// Nobody has asked it for the keyspace since its start: others may be asked for it.
TEST_F(EngineStoreTest, WhatOnlyTheWitnessKnowsIsObjectedTo) {
  KeyspaceRecord at_copy;
  {
    faults_->timeline = faults_->agreed = "a";
    const auto before = StartFaulty(Options(), OpenWitness());
    CounterKeyspace& keyspace = Create(*before, Orders());
    MintNumbers(*before, keyspace, 5);
    at_copy = Record();
    MintNumbers(*before, keyspace, 500);
  }
  const auto engine = StartFaulty(Options(), OpenWitness());
  ASSERT_EQ(engine->Find("k"), nullptr);
  faults_->instead = CopyOf(at_copy);
  faults_->timeline = "b";
  Advance(*engine, engine->options().watch_interval);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
}

// Somebody who has not seen it might make it anew, long after the period.
TEST_F(EngineStoreTest, TheNameOfAKeyspaceThatTheStoreHasLostIsOccupied) {
  for (const bool asked : {true, false}) {
    SCOPED_TRACE(asked);
    memory_ = store::OpenMemoryStore(clock_);
    faults_->instead = nullptr;
    faults_->timeline = faults_->agreed = "a";
    std::filesystem::remove_all(data_dir());
    auto engine = StartFaulty(Options(), OpenWitness());
    MintNumbers(*engine, Create(*engine, Orders()), 5);
    if (!asked) {
      engine.reset();
      engine = StartFaulty(Options(), OpenWitness());
    }
    faults_->instead = store::OpenMemoryStore(clock_);
    faults_->timeline = "b";
    Advance(*engine, engine->options().watch_interval);
    EXPECT_EQ(faults_->instead->FindKeyspace("k", clock_.Monotonic() + 1s).code(), Code::kNotFound)
        << "what is being filled may only be there in part";
    Advance(*engine, 1s);  // Long before the others agree, also if every call takes a while.
    EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
    EXPECT_EQ(Record().testified.next, Record().end);
    const auto stranger = StartFaulty(Options());
    const auto created = stranger->Create("k", Orders());
    if (created.ok()) {
      EXPECT_TRUE(MintNumbers(*stranger, *created->keyspace, 5).empty());
    } else {
      EXPECT_THAT(created.status().message(), HasSubstr("another keyspace had this name"));
    }
  }
}

// Whoever occupies it may be cut off before the second of its two calls.
TEST_F(EngineStoreTest, AnOccupiedNameIsOfNoUseBeforeItIsQuarantinedEither) {
  const auto engine = StartOnA();
  MintNumbers(*engine, Create(*engine, Orders()), 5);
  faults_->instead = store::OpenMemoryStore(clock_);
  faults_->timeline = faults_->agreed = "b";
  faults_->quarantine.push_back({{Code::kUnavailable, "busy"}, {}});
  Advance(*engine, engine->options().watch_interval);
  Advance(*engine, 1s);
  ASSERT_EQ(Record().state, KeyspaceState::kOpen);
  const auto stranger = StartFaulty(Options());
  const auto found = stranger->Lookup("k");
  ASSERT_TRUE(found.ok()) << found.status().message();
  (*found)->Want();
  EXPECT_EQ(MintNumbers(*stranger, **found, 5), std::vector<std::uint64_t>{Record().end - 1});
  Advance(*engine, 100ms);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
}

TEST_F(EngineStoreTest, WhileObjectionsComeInEverybodyWaitsOn) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  const auto object = [&](std::string_view name) {
    const auto made = engine->Create(name, Orders());
    ASSERT_TRUE(made.ok());
    ASSERT_TRUE(
        memory_->Quarantine(made->keyspace->id(), "seen more", {9, 9}, clock_.Monotonic() + 1s)
            .ok());
  };
  const std::chrono::milliseconds grace = engine->options().timeline_grace;
  faults_->timeline = "b";
  Advance(*engine, engine->options().watch_interval);
  object("l");
  Advance(*engine, grace);
  object("m");
  Advance(*engine, grace);
  EXPECT_EQ(faults_->agreed, "a");
  Advance(*engine, grace - 1ms);
  EXPECT_EQ(faults_->agreed, "a");
  Advance(*engine, 1ms);
  EXPECT_EQ(faults_->agreed, "b");
}

TEST_F(EngineStoreTest, EveryInstanceTestifiesWhatItHasSeen) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  const KeyspaceRecord seen = Record();
  ASSERT_TRUE(
      memory_->Quarantine(keyspace.id(), "by another", {1, 1}, clock_.Monotonic() + 1s).ok());
  Advance(*engine, engine->options().audit_interval);
  const KeyspaceRecord record = Record();
  EXPECT_GE(record.testified.rev, seen.rev);
  EXPECT_EQ(record.testified.next, seen.next);
  EXPECT_EQ(record.reason, "by another");
}

TEST_F(EngineStoreTest, AKeyspaceThatWasMadeAnewInAnOldCopyIsQuarantined) {
  const auto engine = StartOnA();
  CounterKeyspace& lost = Create(*engine, Orders());
  MintNumbers(*engine, lost, 10);
  faults_->instead = store::OpenMemoryStore(clock_);
  // The store goes back to before the keyspace, and somebody makes it once more.
  NewKeyspace anew;
  anew.name = "k";
  anew.id = "anew";
  anew.recipe = "r";
  anew.recipe_hash = "h";
  anew.first = 1;
  anew.end = 1000;
  ASSERT_TRUE(faults_->instead->CreateKeyspace(anew, clock_.Monotonic() + 1s).ok());
  Advance(*engine, engine->options().audit_interval);
  EXPECT_EQ(lost.Verdict().code(), Code::kQuarantined);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
}

TEST_F(EngineStoreTest, ARecoveryOfAKeyspaceThatWasMadeAnewHandsOutNothing) {
  const auto engine = StartOnA();
  CounterKeyspace& lost = Create(*engine, Orders());
  MintNumbers(*engine, lost, 10);
  KeyspaceRecord anew = Record();
  anew.id = "anew";
  anew.rev = 1;
  anew.next = anew.first;
  faults_->instead = CopyOf(anew);
  Advance(*engine, engine->options().audit_interval);
  ASSERT_EQ(Record().state, KeyspaceState::kQuarantined);
  ASSERT_TRUE(faults_->instead->Recover("anew", {}, clock_.Monotonic() + 1s).ok());
  EXPECT_EQ(Record().next, Record().end) << "all of it may be out";
}

// Cut off while the others went on with an old copy, it finds nothing behind: but what it holds is
// theirs by now.
TEST_F(EngineStoreTest, WhoComesBackLateLooksWhetherItsBlocksAreStillItsOwn) {
  EngineOptions options = Options(/*block_size=*/10);
  options.refill.grow = false;
  const auto late = StartOnA(options);
  CounterKeyspace& keyspace = Create(*late, Orders());
  MintNumbers(*late, keyspace, 5);
  KeyspaceRecord overtaken = Record();
  ASSERT_GT(keyspace.stats().ahead, 0U);
  overtaken.rev += 5;
  overtaken.next += 100;
  faults_->instead = CopyOf(overtaken);
  faults_->timeline = faults_->agreed = "b";
  Advance(*late, late->options().watch_interval);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
  EXPECT_EQ(keyspace.Take(1).count, 0U);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined) << "for everybody";
}

// It has stopped by then, and holds nothing that would tell it a second time.
TEST_F(EngineStoreTest, AQuarantineThatTheStoreDidNotTakeIsAskedForAgain) {
  const auto late = StartOnA();
  Keyspace& keyspace = Create(*late, Orders());
  MintNumbers(*late, keyspace, 5);
  KeyspaceRecord overtaken = Record();
  overtaken.rev += 5;
  overtaken.next += 100;
  faults_->instead = CopyOf(overtaken);
  faults_->timeline = faults_->agreed = "b";
  for (int i = 0; i < 2; ++i) faults_->quarantine.push_back({{Code::kUnavailable, "busy"}, {}});
  Advance(*late, late->options().watch_interval);
  EXPECT_EQ(keyspace.Verdict().code(), Code::kQuarantined);
  EXPECT_EQ(Record().state, KeyspaceState::kOpen);
  for (int i = 0; i < 2; ++i) Advance(*late, 100ms);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
  // Once only: somebody recovers it, and restarts this one later.
  ASSERT_TRUE(faults_->instead->Recover(keyspace.id(), {}, clock_.Monotonic() + 1s).ok());
  faults_->timeline = faults_->agreed = "c";
  Advance(*late, late->options().audit_interval);
  EXPECT_EQ(Record().state, KeyspaceState::kOpen);
}

TEST_F(EngineStoreTest, AKeyspaceIsNotGoneWhereItsStoreIsNot) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 5);
  while (keyspace.Take(1).count > 0) {
  }
  // Somebody has emptied the place, and nobody has looked at it since.
  faults_->reserve.push_back({{Code::kNotFound, "no such keyspace"}, {}});
  faults_->identity.push_back({{Code::kNotFound, "no store"}, {}});
  EXPECT_TRUE(MintNumbers(*engine, keyspace, 5).empty());
  EXPECT_TRUE(faults_->identity.empty());
  EXPECT_TRUE(keyspace.Verdict().ok()) << keyspace.Verdict().message();
  clock_.Advance(100ms);
  EXPECT_EQ(MintNumbers(*engine, keyspace, 5).size(), 5U) << "it was put back";
}

TEST_F(EngineStoreTest, AChangeOfTheServerAloneIsNoReasonToStop) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 5);
  faults_->timeline = faults_->agreed = "b";
  Advance(*engine, engine->options().watch_interval);
  EXPECT_TRUE(keyspace.Verdict().ok());
  EXPECT_EQ(keyspace.Take(1).count, 1U);
}

TEST_F(EngineStoreTest, AStopInTheGracePeriodChangesNothingInTheStore) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 5);
  faults_->timeline = "b";
  Advance(*engine, engine->options().watch_interval);
  const KeyspaceRecord before = Record();
  EXPECT_EQ(engine->Close(), 0U);
  EXPECT_EQ(Record().rev, before.rev);
  EXPECT_GT(keyspace.stats().blocks_burned, 0U);
}

// The seal itself changes no revision: who has seen it must notice a copy that lacks it.
TEST_F(EngineStoreTest, ACopyFromBeforeTheSealIsBehind) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 5);
  const KeyspaceRecord before = Record();
  ASSERT_TRUE(memory_->Seal("elsewhere", false, clock_.Monotonic() + 1s).ok());
  Advance(*engine, engine->options().audit_interval);
  ASSERT_TRUE(keyspace.sealed());
  faults_->instead = CopyOf(before);
  Advance(*engine, engine->options().audit_interval);
  EXPECT_EQ(Record().state, KeyspaceState::kQuarantined);
}

TEST_F(EngineStoreTest, AnUnsafeStoreIsRefusedAtTheStart) {
  faults_->findings = {kFsyncOff};
  const auto opened =
      Engine::Open(Options(), std::make_unique<FaultyStore>(memory_, faults_), nullptr, clock_);
  EXPECT_EQ(opened.code(), Code::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), HasSubstr("ALTER SYSTEM SET fsync = on"));
}

TEST_F(EngineStoreTest, WhatMendsItselfIsAReasonToTryAgain) {
  StoreFinding rewrite = kFsyncOff;
  rewrite.passes = true;
  faults_->findings = {rewrite};
  const auto open = [&] {
    return Engine::Open(Options(), std::make_unique<FaultyStore>(memory_, faults_), nullptr,
                        clock_);
  };
  EXPECT_EQ(open().code(), Code::kUnavailable);
  faults_->findings.clear();
  EXPECT_TRUE(open().ok());
}

TEST_F(EngineStoreTest, WhoOnlyLooksIsNotRefused) {
  faults_->findings = {kFsyncOff};
  EngineOptions options = Options();
  options.inspect = false;
  EXPECT_NE(StartFaulty(options), nullptr);
}

TEST_F(EngineStoreTest, AnAcceptedRiskIsUsed) {
  faults_->findings = {kFsyncOff};
  EngineOptions options = Options();
  options.accept_unsafe_store = "a test";
  const auto engine = StartFaulty(options);
  EXPECT_EQ(MintNumbers(*engine, Create(*engine, Orders()), 5).back(), 5U);
  EXPECT_EQ(engine->store_safety().accepted_risk(), "fsync is off");
}

TEST_F(EngineStoreTest, AStoreThatBecomesUnsafeIsNotReservedFromUntilItIsMended) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  faults_->findings = {kFsyncOff};
  Advance(*engine, engine->options().inspect_interval);
  const std::size_t granted = faults_->granted.size();
  Status outcome;
  MintNumbers(*engine, keyspace, 100'000, &outcome);
  EXPECT_EQ(faults_->granted.size(), granted);
  EXPECT_THAT(outcome.message(), HasSubstr("fsync is off"));
  EXPECT_EQ(engine->Ready().code(), Code::kUnavailable);
  faults_->findings.clear();
  Advance(*engine, engine->options().inspect_interval);
  EXPECT_GT(faults_->granted.size(), granted);
  EXPECT_TRUE(engine->Ready().ok());
}

TEST_F(EngineStoreTest, AStoreThatComesBackIsInspectedAgain) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  const int before = faults_->inspections;
  Advance(*engine, engine->options().audit_interval);
  EXPECT_EQ(faults_->inspections, before) << "once a minute is enough";
  faults_->identity.push_back({Status(Code::kUnavailable, "gone")});
  Advance(*engine, engine->options().audit_interval);
  EXPECT_FALSE(engine->store_up());
  Advance(*engine, 100ms);
  EXPECT_TRUE(engine->store_up());
  EXPECT_EQ(faults_->inspections, before + 1);
}

TEST_F(EngineStoreTest, WhatASealedStoreHasGrantedIsHandedOutToTheEnd) {
  const auto engine = StartOnA();
  CounterKeyspace& keyspace = Create(*engine, Orders());
  MintNumbers(*engine, keyspace, 10);
  const std::uint64_t ahead = keyspace.stats().ahead;
  ASSERT_GT(ahead, 0U);
  KeyspaceRecord sealed = Record();
  sealed.state = KeyspaceState::kSealed;
  sealed.reason = "etcd://elsewhere";
  keyspace.Observe(sealed);
  const std::size_t granted = faults_->granted.size();
  Status outcome;
  EXPECT_EQ(MintNumbers(*engine, keyspace, ahead + 1, &outcome).size(), ahead);
  EXPECT_EQ(outcome.code(), Code::kFailedPrecondition);
  EXPECT_THAT(outcome.message(), HasSubstr("etcd://elsewhere"));
  EXPECT_EQ(faults_->granted.size(), granted);
}

}  // namespace
}  // namespace keymill::mint
