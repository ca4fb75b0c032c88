// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What only a Redis store does. What every store does is in tests/conformance.

#include "store/redis/redis_store.h"

#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "store/redis/client.h"
#include "store/redis/layout.h"
#include "store/redis/redis_test_support.h"
#include "store/redis/scripts.h"
#include "store/redis/settings.h"
#include "support/redis_process.h"

namespace keymill::store {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Checks(Store& store, bool only_unsafe = false) {
  const auto findings = store.Inspect(Soon());
  EXPECT_TRUE(findings.ok()) << findings.status().message();
  std::vector<std::string> checks;
  for (const StoreFinding& finding : *findings) {
    EXPECT_NE(finding.says, "");
    EXPECT_NE(finding.fix, "");
    if (finding.unsafe || !only_unsafe) checks.push_back(finding.check);
  }
  return checks;
}

ReserveRequest Ask(const std::string& id) {
  return {.keyspace_id = id,
          .recipe_hash = "h",
          .count = 10,
          .witness = {},
          .instance = "a",
          .reservation = RandomHex(16),
          .above = 0,
          .spent = {}};
}

TEST(RedisStoreTest, AStoreThatIsNotThereIsMadeOnlyOnPurpose) {
  const RedisProcess server;
  EXPECT_EQ(Open(UrlOf(server.port()), /*create=*/false).code(), Code::kNotFound);
  auto made = Open(UrlOf(server.port()));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ((*made)->Identity(Soon()).code(), Code::kNotFound) << "nothing is established yet";
  EXPECT_EQ((*made)->CreateKeyspace(Links(), Soon()).code(), Code::kUnavailable);
  ASSERT_TRUE((*made)->Establish({}, Soon()).ok());
  EXPECT_TRUE(Open(UrlOf(server.port()), /*create=*/false).ok());
  Tell(server, "HSET '{keymill}:store' schema 99");
  EXPECT_EQ(Open(UrlOf(server.port())).code(), Code::kFailedPrecondition);
  EXPECT_EQ((*made)->Establish({}, Soon()).code(), Code::kFailedPrecondition);
}

TEST(RedisStoreTest, AWriteWhoseReplyIsLostIsUnknown) {
  const RedisProcess server;
  TrapProxy proxy(server.port(), std::string(redis::ApplyScript().sha1()));
  auto store = Open(UrlOf(proxy.port()));
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto made = (*store)->Establish({{{Links(), 0, {}}}, "a"}, Soon());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string id = made->keyspaces[0].record.id;
  // The server has to learn the script first; what it does not know it has not done.
  proxy.Disarm();
  ASSERT_TRUE((*store)->Reserve(Ask(id), Soon()).ok());
  TrapProxy again(server.port(), std::string(redis::ApplyScript().sha1()));
  auto cut = Open(UrlOf(again.port()));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ((*cut)->Reserve(Ask(id), Soon()).code(), Code::kUnknownOutcome);
  again.Disarm();
  const auto next = (*cut)->Reserve(Ask(id), Soon());
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_EQ(next->first, 20U) << "the lost one had [10, 20)";
}

TEST(RedisStoreTest, AFrozenServerHoldsNobodyBeyondTheDeadline) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  const auto made = (*store)->Establish({{{Links(), 0, {}}}, "a"}, Soon());
  ASSERT_TRUE(made.ok());
  server.Freeze();
  const auto began = SystemClock().Monotonic();
  EXPECT_EQ((*store)->Reserve(Ask(made->keyspaces[0].record.id), In(milliseconds(200))).code(),
            Code::kUnavailable);
  EXPECT_EQ(Open(UrlOf(server.port()), true, In(milliseconds(200))).code(), Code::kUnavailable);
  EXPECT_LT(SystemClock().Monotonic() - began, milliseconds(5000));
  server.Thaw();
  EXPECT_TRUE((*store)->Reserve(Ask(made->keyspaces[0].record.id), Soon()).ok());
}

TEST(RedisStoreTest, AServerWithoutMemoryChangesNothing) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  const auto made = (*store)->Establish({{{Links(), 0, {}}}, "a"}, Soon());
  ASSERT_TRUE(made.ok());
  Tell(server, "CONFIG SET maxmemory 1");
  const auto refused = (*store)->Reserve(Ask(made->keyspaces[0].record.id), Soon());
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("maxmemory"));
  Tell(server, "CONFIG SET maxmemory 0");
  const auto block = (*store)->Reserve(Ask(made->keyspaces[0].record.id), Soon());
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_EQ(block->first, 0U);
}

TEST(RedisStoreTest, AWrongPasswordIsRefusedAndNeverShown) {
  const RedisProcess server({"--requirepass", "right"});
  for (const char* const login : {":wrong@", "mill:wrong@", ""}) {
    const auto refused = Open(fmt::format("redis://{}127.0.0.1:{}", login, server.port()));
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition) << login;
    EXPECT_THAT(refused.status().message(), Not(HasSubstr("wrong@")));
  }
  EXPECT_TRUE(Open(fmt::format("redis://:right@127.0.0.1:{}/3", server.port())).ok());
  EXPECT_EQ(Open(fmt::format("redis://:right@127.0.0.1:{}/99", server.port())).code(),
            Code::kFailedPrecondition);
}

// Scores of a sorted set and numbers in Lua are doubles, which lose integers from 2^53 on.
TEST(RedisStoreTest, TheLedgerIsExactWhereDoublesAreNot) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Establish({}, Soon()).ok());
  constexpr std::uint64_t kEdge = std::uint64_t{1} << 53;
  for (const std::uint64_t first : {kEdge - 2, kNumberEnd - 9}) {
    NewKeyspace keyspace = Links();
    keyspace.name = std::to_string(first);
    keyspace.first = first;
    keyspace.end = first + 9;
    ASSERT_TRUE((*store)->CreateKeyspace(keyspace, Soon()).ok());
    ReserveRequest request = Ask(keyspace.id);
    request.count = 1;
    for (std::uint64_t number = first; number < first + 5; ++number) {
      request.instance = std::to_string(number);  // A row for each.
      request.reservation = RandomHex(16);
      const auto block = (*store)->Reserve(request, Soon());
      ASSERT_TRUE(block.ok()) << block.status().message();
      EXPECT_EQ(block->first, number);
      const auto row = (*store)->FindBlock(keyspace.id, number, Soon());
      ASSERT_TRUE(row.ok() && row->has_value());
      EXPECT_EQ((*row)->block_id, block->id);
      EXPECT_FALSE((*store)->FindBlock(keyspace.id, number + 1, Soon())->has_value());
    }
    const auto rows = (*store)->ListLedger(keyspace.id, first + 1, 2, Soon());
    ASSERT_EQ(rows->size(), 2U);
    EXPECT_EQ(rows->back().first, first + 2);
    const GiveBackRequest back{keyspace.id, rows->back().block_id, first + 2, {}};
    ASSERT_TRUE((*store)->GiveBack(back, Soon()).ok());
    request.reservation = RandomHex(16);
    request.above = first + 2;
    EXPECT_EQ((*store)->Reserve(request, Soon())->first, first + 2);
    EXPECT_EQ((*store)->FindKeyspace(keyspace.name, Soon())->next, first + 5);
  }
}

// Whoever compared its witness with another server's data, or the same server's before it was
// started again, must not change anything.
TEST(RedisStoreTest, AReservationFromAnotherTimelineChangesNothing) {
  RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  const auto made = (*store)->Establish({{{Links(), 10, RandomHex(16)}}, "a"}, Soon());
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->identity.agreed_timeline, made->identity.timeline) << "nobody can know better";
  ReserveRequest request = Ask(made->keyspaces[0].record.id);
  request.timeline = made->identity.timeline;
  ASSERT_TRUE((*store)->Reserve(request, Soon()).ok());
  const std::string block = made->keyspaces[0].block->id;

  std::string agreed = made->identity.timeline;
  const auto changes = [&](const char* what) {
    const auto before = (*store)->FindKeyspace("links", Soon());
    ReserveRequest late = Ask(request.keyspace_id);
    late.timeline = agreed;
    late.witness = {99, 999};  // Not even a quarantine is written.
    const auto refused = (*store)->Reserve(late, Soon());
    EXPECT_EQ(refused.code(), Code::kUnavailable) << what;
    EXPECT_THAT(refused.status().message(), HasSubstr("started anew"));
    EXPECT_EQ((*store)->GiveBack({late.keyspace_id, block, 0, {}, agreed}, Soon()).code(),
              Code::kUnavailable);
    EXPECT_EQ((*store)->FindKeyspace("links", Soon())->rev, before->rev);
    const auto now = (*store)->Identity(Soon());
    ASSERT_TRUE(now.ok());
    EXPECT_NE(now->timeline, agreed);
    EXPECT_EQ(now->agreed_timeline, agreed);
    ASSERT_TRUE((*store)->AgreeOnTimeline(agreed, Soon()).ok());
    EXPECT_EQ((*store)->Identity(Soon())->agreed_timeline, agreed) << "it is not the present one";
    ASSERT_TRUE((*store)->AgreeOnTimeline(now->timeline, Soon()).ok());
    EXPECT_EQ((*store)->Identity(Soon())->agreed_timeline, now->timeline);
    late.witness = {};
    late.timeline = agreed = now->timeline;
    EXPECT_TRUE((*store)->Reserve(late, Soon()).ok());
  };
  server.KillAndStart();
  // It listens before it has read its data.
  for (int i = 0; i < 3000 && !(*store)->Identity(Soon()).ok(); ++i) ::poll(nullptr, 0, 10);
  changes("started again");
  // Its data could have been replaced, and its connections stay.
  Tell(server, "REPLICAOF 127.0.0.1 1");
  Tell(server, "REPLICAOF NO ONE");
  changes("followed another one");
}

TEST(RedisStoreTest, ARecoveryBurnsReturnedRowsOfAnyNumber) {
  const RedisProcess server({"--appendfsync", "no"});  // For speed: it writes much.
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  NewKeyspace keyspace = Links();
  keyspace.end = 10'000;
  const auto made = (*store)->Establish({{{keyspace, 0, {}}}, "a"}, Soon());
  ASSERT_TRUE(made.ok());
  constexpr std::uint64_t kRows = 2'000;  // Two changes full, and one for what is left.
  for (std::uint64_t i = 0; i < kRows; ++i) {
    ReserveRequest request = Ask(keyspace.id);
    request.count = 2;
    request.above = kNumberEnd;  // Nothing that was given back.
    const auto block = (*store)->Reserve(request, Soon());
    ASSERT_TRUE(block.ok()) << block.status().message();
    ASSERT_TRUE((*store)->GiveBack({keyspace.id, block->id, block->first + 1, {}}, Soon()).ok());
  }
  ASSERT_TRUE((*store)->Quarantine(keyspace.id, "testing", {1, 5000}, Soon()).ok());
  const auto report = (*store)->Recover(keyspace.id, {}, Soon());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->returned_burned, kRows);
  EXPECT_EQ(report->next_before, 2 * kRows);
  EXPECT_EQ(report->next_after, 5000U);
  const auto rows = (*store)->ListLedger(keyspace.id, 0, 10'000, Soon());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->size(), 2 * kRows + 1);
  for (const LedgerRow& row : *rows) EXPECT_NE(row.state, BlockState::kReturned) << row.first;
  EXPECT_EQ((*store)->Reserve(Ask(keyspace.id), Soon())->first, 5000U);
}

// What was sent before the seal may run after it.
TEST(RedisStoreTest, AWriteThatComesAfterTheSealDoesNothing) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  const auto made = (*store)->Establish({{{Links(), 0, {}}}, "a"}, Soon());
  ASSERT_TRUE(made.ok());
  redis::Client client(*redis::ReadSettings(*ParseStoreUrl(UrlOf(server.port()))), SystemClock());
  std::vector<std::string> keys = {redis::StoreKey("keymill")};
  for (const std::string& key : redis::KeysOf("keymill", made->keyspaces[0].record.id)) {
    keys.push_back(key);
  }
  const std::vector<std::string> words = {
      "", "1", Told(server, fmt::format("HGET '{}' change", keys[1])), "set", "next", "500"};
  ASSERT_TRUE((*store)->Seal("elsewhere", false, Soon()).ok());
  EXPECT_EQ(client.Run(redis::ApplyScript(), keys, words, Soon())->text, "sealed elsewhere");
  EXPECT_EQ((*store)->FindKeyspace("links", Soon())->next, 0U);
  Tell(server, "HDEL '{keymill}:store' moved_to");
  EXPECT_EQ(client.Run(redis::ApplyScript(), keys, words, Soon())->text, "done")
      << "then nothing else was in its way";
}

// Whoever seals looks for quarantined keyspaces first; one may come after that.
TEST(RedisStoreTest, ASealThatHasNotSeenAQuarantineDoesNothing) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  const auto made = (*store)->Establish({{{Links(), 0, {}}}, "a"}, Soon());
  ASSERT_TRUE(made.ok());
  redis::Client client(*redis::ReadSettings(*ParseStoreUrl(UrlOf(server.port()))), SystemClock());
  const std::vector<std::string> keys = {redis::StoreKey("keymill")};
  const std::string& id = made->keyspaces[0].record.id;
  std::vector<std::string> words = {"elsewhere", "", ""};
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE((*store)->Quarantine(id, "testing", {}, Soon()).ok());
    EXPECT_EQ(client.Run(redis::SealScript(), keys, words, Soon())->text, "changed");
    words[2] = Told(server, "HGET '{keymill}:store' quarantine");
    ASSERT_TRUE((*store)->Recover(id, {}, Soon()).ok());
  }
  EXPECT_EQ(client.Run(redis::SealScript(), keys, words, Soon())->text, "done");
}

KeyspaceRecord Numbered(int number) {
  KeyspaceRecord record;
  record.name = fmt::format("k{}", number);
  record.id = fmt::format("id{}", number);
  record.end = 1000;
  record.next = 10;
  record.rev = 2;
  return record;
}

// More keyspaces than one script deletes, each with a row.
void FillMany(Store& store, const std::string& fill) {
  for (int i = 0; i < 250; ++i) {
    const KeyspaceRecord record = Numbered(i);
    ASSERT_TRUE(store.FillKeyspace(fill, record, Soon()).ok());
    ASSERT_TRUE(
        store.FillLedger(fill, record.id, {{"b", 0, 10, "a", "r", 1, BlockState::kHeld}}, Soon())
            .ok());
  }
}

TEST(RedisStoreTest, AFillThatBeganAnewAndWasCutOffIsOfNoUseUntilItBeginsAgain) {
  const RedisProcess server({"--appendfsync", "no"});  // For speed: it writes much.
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->BeginFill("s", "one", Soon()).ok());
  FillMany(**store, "one");
  ASSERT_TRUE((*store)->BeginFill("s", "two", Soon()).ok()) << "and the server knows the script";
  EXPECT_EQ(Told(server, "DBSIZE"), "1");
  FillMany(**store, "two");
  {
    const TrapProxy proxy(server.port(), std::string(redis::ClearScript().sha1()));
    auto cut = Open(UrlOf(proxy.port()));
    ASSERT_TRUE(cut.ok()) << cut.status().message();
    EXPECT_EQ((*cut)->BeginFill("s", "three", Soon()).code(), Code::kUnknownOutcome);
  }
  EXPECT_EQ(Told(server, "HLEN '{keymill}:names'"), "150");
  for (const char* const fill : {"two", "three"}) {
    EXPECT_EQ((*store)->FillKeyspace(fill, Numbered(999), Soon()).code(),
              Code::kFailedPrecondition);
    EXPECT_EQ((*store)->EndFill(fill, 150, 150, 0, Soon()).code(), Code::kFailedPrecondition);
  }
  EXPECT_EQ((*store)->Identity(Soon()).code(), Code::kFailedPrecondition);
  ASSERT_TRUE((*store)->BeginFill("s", "four", Soon()).ok());
  EXPECT_EQ(Told(server, "DBSIZE"), "1");
  FillMany(**store, "four");
  EXPECT_EQ((*store)->FillKeyspace("four", Numbered(7), Soon()).code(), Code::kInternal) << "twice";
  EXPECT_TRUE((*store)->EndFill("four", 250, 250, 0, Soon()).ok());
  EXPECT_EQ((*store)->Identity(Soon())->store_id, "s");
}

TEST(RedisStoreTest, NothingIsFilledAmongWhatBelongsToNoStore) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  Tell(server, "HSET '{keymill}:names' links somebody");
  const Status refused = (*store)->BeginFill("s", "one", Soon());
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("{keymill}:names"));
}

// As docs/stores.md has them.
TEST(RedisStoreTest, TheRightsInTheManualAreEnough) {
  const RedisProcess server;
  Tell(server,
       "ACL SETUSER mill on '>pass' '~{keymill}:*' +@hash +@set +@sortedset +@scripting +hello "
       "+auth "
       "+select +info +ttl +unlink '+config|get'");
  auto store = Open(fmt::format("redis://mill:pass@127.0.0.1:{}", server.port()));
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_THAT(Checks(**store), testing::IsEmpty());
  ASSERT_TRUE((*store)->BeginFill("s", "one", Soon()).ok());
  ASSERT_TRUE((*store)->FillKeyspace("one", Numbered(1), Soon()).ok());
  ASSERT_TRUE((*store)
                  ->FillLedger("one", Numbered(1).id,
                               {{"b", 0, 10, "a", "r", 1, BlockState::kReturned}}, Soon())
                  .ok());
  const Status again = (*store)->BeginFill("s", "two", Soon());
  ASSERT_TRUE(again.ok()) << again.message();
  ASSERT_TRUE((*store)->EndFill("two", 0, 0, 0, Soon()).ok());
  const auto made = (*store)->Establish({{{Links(), 10, RandomHex(16)}}, "a"}, Soon());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::string id = made->keyspaces[0].record.id;
  ReserveRequest request = Ask(id);
  request.timeline = made->identity.timeline;
  EXPECT_TRUE((*store)->Reserve(request, Soon()).ok());
  EXPECT_TRUE((*store)->GiveBack({id, made->keyspaces[0].block->id, 5, {}}, Soon()).ok());
  EXPECT_TRUE((*store)->AgreeOnTimeline(request.timeline, Soon()).ok());
  EXPECT_TRUE((*store)->Quarantine(id, "testing", {}, Soon()).ok());
  EXPECT_TRUE((*store)->Recover(id, {}, Soon()).ok());
  EXPECT_EQ((*store)->ListLedger(id, 0, 10, Soon())->size(), 2U);
  EXPECT_TRUE((*store)->Seal("elsewhere", false, Soon()).ok());
}

// Before anything is written: a script that is stopped halfway has done half of it.
TEST(RedisStoreTest, AUserWithoutARightIsRefusedUntilItHasIt) {
  const RedisProcess server;
  for (const bool there : {false, true}) {
    for (const char* const command :
         {"evalsha", "eval", "hset", "hdel", "zadd", "zrem", "sadd", "srem", "spop"}) {
      if (there == (std::string_view(command) == "eval")) continue;  // Known by its hash then.
      Tell(server, fmt::format("ACL SETUSER mill reset on '>pass' '~*' +@all -{}", command));
      auto store = Open(fmt::format("redis://mill:pass@127.0.0.1:{}", server.port()));
      ASSERT_TRUE(store.ok()) << store.status().message();
      auto refused = (*store)->Inspect(Soon()).status();
      if (refused.ok() && !there) {  // What makes the store can be tried by making it alone.
        refused = (*store)->Establish({{{Links(), 10, RandomHex(16)}}, "a"}, Soon()).status();
        EXPECT_EQ(std::string_view(command), "hset");
      }
      EXPECT_EQ(refused.code(), Code::kFailedPrecondition) << command << refused.message();
      EXPECT_THAT(refused.message(),
                  HasSubstr(fmt::format("redis-cli -h 127.0.0.1 -p {} ACL SETUSER mill "
                                        "'~{{keymill}}:*' +@hash",
                                        server.port())))
          << command;
      Tell(server, "ACL SETUSER mill +@all");
      const auto allowed = (*store)->Inspect(Soon());
      EXPECT_TRUE(allowed.ok()) << allowed.status().message();
    }
    auto store = Open(UrlOf(server.port()));
    ASSERT_TRUE(store.ok());
    EXPECT_EQ((*store)->Identity(Soon()).ok(), there) << "nothing was made";
    ASSERT_TRUE((*store)->Establish({{{Links(), 10, RandomHex(16)}}, "a"}, Soon()).ok());
  }
}

// It may be given back while we serve.
TEST(RedisStoreTest, ARightThatIsTakenAwayLaterIsAnOutage) {
  const RedisProcess server;
  Tell(server, "ACL SETUSER mill on '>pass' '~*' +@all");
  auto store = Open(fmt::format("redis://mill:pass@127.0.0.1:{}", server.port()));
  ASSERT_TRUE(store.ok());
  const auto made = (*store)->Establish({{{Links(), 10, RandomHex(16)}}, "a"}, Soon());
  ASSERT_TRUE(made.ok());
  const std::string id = made->keyspaces[0].record.id;
  for (const char* const command : {"evalsha", "zadd", "hgetall"}) {
    Tell(server, fmt::format("ACL SETUSER mill -{}", command));
    EXPECT_EQ((*store)->Reserve(Ask(id), Soon()).code(), Code::kUnavailable) << command;
    EXPECT_TRUE((*store)->Inspect(Soon()).ok()) << command;
    Tell(server, "ACL SETUSER mill +@all");
    EXPECT_TRUE((*store)->Reserve(Ask(id), Soon()).ok()) << command;
  }
  Tell(server, "ACL SETUSER mill -hgetall");
  EXPECT_EQ((*store)->Identity(Soon()).code(), Code::kUnavailable);
}

TEST(RedisInspectTest, NothingIsFoundInASafeServer) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  EXPECT_THAT(Checks(**store), testing::IsEmpty());
}

TEST(RedisInspectTest, EachUnsafeSettingIsFound) {
  const RedisProcess server;
  auto store = Open(UrlOf(server.port()));
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Establish({{{Links(), 0, {}}}, "a"}, Soon()).ok());
  Tell(server, "CONFIG SET appendfsync everysec");
  Tell(server, "CONFIG SET no-appendfsync-on-rewrite yes");
  Tell(server, "CONFIG SET maxmemory-policy allkeys-lru");
  Tell(server, "CONFIG SET aof-load-truncated yes");
  Tell(server, "EXPIRE '{keymill}:names' 1000");
  EXPECT_THAT(Checks(**store),
              testing::ElementsAre("appendfsync", "no-appendfsync-on-rewrite", "maxmemory-policy",
                                   "aof-load-truncated", "expiry"));
  EXPECT_THAT(Checks(**store, /*only_unsafe=*/true), Not(testing::Contains("aof-load-truncated")));
  Tell(server, "CONFIG SET appendonly no");
  EXPECT_THAT(Checks(**store), testing::IsSupersetOf({"appendonly", "aof_enabled"}));
}

TEST(RedisInspectTest, AReplicaIsFoundFromBothSides) {
  const RedisProcess master;
  const RedisProcess replica({"--replicaof", "127.0.0.1", std::to_string(master.port()),
                              "--repl-diskless-sync-delay", "0"});
  auto store = Open(UrlOf(master.port()));
  ASSERT_TRUE(store.ok());
  for (int i = 0; i < 1000 && Checks(**store).empty(); ++i) ::poll(nullptr, 0, 10);
  EXPECT_THAT(Checks(**store, /*only_unsafe=*/true), testing::ElementsAre("replicas"));
  auto other = Open(UrlOf(replica.port()));
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_THAT(Checks(**other), testing::Contains("role"));
  const auto refused = (*other)->Establish({}, Soon());
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.status().message(), HasSubstr("master"));
}

TEST(RedisInspectTest, WhatTheServerDoesNotTellIsNotProven) {
  const RedisProcess server;
  Tell(server, "ACL SETUSER mill on '>pass' '~*' +@all -config -ttl");
  auto store = Open(fmt::format("redis://mill:pass@127.0.0.1:{}", server.port()));
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_THAT(Checks(**store, /*only_unsafe=*/true),
              testing::ElementsAre("appendonly", "appendfsync", "no-appendfsync-on-rewrite",
                                   "maxmemory-policy", "expiry"));
  EXPECT_THAT((*store)->Inspect(Soon())->front().says, HasSubstr("cannot be proven"));
}

}  // namespace
}  // namespace keymill::store
