// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What a server that is hard to have would be told. Real ones are in
// tests/integration/test_postgres.py.

#include "store/postgres/postgres_inspect.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/postgres/pq_link.h"

namespace keymill::store {
namespace {

using sql::Row;
using sql::Value;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t kNo = 0;
constexpr std::int64_t kYes = 1;

// A server that nothing is wrong with, unless told.
class FakeServer final : public sql::Connection {
 public:
  // Of synchronous_standby_names, and of those that follow: how many, how many commits wait for,
  // which ones none waits for.
  std::string awaited{};
  std::int64_t standbys = 0;
  std::int64_t synchronous = 0;
  std::string late{};
  std::string names{};
  // Our end of the link, and the server's.
  bool exposed = false;
  bool far_exposed = false;

  Status Begin(sql::Access /*access*/, MonotonicTime /*deadline*/) override { return {}; }
  Result<std::vector<Row>> Query(std::string_view sql, std::span<const Value> /*values*/) override {
    const auto asks = [&](std::string_view what) { return sql.find(what) != sql.npos; };
    std::vector<Row> rows;
    if (asks("pg_settings")) {
      for (const auto& [name, value] :
           std::map<std::string, std::string>{{"fsync", "on"},
                                              {"full_page_writes", "on"},
                                              {"data_sync_retry", "off"},
                                              {"synchronous_commit", "on"},
                                              {"synchronous_standby_names", awaited},
                                              {"default_transaction_read_only", "off"}}) {
        rows.push_back({name, value, std::string("default")});
      }
    } else if (asks("pg_is_in_recovery")) {
      rows.push_back({kNo, std::int64_t{150'000}});
    } else if (asks("pg_stat_replication")) {
      const std::int64_t heirs = awaited.empty() ? 0 : standbys;
      rows.push_back({kYes, std::string("mill"), standbys, standbys, names, synchronous, late,
                      heirs, awaited.empty() ? "" : names});
    } else if (asks("inet_client_addr")) {
      rows.push_back({far_exposed ? kYes : kNo, std::string("192.0.2.7")});
    }
    return rows;
  }
  Result<std::int64_t> Execute(std::string_view /*sql*/,
                               std::span<const Value> /*values*/) override {
    return std::int64_t{0};
  }
  Status Commit() override { return {}; }
  void Rollback() override {}
  Status CheckAlive() override { return {}; }
  [[nodiscard]] bool Exposed() const override { return exposed; }
};

std::vector<StoreFinding> Inspect(FakeServer& server) {
  const auto found = InspectPostgres(server, "mill");
  EXPECT_TRUE(found.ok()) << found.status().message();
  return *found;
}

TEST(PostgresInspectTest, NothingIsFoundOnASoundServer) {
  FakeServer server;
  EXPECT_THAT(Inspect(server), IsEmpty());
  server.awaited = "a";
  server.standbys = 1;
  server.synchronous = 1;
  server.names = "a";
  EXPECT_THAT(Inspect(server), IsEmpty());
}

TEST(PostgresInspectTest, AStandbyThatACommitNeedNotWaitForMayTakeOver) {
  for (const auto& [awaited, synchronous] :
       std::map<std::string, std::int64_t>{{"ANY 1 (a, b)", 2}, {"FIRST 1 (a, b)", 1}}) {
    FakeServer server;
    server.awaited = awaited;
    server.standbys = 2;
    server.synchronous = synchronous;
    server.names = "a, b";
    const auto found = Inspect(server);
    ASSERT_EQ(found.size(), 1U) << awaited;
    EXPECT_FALSE(found[0].unsafe);
    EXPECT_EQ(found[0].says,
              "every commit waits for 1 of 2 standbys in synchronous_standby_names (" + awaited +
                  "); one of them that takes over without the latest blocks hands them out again");
    EXPECT_THAT(found[0].fix,
                AllOf(HasSubstr("furthest ahead (SELECT pg_last_wal_receive_lsn();"),
                      HasSubstr("ALTER SYSTEM SET synchronous_standby_names = 'ANY 2 (a, b)'")));
    server.awaited = "ANY 2 (a, b)";
    server.synchronous = 2;
    EXPECT_THAT(Inspect(server), IsEmpty());
  }
}

TEST(PostgresInspectTest, AStandbyThatIsAwayMayTakeOverAsWell) {
  FakeServer server;
  server.standbys = 1;
  server.synchronous = 1;
  server.names = "a";
  for (const char* const awaited : {R"(ANY 1 (a, "b, c"))", R"(a , "b, c")"}) {
    server.awaited = awaited;
    const auto found = Inspect(server);
    ASSERT_EQ(found.size(), 1U) << awaited;
    EXPECT_THAT(found[0].says, HasSubstr("every commit waits for 1 of 2 standbys"));
    EXPECT_THAT(found[0].fix, HasSubstr(R"('ANY 2 (a, \"b, c\")')"));
  }
  for (const char* const awaited : {"*", "ANY 1 (*)", "a", "FIRST 1 (a)"}) {
    server.awaited = awaited;
    EXPECT_THAT(Inspect(server), IsEmpty()) << awaited;
  }
}

TEST(PostgresInspectTest, TheFixForSeveralStandbysSaysWhichOneToPromote) {
  FakeServer server;
  server.standbys = 2;
  server.names = "a, b";
  server.late = "a, b";
  const auto found = Inspect(server);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].unsafe);
  EXPECT_THAT(found[0].fix,
              AllOf(HasSubstr("synchronous_standby_names = 'ANY 1 (a, b)'"),
                    HasSubstr("  # every commit of this server then waits for one of them; promote "
                              "only the one that is furthest ahead"),
                    HasSubstr("or ANY 2, and then a lost one stops writes")));
}

TEST(PostgresInspectTest, TheWarningSaysWhichHopIsNotEncrypted) {
  FakeServer server;
  server.exposed = true;
  server.far_exposed = true;
  auto found = Inspect(server);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].unsafe);
  EXPECT_THAT(found[0].says, HasSubstr("from here is not encrypted"));
  EXPECT_THAT(found[0].fix, HasSubstr("sslmode=verify-full"));
  server.far_exposed = false;  // A pooler's link to the server says nothing of ours.
  EXPECT_EQ(Inspect(server).size(), 1U);
  server.exposed = false;
  EXPECT_THAT(Inspect(server), IsEmpty());
  server.far_exposed = true;
  found = Inspect(server);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].says, HasSubstr("that reaches the server, from 192.0.2.7, is not"));
  EXPECT_THAT(found[0].fix, AllOf(HasSubstr("server_tls_sslmode"), Not(HasSubstr("sslrootcert"))));
}

TEST(PostgresInspectTest, SocketsAndTheLoopbackAreThisHost) {
  for (const char* const here : {"", "127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsThisHost(here)) << here;
  }
  for (const char* const away : {"128.0.0.1", "192.0.2.7", "::2", "2001:db8::127.0.0.1"}) {
    EXPECT_FALSE(IsThisHost(away)) << away;
  }
}

}  // namespace
}  // namespace keymill::store
