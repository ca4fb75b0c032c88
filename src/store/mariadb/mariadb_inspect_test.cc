// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A server that nothing is wrong with.
MariadbFacts Sound() {
  return {
      .version = "10.11.6-MariaDB-0+deb12u1",
      .variables = {{"innodb_flush_log_at_trx_commit", "1"},
                    {"innodb_doublewrite", "ON"},
                    {"innodb_force_recovery", "0"},
                    {"read_only", "OFF"},
                    {"log_bin", "OFF"},
                    {"sync_binlog", "0"},
                    {"binlog_format", "MIXED"},
                    {"wsrep_on", "OFF"}},
      .status = {{"slaves_connected", "0"}},
      .engines = {
          {"keymill_store", "InnoDB"}, {"keymill_ledger", "InnoDB"}, {"keymill_start", "MEMORY"}}};
}

// "check" of what is unsafe, "(check)" of what is only worth a warning.
std::vector<std::string> Found(const MariadbFacts& facts) {
  std::vector<std::string> found;
  for (const StoreFinding& finding : JudgeMariadb(facts)) {
    EXPECT_NE(finding.says, "");
    EXPECT_NE(finding.fix, "") << finding.check;
    found.push_back(finding.unsafe ? finding.check : "(" + finding.check + ")");
  }
  return found;
}

std::vector<std::string> FoundWith(const std::string& name, const std::string& value) {
  MariadbFacts facts = Sound();
  facts.variables[name] = value;
  return Found(facts);
}

TEST(MariadbInspectTest, NothingIsFoundOnASoundServer) {
  EXPECT_THAT(Found(Sound()), IsEmpty());
  EXPECT_THAT(FoundWith("innodb_flush_log_at_trx_commit", "3"), IsEmpty());
  EXPECT_THAT(FoundWith("innodb_doublewrite", "DETECT_AND_RECOVER"), IsEmpty());
}

TEST(MariadbInspectTest, FindsWhatLosesAcknowledgedBlocks) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"innodb_flush_log_at_trx_commit", "0"},
                                                        {"innodb_flush_log_at_trx_commit", "2"},
                                                        {"innodb_doublewrite", "OFF"},
                                                        {"innodb_force_recovery", "1"},
                                                        {"read_only", "ON"},
                                                        {"read_only", "1"},
                                                        {"read_only", "NO_LOCK"},
                                                        {"wsrep_on", "ON"}}) {
    EXPECT_THAT(FoundWith(name, value), ElementsAre(name)) << value;
  }
}

TEST(MariadbInspectTest, TheFixIsACommandAndALineOfTheConfiguration) {
  MariadbFacts facts = Sound();
  facts.variables["innodb_flush_log_at_trx_commit"] = "2";
  const auto findings = JudgeMariadb(facts);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].says, HasSubstr("innodb_flush_log_at_trx_commit is 2"));
  EXPECT_THAT(findings[0].fix, HasSubstr("SET GLOBAL innodb_flush_log_at_trx_commit = 1;"));
  EXPECT_THAT(findings[0].fix, HasSubstr("my.cnf: [mariadbd] innodb_flush_log_at_trx_commit = 1"));
}

// Without a binary log sync_binlog means nothing, and 0 is MariaDB's default.
TEST(MariadbInspectTest, ABinaryLogMustBeSynced) {
  MariadbFacts facts = Sound();
  facts.variables["log_bin"] = "ON";
  EXPECT_THAT(Found(facts), ElementsAre("sync_binlog"));
  facts.variables["sync_binlog"] = "1";
  EXPECT_THAT(Found(facts), IsEmpty());
  facts.variables["binlog_format"] = "STATEMENT";
  EXPECT_THAT(Found(facts), ElementsAre("(binlog_format)"));
}

TEST(MariadbInspectTest, EveryTableMustBeInnodb) {
  MariadbFacts facts = Sound();
  facts.engines.emplace_back("keymill_keyspaces", "MyISAM");
  EXPECT_THAT(Found(facts), ElementsAre("engine"));
  facts.engines.clear();
  EXPECT_THAT(Found(facts), IsEmpty()) << "nothing has been established yet";
}

TEST(MariadbInspectTest, WhatTellsOneStartFromTheNextMustNotOutliveIt) {
  MariadbFacts facts = Sound();
  facts.engines = {{"keymill_start", "InnoDB"}};
  EXPECT_THAT(Found(facts), ElementsAre("(engine)"));
}

TEST(MariadbInspectTest, KnowsVersionsOfBothServers) {
  MariadbFacts facts = Sound();
  for (const char* const version : {"10.2.3-MariaDB", "5.5.5-MariaDB", "8.0.0-MariaDB", "5.7.44"}) {
    facts.version = version;
    EXPECT_THAT(Found(facts), ElementsAre("version")) << version;
  }
  for (const char* const version : {"10.2.4-MariaDB", "11.4.2-MariaDB-log", "8.0.11", "9.1.0"}) {
    facts.version = version;
    EXPECT_THAT(Found(facts), IsEmpty()) << version;
  }
}

TEST(MariadbInspectTest, ReplicasAreWorthAWarning) {
  MariadbFacts facts = Sound();
  facts.status["slaves_connected"] = "2";
  EXPECT_THAT(Found(facts), ElementsAre("(replicas)"));
  EXPECT_THAT(FoundWith("rpl_semi_sync_master_enabled", "ON"), ElementsAre("(replicas)"));
}

TEST(MariadbInspectTest, WhatCannotBeSeenIsAWarningThatSaysSo) {
  MariadbFacts facts = Sound();
  facts.variables.clear();
  EXPECT_THAT(Found(facts), ElementsAre("(innodb_flush_log_at_trx_commit)", "(innodb_doublewrite)",
                                        "(innodb_force_recovery)", "(log_bin)"));
  facts = Sound();
  facts.variables["log_bin"] = "ON";
  facts.variables["sync_binlog"] = "1";
  facts.status.clear();
  EXPECT_THAT(Found(facts), ElementsAre("(replicas)"));
}

}  // namespace
}  // namespace keymill::store
