// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/inspect.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace keymill::store::etcd {
namespace {

MemberFacts Good(std::string version = "3.6.9") {
  return {.name = "a:2379",
          .version = std::move(version),
          .has_leader = true,
          .is_leader = true,
          .is_learner = false,
          .db_size_bytes = 1 << 20,
          .raft_index = 100,
          .applied_index = 100,
          .has_metrics = true,
          .quota_bytes = std::int64_t{1} << 31,
          .fsync_count = 50,
          .put_count = 40,
          .started_at_seconds = 7,
          .revision = 90,
          .compacted_revision = 1};
}

std::vector<StoreFinding> JudgeOne(MemberFacts member, std::size_t voters = 3,
                                   const std::map<std::string, FsyncMark>& before = {}) {
  return Judge({.members = {std::move(member)}, .unreachable = {}, .voters = voters, .alarms = {}},
               before);
}

// "version!" for each unsafe finding, "version" for a warning.
std::vector<std::string> Checks(const std::vector<StoreFinding>& findings) {
  std::vector<std::string> checks;
  for (const StoreFinding& finding : findings) {
    EXPECT_FALSE(finding.says.empty() || finding.fix.empty()) << finding.check;
    EXPECT_EQ(finding.says.find('#'), std::string::npos) << "what it does, not which bug it is";
    checks.push_back(finding.check + (finding.unsafe ? "!" : ""));
  }
  return checks;
}

using List = std::vector<std::string>;

TEST(InspectTest, AGoodClusterHasNoFindings) {
  for (const char* version : {"3.4.42", "3.5.28", "3.6.9", "3.7.0", "4.0.0"}) {
    EXPECT_EQ(Checks(JudgeOne(Good(version))), List()) << version;
  }
}

TEST(InspectTest, VersionsThatLoseDataAreUnsafe) {
  for (const char* version : {"3.5.0", "3.5.1", "3.5.2"}) {
    EXPECT_EQ(Checks(JudgeOne(Good(version))).at(0), "version!") << version;
  }
  for (const char* version : {"3.3.27", "3.4.20", "3.5.4"}) {
    EXPECT_EQ(Checks(JudgeOne(Good(version), 1)).at(0), "members");
    EXPECT_EQ(Checks(JudgeOne(Good(version), 1)).at(1), "version!") << version;
    EXPECT_EQ(Checks(JudgeOne(Good(version), 3)).at(0), "version") << "three keep it: " << version;
  }
}

TEST(InspectTest, VersionsWithStaleReadsAreWarnedAbout) {
  EXPECT_EQ(Checks(JudgeOne(Good("3.4.23"))), List({"version"}));
  EXPECT_EQ(Checks(JudgeOne(Good("3.5.13"))), List({"version", "version"}));
  EXPECT_EQ(Checks(JudgeOne(Good("3.5.27"))), List({"version"}));
  EXPECT_EQ(Checks(JudgeOne(Good("3.6.8"))), List({"version"}));
  EXPECT_EQ(Checks(JudgeOne(Good("git"))), List({"version"}));
}

TEST(InspectTest, AMemberThatNeverSyncsIsUnsafe) {
  MemberFacts leader = Good();
  leader.fsync_count = 0;
  EXPECT_EQ(Checks(JudgeOne(leader)), List({"fsync!"}));
  leader.fsync_count = 2;
  EXPECT_EQ(Checks(JudgeOne(leader)), List({"fsync!"})) << "those of a new log";
  leader.put_count = 1;
  EXPECT_EQ(Checks(JudgeOne(leader)), List()) << "too early to tell";
  MemberFacts follower = Good();
  follower.is_leader = false;
  follower.fsync_count = 0;
  EXPECT_EQ(Checks(JudgeOne(follower)), List()) << "it may have had nothing to write yet";
  EXPECT_EQ(Checks(JudgeOne(follower, 3, {{"a:2379", {99, 0, 7}}})), List({"fsync!"}));
  EXPECT_EQ(Checks(JudgeOne(follower, 3, {{"a:2379", {100, 0, 7}}})), List())
      << "nothing was written";
  EXPECT_EQ(Checks(JudgeOne(Good(), 3, {{"a:2379", {90, 50, 7}}})), List({"fsync!"}));
  EXPECT_EQ(Checks(JudgeOne(Good(), 3, {{"a:2379", {90, 45, 7}}})), List());
  EXPECT_EQ(Checks(JudgeOne(Good(), 3, {{"a:2379", {90, 50, 6}}})), List()) << "it was restarted";
  MemberFacts silent = Good();
  silent.has_metrics = false;
  EXPECT_EQ(Checks(JudgeOne(silent)), List({"fsync"}));
}

TEST(InspectTest, AlarmsMembersAndSpace) {
  const ClusterFacts facts{.members = {Good()},
                           .unreachable = {"connect to b:2379: refused"},
                           .voters = 2,
                           .alarms = {"CORRUPT", "NOSPACE"}};
  const auto found = Judge(facts, {});
  EXPECT_EQ(Checks(found), List({"alarm!", "alarm", "members", "member"}));
  const std::string compact =
      fmt::format("--endpoints={} compact {};", Good().name, Good().revision);
  EXPECT_NE(found[1].fix.find(compact), std::string::npos) << found[1].fix;
  MemberFacts full = Good();
  full.db_size_bytes = full.quota_bytes / 100 * 81;
  EXPECT_EQ(Checks(JudgeOne(full)), List({"space"}));
  MemberFacts old = Good();
  old.revision = 200'000;
  EXPECT_EQ(Checks(JudgeOne(old)), List());
  old.compacted_revision = -1;
  EXPECT_EQ(Checks(JudgeOne(old)), List({"compaction"}));
  old.revision = 5'000'000;
  old.compacted_revision = 4'000'000;
  EXPECT_EQ(Checks(JudgeOne(old)), List());
  old.compacted_revision = 3'900'000;
  EXPECT_EQ(Checks(JudgeOne(old)), List({"compaction"})) << "once was not enough";
  old.has_metrics = false;
  old.compacted_revision = 0;
  EXPECT_EQ(Checks(JudgeOne(old)), List({"fsync"})) << "nobody told when it was";
  MemberFacts apart = Good();
  apart.has_leader = apart.is_leader = false;
  apart.is_learner = true;
  EXPECT_EQ(Checks(JudgeOne(apart)), List({"leader", "learner"}));
}

// As etcd 3.4.23 has said it.
TEST(InspectTest, ReadsWhatAMemberSays) {
  MemberFacts facts;
  ReadStatus(R"({"header":{"cluster_id":"3","member_id":"33","revision":"2","raft_term":"2"},)"
             R"("version":"3.4.23","dbSize":"20480","leader":"33","raftIndex":"6","raftTerm":"2",)"
             R"("raftAppliedIndex":"5"})",
             facts);
  EXPECT_EQ(facts.version, "3.4.23");
  EXPECT_TRUE(facts.has_leader && facts.is_leader && !facts.is_learner);
  EXPECT_EQ(facts.db_size_bytes, 20480);
  EXPECT_EQ(facts.raft_index, 6U);
  EXPECT_EQ(facts.applied_index, 5U);
  EXPECT_EQ(facts.revision, 2);
  ReadMetrics(
      "# TYPE etcd_disk_wal_fsync_duration_seconds histogram\n"
      "etcd_disk_wal_fsync_duration_seconds_count 8\n"
      "etcd_debugging_mvcc_compact_revision -1\n"
      "# HELP etcd_server_quota_backend_bytes x\netcd_server_quota_backend_bytes 2.147483648e+09\n",
      facts);
  EXPECT_TRUE(facts.has_metrics);
  EXPECT_EQ(facts.fsync_count, 8U);
  EXPECT_EQ(facts.quota_bytes, 2'147'483'648);
  EXPECT_EQ(facts.compacted_revision, -1);
  MemberFacts nothing;
  ReadStatus("no JSON", nothing);
  ReadMetrics("<html>", nothing);
  EXPECT_FALSE(nothing.has_leader || nothing.has_metrics);
}

}  // namespace
}  // namespace keymill::store::etcd
