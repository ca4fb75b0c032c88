// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/inspect.h"

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/redis/redis_test_support.h"
#include "support/redis_process.h"

namespace keymill::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "check" of what is unsafe, "(check)" of what is only worth a warning.
std::vector<std::string> Found(Store& store) {
  const auto findings = store.Inspect(Soon());
  EXPECT_TRUE(findings.ok()) << findings.status().message();
  std::vector<std::string> found;
  for (const StoreFinding& finding : *findings) {
    found.push_back(finding.unsafe ? finding.check : fmt::format("({})", finding.check));
  }
  return found;
}

bool Says(const RedisProcess& server, const std::string& line) {
  return Told(server, "INFO persistence | grep -c " + line + " || true") == "1";
}

void Await(const RedisProcess& server, const std::string& line) {
  for (int i = 0; i < 3000 && !Says(server, line); ++i) ::poll(nullptr, 0, 10);
  ASSERT_TRUE(Says(server, line)) << line;
}

// A rewrite takes seconds then: each key half of one.
void FillForSlowRewrites(const RedisProcess& server) {
  for (int i = 0; i < 8; ++i) Tell(server, fmt::format("SET key{} v", i));
  Tell(server, "CONFIG SET rdb-key-save-delay 500000");
}

TEST(RedisInspectTest, AnAppendOnlyFileThatWasJustSwitchedOnIsNotInForceYet) {
  const RedisProcess server;
  auto seen = Open(UrlOf(server.port()));
  ASSERT_TRUE(seen.ok());
  EXPECT_THAT(Found(**seen), IsEmpty());
  FillForSlowRewrites(server);
  Tell(server, "CONFIG SET appendonly no");
  Tell(server, "CONFIG SET appendonly yes");
  EXPECT_TRUE(Says(server, "aof_enabled:1")) << "as if it were";
  // Also for whoever has seen the one before.
  EXPECT_THAT(Found(**seen), ElementsAre("aof_rewrite"));
  auto fresh = Open(UrlOf(server.port()));
  ASSERT_TRUE(fresh.ok());
  EXPECT_THAT(Found(**fresh), ElementsAre("aof_rewrite"));
  EXPECT_THAT((*fresh)->Inspect(Soon())->front().fix,
              AllOf(HasSubstr("wait until redis-cli"), HasSubstr("aof_rewrite_in_progress:0"),
                    HasSubstr("ask again")));
  EXPECT_TRUE((*fresh)->Inspect(Soon())->front().passes);
  Tell(server, "CONFIG SET rdb-key-save-delay 0");
  Tell(server, "CONFIG SET appendonly no");  // Ends the slow one.
  Tell(server, "CONFIG SET appendonly yes");
  Await(server, "aof_rewrite_in_progress:0");
  EXPECT_THAT(Found(**fresh), IsEmpty());
}

TEST(RedisInspectTest, AFirstRewriteThatEndsSoonIsWaitedFor) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 2; ++i) Tell(server, fmt::format("SET key{} v", i));
  Tell(server, "CONFIG SET rdb-key-save-delay 75000");
  // On a machine that is busy one of them may take too long.
  std::vector<std::string> found = {"not looked"};
  for (int tries = 0; tries < 20 && !found.empty(); ++tries) {
    Tell(server, "CONFIG SET appendonly no");
    Tell(server, "CONFIG SET appendonly yes");
    found = Found(**store);
  }
  EXPECT_THAT(found, IsEmpty());
}

TEST(RedisInspectTest, AnAppendOnlyFileThatWaitsForAnotherChildIsNotInForceYet) {
  const RedisProcess server({"--appendonly", "no"});
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  EXPECT_THAT((*store)->Inspect(Soon())->front().fix,
              AllOf(HasSubstr("CONFIG SET appendonly yes"), HasSubstr("  # then wait until")));
  FillForSlowRewrites(server);
  Tell(server, "BGSAVE");
  Tell(server, "CONFIG SET appendonly yes");
  EXPECT_TRUE(Says(server, "aof_rewrite_in_progress:0"));
  EXPECT_THAT(Found(**store), ElementsAre("aof_rewrite"));
  Tell(server, "CONFIG SET appendonly no");
  EXPECT_THAT(Found(**store), ElementsAre("appendonly", "aof_enabled"));
}

TEST(RedisInspectTest, AnOrdinaryRewriteHoldsUpNobodyWhoHasSeenTheFileInForce) {
  const RedisProcess server;
  FillForSlowRewrites(server);
  auto seen = Open(UrlOf(server.port()));
  ASSERT_TRUE(seen.ok());
  EXPECT_THAT(Found(**seen), IsEmpty());
  Tell(server, "BGREWRITEAOF");
  Await(server, "aof_rewrite_in_progress:1");
  EXPECT_THAT(Found(**seen), IsEmpty());
  // Who comes just now sees that settings were changed, but not which.
  auto fresh = Open(UrlOf(server.port()));
  ASSERT_TRUE(fresh.ok());
  EXPECT_THAT(Found(**fresh), ElementsAre("aof_rewrite"));
  Tell(server, "CONFIG SET appendonly no");  // Ends the rewrite.
}

TEST(RedisInspectTest, AnOrdinaryRewriteHoldsUpNobodyWhereNoSettingWasChanged) {
  const RedisProcess server({"--rdb-key-save-delay", "500000"});
  for (int i = 0; i < 8; ++i) Tell(server, fmt::format("SET key{} v", i));
  Tell(server, "BGREWRITEAOF");
  Await(server, "aof_rewrite_in_progress:1");
  auto fresh = Open(UrlOf(server.port()));
  ASSERT_TRUE(fresh.ok());
  EXPECT_THAT(Found(**fresh), IsEmpty());
  Tell(server, "CONFIG RESETSTAT");  // Nobody knows then.
  EXPECT_THAT(Found(**fresh), ElementsAre("aof_rewrite"));
  Tell(server, "CONFIG SET appendonly no");
}

TEST(RedisInspectTest, ARewriteThatFailedIsAWarningWhereTheFileIsInForce) {
  const RedisProcess server({"--rdb-key-save-delay", "500000"});
  for (int i = 0; i < 8; ++i) Tell(server, fmt::format("SET key{} v", i));
  const auto fail = [&] {
    Await(server, "aof_rewrite_in_progress:1");
    pid_t child = 0;
    std::ifstream(fmt::format("/proc/{0}/task/{0}/children", server.pid())) >> child;
    ASSERT_GT(child, 0);
    ::kill(child, SIGKILL);
    Await(server, "aof_last_bgrewrite_status:err");
  };
  Tell(server, "BGREWRITEAOF");
  fail();
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  EXPECT_THAT(Found(**store), ElementsAre("(aof_rewrite)"));
  // The first one after it was switched on: Redis tries again, and says that it failed.
  Tell(server, "CONFIG SET appendonly no");
  Tell(server, "CONFIG SET appendonly yes");
  fail();
  EXPECT_THAT(Found(**store), ElementsAre("aof_rewrite"));
  EXPECT_THAT((*store)->Inspect(Soon())->front().says, HasSubstr("failed"));
  EXPECT_FALSE((*store)->Inspect(Soon())->front().passes);
  Tell(server, "CONFIG SET appendonly no");
}

}  // namespace
}  // namespace keymill::store
