// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sqlite/sqlite_inspect.h"

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/sqlite_version1_test_support.h"
#include "support/fake_clock.h"
#include "support/temp_dir.h"

namespace keymill::store {
namespace {

using State = SqliteInspection::State;
using testing::HasSubstr;

// As another program would do it.
void RunSql(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

class SqliteInspectTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return dir_.path() / "keymill.db"; }
  [[nodiscard]] SqliteInspection Inspect() const {
    // Whoever is locked out gives up at once: the fake clock does not move.
    return InspectSqlite(path(), clock_, std::chrono::milliseconds(0));
  }
  [[nodiscard]] SqliteInspection InspectWithTime() const {
    return InspectSqlite(path(), clock_, std::chrono::seconds(1));
  }
  // A store with the keyspace "links", of which 10 of 1000 numbers are reserved.
  void Make() {
    const MonotonicTime soon = clock_.Monotonic() + std::chrono::hours(1);
    auto store = OpenSqliteStore({.path = path(), .create = true}, clock_, soon);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const auto made = (*store)->Establish({.keyspaces = {{.keyspace = {.name = "links",
                                                                       .id = "id of links",
                                                                       .recipe = "recipe",
                                                                       .recipe_hash = "hash",
                                                                       .secret = "secret",
                                                                       .first = 0,
                                                                       .end = 1000},
                                                          .count = 10,
                                                          .reservation = "first"}},
                                           .instance = "a"},
                                          soon);
    ASSERT_TRUE(made.ok()) << made.status().message();
  }
  // Every file with its bytes.
  [[nodiscard]] std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      std::ostringstream bytes;
      bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      files[entry.path().filename().string()] = bytes.str();
    }
    return files;
  }

  TempDir dir_;
  FakeClock clock_;
};

TEST_F(SqliteInspectTest, AStoreIsReadWithoutLeavingATrace) {
  Make();
  const auto before = Files();
  const SqliteInspection seen = InspectWithTime();
  EXPECT_EQ(seen.state, State::kReadable) << seen.said;
  EXPECT_EQ(seen.schema_version, 3U);
  EXPECT_EQ(seen.schema_known, 3U);
  EXPECT_EQ(seen.store_id.size(), 32U);
  EXPECT_EQ(seen.newest_ms, clock_.WallMs());
  EXPECT_TRUE(seen.checked);
  EXPECT_EQ(seen.damage, "");
  ASSERT_EQ(seen.keyspaces.size(), 1U);
  EXPECT_EQ(seen.keyspaces[0].name, "links");
  EXPECT_EQ(seen.keyspaces[0].next, 10U);
  EXPECT_EQ(Files(), before);
}

// Whoever looks does not bring it up to date.
TEST_F(SqliteInspectTest, AFileOfTheFirstVersionIsReadAsItIs) {
  RunSql(path(), kVersion1);
  const auto before = Files();
  const SqliteInspection seen = InspectWithTime();
  EXPECT_EQ(seen.state, State::kReadable) << seen.said;
  EXPECT_EQ(seen.schema_version, 1U);
  ASSERT_EQ(seen.keyspaces.size(), 1U);
  EXPECT_EQ(seen.keyspaces[0].next, 10U);
  EXPECT_EQ(seen.keyspaces[0].testified, (Witness{}));
  EXPECT_EQ(Files(), before);
}

TEST_F(SqliteInspectTest, AStoreThatWasSealedSaysWhereItWent) {
  Make();
  const MonotonicTime soon = clock_.Monotonic() + std::chrono::hours(1);
  auto store = OpenSqliteStore({.path = path(), .create = false}, clock_, soon);
  ASSERT_TRUE((*store)->Seal("elsewhere", false, soon).ok());
  const SqliteInspection seen = InspectWithTime();
  EXPECT_EQ(seen.moved_to, "elsewhere");
  ASSERT_EQ(seen.keyspaces.size(), 1U);
  EXPECT_EQ(seen.keyspaces[0].state, KeyspaceState::kSealed);
}

TEST_F(SqliteInspectTest, AStoreThatIsBeingFilledShowsNoKeyspaces) {
  const MonotonicTime soon = clock_.Monotonic() + std::chrono::hours(1);
  auto store = OpenSqliteStore({.path = path(), .create = true}, clock_, soon);
  ASSERT_TRUE((*store)->BeginFill("an id", "fill", soon).ok());
  const SqliteInspection seen = InspectWithTime();
  EXPECT_EQ(seen.state, State::kReadable) << seen.said;
  EXPECT_TRUE(seen.being_filled);
  EXPECT_EQ(seen.store_id, "an id");
  EXPECT_TRUE(seen.keyspaces.empty());
}

TEST_F(SqliteInspectTest, NothingIsMadeWhereNothingIs) {
  EXPECT_EQ(Inspect().state, State::kAbsent);
  EXPECT_TRUE(Files().empty());
  std::ofstream(path()).close();
  EXPECT_EQ(Inspect().state, State::kAbsent);
  EXPECT_EQ(Files(), (std::map<std::string, std::string>{{"keymill.db", ""}}));
}

TEST_F(SqliteInspectTest, ADatabaseWithoutTablesHasNoSchema) {
  RunSql(path(), "CREATE TABLE t (a); DROP TABLE t");
  EXPECT_EQ(InspectWithTime().state, State::kNoSchema);
}

TEST_F(SqliteInspectTest, ALockIsNotWaitedForBeyondThePatience) {
  Make();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK);
  const SqliteInspection seen = Inspect();
  EXPECT_EQ(seen.state, State::kLocked);
  EXPECT_THAT(seen.said, HasSubstr("locked"));
  sqlite3_close(other);
}

TEST_F(SqliteInspectTest, AReadThatTakesTooLongEndsWithoutAVerdict) {
  Make();
  RunSql(
      path(),
      "INSERT INTO keymill_ledger WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n "
      "WHERE i < 50000) SELECT 'id of links', i, 1, 'b' || i, 'a', 'r', 5, 'held' FROM n");
  const SqliteInspection seen = Inspect();
  EXPECT_EQ(seen.state, State::kReadable) << seen.said;
  EXPECT_EQ(seen.keyspaces.size(), 1U);
  EXPECT_FALSE(seen.checked);
  EXPECT_EQ(seen.damage, "");
}

TEST_F(SqliteInspectTest, ATransactionThatWasCutOffIsLeftToAWriter) {
  Make();
  // The head of a journal that has no pages to put back: SQLite must roll it back all the same.
  std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  journal += std::string("\0\0\0\0\0\0\0\1\0\0\0\7\0\0\2\0\0\0\x10\0", 20);
  journal.resize(1024);
  std::ofstream(dir_.path() / "keymill.db-journal", std::ios::binary) << journal;
  const auto before = Files();
  const SqliteInspection seen = InspectWithTime();
  EXPECT_EQ(seen.state, State::kHotJournal) << seen.said;
  // It may also turn up after the first look.
  EXPECT_EQ(OpenSqliteReader(path(), clock_, clock_.Monotonic() + std::chrono::hours(1)).code(),
            Code::kUnknownOutcome);
  EXPECT_EQ(Files(), before);
}

TEST_F(SqliteInspectTest, WalModeIsToldWithoutOpeningTheFile) {
  Make();
  RunSql(path(), "PRAGMA journal_mode = WAL");
  const auto before = Files();
  EXPECT_EQ(Inspect().state, State::kWal);
  EXPECT_EQ(Files(), before);
}

TEST_F(SqliteInspectTest, WhatIsNoStoreIsToldApart) {
  std::ofstream(path()) << std::string(4096, 'x');
  EXPECT_EQ(Inspect().state, State::kNotOurs);
  std::filesystem::remove(path());
  RunSql(path(), "CREATE TABLE recipes (a)");
  const SqliteInspection seen = InspectWithTime();
  EXPECT_EQ(seen.state, State::kNotOurs);
  EXPECT_THAT(seen.said, HasSubstr("belongs to another program"));
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_EQ(Inspect().state, State::kUnreadable);
}

TEST_F(SqliteInspectTest, ANewerSchemaIsNotRead) {
  Make();
  RunSql(path(), "UPDATE keymill_store SET schema_version = 99; DROP TABLE keymill_ledger");
  const SqliteInspection seen = InspectWithTime();
  EXPECT_EQ(seen.state, State::kReadable) << seen.said;
  EXPECT_EQ(seen.schema_version, 99U);
  EXPECT_TRUE(seen.keyspaces.empty());
}

// Every page but the first is overwritten in turn: each must be noticed in one way or another.
TEST_F(SqliteInspectTest, ADamagedPageIsNoticed) {
  Make();
  constexpr std::size_t kPage = 4096;
  const std::string sound = Files().at("keymill.db");
  ASSERT_GT(sound.size(), 2 * kPage);
  for (std::size_t at = kPage; at < sound.size(); at += kPage) {
    std::string bytes = sound;
    bytes.replace(at, kPage, std::string(kPage, '\xa5'));
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
    const SqliteInspection seen = InspectWithTime();
    EXPECT_TRUE(seen.state == State::kDamaged || !seen.damage.empty())
        << "page at " << at << ": " << seen.said;
  }
}

}  // namespace
}  // namespace keymill::store
