// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::store {
namespace {

using testing::AllOf;
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
  EXPECT_THAT(FoundWith("innodb_flush_method", "O_DIRECT_NO_FSYNC"), IsEmpty());
}

TEST(MariadbInspectTest, FindsWhatLosesAcknowledgedBlocks) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"innodb_flush_log_at_trx_commit", "0"},
                                                        {"innodb_flush_log_at_trx_commit", "2"},
                                                        {"innodb_doublewrite", "OFF"},
                                                        {"innodb_doublewrite", "DETECT_ONLY"},
                                                        {"innodb_flush_method", "nosync"},
                                                        {"innodb_flush_method", "littlesync"},
                                                        {"innodb_force_recovery", "1"},
                                                        {"read_only", "ON"},
                                                        {"read_only", "1"},
                                                        {"read_only", "NO_LOCK"},
                                                        {"wsrep_on", "ON"}}) {
    EXPECT_THAT(FoundWith(name, value), ElementsAre(name)) << value;
  }
  MariadbFacts facts = Sound();
  facts.status["innodb_redo_log_enabled"] = "OFF";
  EXPECT_THAT(Found(facts), ElementsAre("innodb_redo_log"));
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
  EXPECT_THAT(Found(facts), ElementsAre("binlog_format"));
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

TEST(MariadbInspectTest, SemiSyncIsFineOnceItWaitsForEver) {
  for (const std::string side : {"master", "source"}) {
    const std::string prefix = "rpl_semi_sync_" + side + "_";
    const std::string lonely = prefix + (side == "source" ? "wait_no_replica" : "wait_no_slave");
    MariadbFacts facts = Sound();
    facts.status["slaves_connected"] = "1";
    facts.variables[prefix + "enabled"] = "ON";
    facts.variables[prefix + "timeout"] = "10000";
    facts.variables[prefix + "wait_point"] = "AFTER_COMMIT";
    facts.variables[lonely] = "OFF";
    const auto found = JudgeMariadb(facts);
    ASSERT_EQ(found.size(), 1U) << side;
    EXPECT_THAT(found[0].says, HasSubstr("goes on without its replica after 10000 ms"));
    // Word by word what the fix says.
    for (const std::string& set :
         {prefix + "timeout = 4294967295", prefix + "wait_point = AFTER_SYNC", lonely + " = ON"}) {
      EXPECT_THAT(Found(facts), ElementsAre("(replicas)")) << "before " << set;
      EXPECT_THAT(found[0].fix, HasSubstr("SET GLOBAL " + set));
      const std::size_t space = set.find(' ');
      facts.variables[set.substr(0, space)] = set.substr(space + 3);
    }
    EXPECT_THAT(Found(facts), IsEmpty()) << side;
    facts.variables[prefix + "timeout"] = "18446744073709551615";
    EXPECT_THAT(Found(facts), IsEmpty()) << side;
  }
}

// A server whose own half of semi-synchronous replication is set as it should be.
MariadbFacts SemiSync(const std::string& side) {
  const std::string prefix = "rpl_semi_sync_" + side + "_";
  MariadbFacts facts = Sound();
  facts.status["slaves_connected"] = "2";
  facts.status[prefix + "status"] = "ON";
  facts.status[prefix + "clients"] = "2";
  facts.variables[prefix + "enabled"] = "ON";
  facts.variables[prefix + "timeout"] = "4294967295";
  facts.variables[prefix + "wait_point"] = "AFTER_SYNC";
  return facts;
}

TEST(MariadbInspectTest, SemiSyncIsInForceOnlyWhileReplicasTakePart) {
  for (const std::string side : {"master", "source"}) {
    const std::string prefix = "rpl_semi_sync_" + side + "_";
    const std::string on_replica = side == "source" ? "rpl_semi_sync_replica_enabled = ON"
                                                    : "rpl_semi_sync_slave_enabled = ON";
    MariadbFacts facts = SemiSync(side);
    EXPECT_THAT(Found(facts), IsEmpty()) << side;
    facts.status[prefix + "clients"] = "1";
    EXPECT_THAT(Found(facts), ElementsAre("(replicas)"));
    EXPECT_THAT(JudgeMariadb(facts)[0].says, HasSubstr("1 of 2 replicas follow semi-sync"));
    EXPECT_THAT(JudgeMariadb(facts)[0].fix, HasSubstr(on_replica));
    facts.status[prefix + "clients"] = "0";
    facts.status[prefix + "status"] = "OFF";
    EXPECT_THAT(JudgeMariadb(facts)[0].says, HasSubstr(prefix + "status is OFF"));
    EXPECT_THAT(JudgeMariadb(facts)[0].fix, HasSubstr(on_replica));
  }
}

TEST(MariadbInspectTest, TheFixNamesTheVariablesOfTheServer) {
  MariadbFacts facts = Sound();
  facts.status["slaves_connected"] = "1";
  EXPECT_THAT(JudgeMariadb(facts)[0].fix, AllOf(HasSubstr("rpl_semi_sync_master_enabled = ON"),
                                                HasSubstr("rpl_semi_sync_slave_enabled = ON")));
  facts.variables["rpl_semi_sync_source_enabled"] = "OFF";
  EXPECT_THAT(JudgeMariadb(facts)[0].fix, HasSubstr("rpl_semi_sync_source_enabled = ON"));
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
