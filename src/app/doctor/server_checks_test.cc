// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/server_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace keymill::app::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

ServerFacts Sound() {
  ServerFacts facts;
  facts.place = "redis://***@db";
  facts.witness_path = "/srv/data/witness";
  facts.flags = " --store redis://db";
  return facts;
}

// With a keyspace, and a witness that has seen it.
ServerFacts Used() {
  ServerFacts facts = Sound();
  KeyspaceRecord links;
  links.name = "links";
  links.id = "k";
  links.end = 1000;
  links.next = 100;
  links.rev = 5;
  facts.keyspaces = {links};
  facts.witness.exists = true;
  facts.witness.locations = {{"store", facts.place}};
  facts.witness.keyspaces = {{"store", "k", "links", {5, 100}}};
  return facts;
}

// The only one that is not well.
Finding Trouble(const ServerFacts& facts) {
  Findings found;
  for (const Finding& each : CheckServer(facts)) {
    if (each.severity != Severity::kOk) found.push_back(each);
  }
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? Finding() : found.front();
}

Finding Only(const ServerFacts& facts) {
  Findings found = CheckServer(facts);
  std::erase_if(found, [](const Finding& each) { return each.check == "keyspaces"; });
  EXPECT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().check, "store");
  EXPECT_EQ(found.front().fix.empty(), found.front().severity == Severity::kOk);
  return found.front();
}

TEST(ServerChecksTest, AServerThatAnswersIsWell) {
  EXPECT_EQ(Only(Sound()).severity, Severity::kOk);
}

TEST(ServerChecksTest, WhatTheStoreFindsIsPassedOn) {
  ServerFacts facts = Sound();
  facts.seen = {{"fsync", true, "fsync is off", "fsync = on"},
                {"members", false, "one member", "add two"}};
  const Findings found = CheckServer(facts);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[1].check, "store fsync");
  EXPECT_EQ(found[1].severity, Severity::kProblem);
  EXPECT_EQ(found[1].fix, "fsync = on");
  EXPECT_EQ(found[2].check, "store members");
  EXPECT_EQ(found[2].severity, Severity::kWarning);
}

TEST(ServerChecksTest, AServerThatIsAwayOrRefusesIsAProblem) {
  ServerFacts facts = Sound();
  facts.opened = Status(Code::kUnavailable, "connection refused");
  EXPECT_THAT(Only(facts).says, HasSubstr("cannot be reached: connection refused"));
  EXPECT_EQ(Only(facts).severity, Severity::kProblem);
  facts.opened = Status(Code::kFailedPrecondition, "wrong password");
  EXPECT_THAT(Only(facts).says, HasSubstr("cannot be used: wrong password"));
  EXPECT_EQ(Only(facts).severity, Severity::kProblem);
}

TEST(ServerChecksTest, SettingsThatCannotBeReadAreAWarning) {
  ServerFacts facts = Sound();
  facts.inspected = Status(Code::kUnavailable, "denied");
  EXPECT_EQ(Trouble(facts).check, "store settings");
  EXPECT_EQ(Trouble(facts).severity, Severity::kWarning);
}

TEST(ServerChecksTest, AStoreThatWasMovedOrIsNotCompleteIsAProblem) {
  ServerFacts facts = Used();
  facts.keyspaces[0].state = KeyspaceState::kSealed;
  facts.keyspaces[0].reason = "etcd://other";
  EXPECT_EQ(Trouble(facts).severity, Severity::kProblem);
  EXPECT_THAT(Trouble(facts).says, HasSubstr("sealed: everything in it went to etcd://other"));
  EXPECT_THAT(Trouble(facts).fix, HasSubstr("name that store, etcd://other"));
  facts = Sound();
  facts.opened = Status(Code::kFailedPrecondition, "being filled");
  facts.being_filled = true;
  EXPECT_EQ(Trouble(facts).severity, Severity::kProblem);
  EXPECT_THAT(Trouble(facts).fix, HasSubstr("keymill store copy"));
}

TEST(ServerChecksTest, KeyspacesAreComparedWithTheWitness) {
  ServerFacts facts = Used();
  EXPECT_TRUE(IsHealthy(CheckServer(facts)));
  facts.witness.keyspaces[0].seen = {6, 100};
  EXPECT_EQ(Trouble(facts).check, "keyspace links");
  EXPECT_EQ(Trouble(facts).severity, Severity::kProblem);
  EXPECT_THAT(Trouble(facts).says, HasSubstr("the store went back"));
  EXPECT_THAT(Trouble(facts).fix, HasSubstr("keymill recover links --store redis://db"));
  facts = Used();
  facts.keyspaces[0].state = KeyspaceState::kQuarantined;
  facts.keyspaces[0].reason = "because";
  EXPECT_THAT(Trouble(facts).says, HasSubstr("quarantined: because"));
  EXPECT_THAT(Trouble(facts).fix, HasSubstr("keymill recover links --store redis://db"));
  facts = Used();
  facts.keyspaces.clear();
  EXPECT_THAT(Trouble(facts).says, HasSubstr("the store does not have it"));
  facts = Used();
  facts.witness_status = Status(Code::kFailedPrecondition, "damaged");
  EXPECT_EQ(Trouble(facts).check, "witness");
}

TEST(ServerChecksTest, SettingsAreToldBeforeThereIsAStore) {
  ServerFacts facts = Sound();
  facts.opened = Status(Code::kNotFound, "nothing there");
  facts.seen = {{"fsync", true, "fsync is off", "fsync = on"}};
  const Findings found = CheckServer(facts);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].severity, Severity::kNote);
  EXPECT_EQ(found[1].check, "store fsync");
  EXPECT_EQ(found[1].severity, Severity::kProblem);
}

TEST(ServerChecksTest, AStoreThatIsNotThereIsFineUnlessItWasOrMayNotBeMade) {
  ServerFacts facts = Sound();
  facts.opened = Status(Code::kNotFound, "nothing there");
  EXPECT_EQ(Only(facts).severity, Severity::kNote);
  facts.may_create = false;
  EXPECT_THAT(Only(facts).says, HasSubstr("store_create is never"));
  EXPECT_EQ(Only(facts).severity, Severity::kProblem);
  facts.witness.locations = {{"store", "redis://db"}};
  EXPECT_THAT(Only(facts).says, HasSubstr("the witness remembers redis://db"));
  EXPECT_THAT(Only(facts).fix, HasSubstr("mv /srv/data/witness /srv/data/witness.old"));
}

TEST(ServerChecksTest, NobodyThereIsToldWithoutThePassword) {
  const TempDir dir;
  Settings settings;
  for (const char* url : {"redis://:hunter2@127.0.0.1:1", "nosuch://:hunter2@127.0.0.1:1"}) {
    settings.store = url;
    const Finding found = Only(GatherServer(settings, dir.path(), "", SystemClock()));
    EXPECT_EQ(found.severity, Severity::kProblem);
    EXPECT_THAT(found.says, Not(HasSubstr("hunter2")));
  }
}

}  // namespace
}  // namespace keymill::app::doctor
