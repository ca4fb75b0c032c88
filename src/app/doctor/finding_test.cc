// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace keymill::app::doctor {
namespace {

const Findings kMixed = {{"a", Severity::kOk, "fine", ""},
                         {"longer", Severity::kNote, "by the way", "nothing"},
                         {"b", Severity::kProblem, "broken\x1b[2J", "mend it"}};

TEST(FindingTest, OnlyWarningsAndProblemsCount) {
  EXPECT_TRUE(IsHealthy({}));
  EXPECT_TRUE(IsHealthy({{"a", Severity::kOk, "", ""}, {"b", Severity::kNote, "", ""}}));
  EXPECT_FALSE(IsHealthy({{"a", Severity::kWarning, "", ""}}));
  EXPECT_FALSE(IsHealthy(kMixed));
}

TEST(FindingTest, TheTableHasAFixBelowItsFindingAndMovesNoCursor) {
  EXPECT_EQ(FindingsTable(kMixed),
            "ok       a       fine\n"
            "note     longer  by the way\n"
            "                 fix: nothing\n"
            "problem  b       broken\\x1b[2J\n"
            "                 fix: mend it\n"
            "1 problem, 0 warnings\n");
}

TEST(FindingTest, JsonHasTheSameFindings) {
  const auto json = nlohmann::json::parse(FindingsJson(kMixed));
  EXPECT_EQ(json["healthy"], false);
  EXPECT_EQ(json["problems"], 1);
  EXPECT_EQ(json["warnings"], 0);
  ASSERT_EQ(json["checks"].size(), 3U);
  EXPECT_EQ(json["checks"][0]["fix"], nullptr);
  EXPECT_EQ(json["checks"][2]["check"], "b");
  EXPECT_EQ(json["checks"][2]["severity"], "problem");
  EXPECT_EQ(json["checks"][2]["fix"], "mend it");
  EXPECT_EQ(nlohmann::json::parse(FindingsJson({}))["checks"], nlohmann::json::array());
}

TEST(FindingTest, APathIsOneWordOfACommand) {
  EXPECT_EQ(ShellWord("/srv/data-1/keymill.db"), "/srv/data-1/keymill.db");
  EXPECT_EQ(ShellWord("/my data"), "'/my data'");
  EXPECT_EQ(ShellWord("it's; rm $x"), "'it'\\''s; rm $x'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(FindingTest, OwnershipGoesToTheServersUserOnly) {
  EXPECT_EQ(OwnershipFix(990, "/srv/data", true),
            "ask as the user that the server runs as; if that is 990: chown -R 990 /srv/data && "
            "chmod 700 /srv/data");
  EXPECT_EQ(OwnershipFix(990, "/my file", false),
            "ask as the user that the server runs as; if that is 990: chown 990 '/my file' && "
            "chmod 600 '/my file'");
}

}  // namespace
}  // namespace keymill::app::doctor
