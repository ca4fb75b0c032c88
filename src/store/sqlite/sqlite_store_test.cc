// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What is SQLite's own: durability settings, the file, and its locks. What every store does
// is tested in tests/conformance.

#include "store/sqlite/sqlite_store.h"

#include <atomic>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "keymill/key_table.h"

#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_version1_test_support.h"
#include "support/temp_dir.h"

namespace keymill::store {
namespace {

using sql::Access;
using sql::Value;
using testing::HasSubstr;

// Moves on by a millisecond at every look, so that waiting for a deadline takes a known
// number of looks and no particular time.
class TickingClock final : public Clock {
 public:
  std::int64_t WallMs() const override { return 1'750'000'000'000; }
  MonotonicTime Monotonic() const override {
    return MonotonicTime(std::chrono::milliseconds(++ticks_));
  }
  [[nodiscard]] std::int64_t ticks() const { return ticks_; }

 private:
  mutable std::atomic<std::int64_t> ticks_{0};
};

// A plain connection, as another program would have.
class RawDatabase {
 public:
  explicit RawDatabase(const std::filesystem::path& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
  }
  ~RawDatabase() { sqlite3_close(db_); }
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;

  // The result code; the first column of the last row goes to `value`.
  int Run(const std::string& sql, std::string* value = nullptr) {
    return sqlite3_exec(
        db_, sql.c_str(),
        [](void* out, int, char** columns, char**) {
          if (out != nullptr && columns[0] != nullptr) *static_cast<std::string*>(out) = columns[0];
          return 0;
        },
        value, nullptr);
  }
  std::string Value(const std::string& sql) {
    std::string value;
    EXPECT_EQ(Run(sql, &value), SQLITE_OK) << sql << ": " << sqlite3_errmsg(db_);
    return value;
  }

 private:
  sqlite3* db_ = nullptr;
};

class SqliteStoreTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return dir_.path() / "keymill.db"; }
  [[nodiscard]] MonotonicTime Soon() const { return clock_.Monotonic() + std::chrono::hours(10); }
  [[nodiscard]] Result<std::unique_ptr<Store>> Open(bool create) const {
    return OpenSqliteStore({.path = path(), .create = create}, clock_, Soon());
  }
  std::unique_ptr<Store> Make() const {
    auto store = Open(true);
    EXPECT_TRUE(store.ok()) << store.status().message();
    if (!store.ok()) return nullptr;
    const auto made = (*store)->Establish({}, Soon());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(store);
  }
  KeyspaceRecord CreateLinks(Store& store) const {
    auto record = store.CreateKeyspace({.name = "links",
                                        .id = "0123456789abcdef0123456789abcdef",
                                        .recipe = "recipe",
                                        .recipe_hash = "hash",
                                        .secret = "secret",
                                        .first = 0,
                                        .end = 1000},
                                       Soon());
    EXPECT_TRUE(record.ok()) << record.status().message();
    return *record;
  }
  static EstablishRequest::Part First(std::string name) {
    return {.keyspace = {.name = name,
                         .id = "id of " + name,
                         .recipe = "recipe",
                         .recipe_hash = "hash",
                         .secret = "secret",
                         .first = 0,
                         .end = 1000},
            .count = 10,
            .reservation = "first of " + name};
  }
  static ReserveRequest Ask(const KeyspaceRecord& keyspace, std::string reservation) {
    return {.keyspace_id = keyspace.id,
            .recipe_hash = keyspace.recipe_hash,
            .count = 10,
            .witness = {},
            .instance = "a",
            .reservation = std::move(reservation),
            .above = 0,
            .spent = {}};
  }

  TempDir dir_;
  TickingClock clock_;
};

TEST_F(SqliteStoreTest, EveryConnectionIsSetUpToSurviveAPowerCut) {
  Make();
  auto connection = OpenSqliteConnection(path(), false, clock_, Soon());
  ASSERT_TRUE(connection.ok()) << connection.status().message();
  const auto read = [&](std::string_view pragma) {
    return (*connection)->Query(pragma, {})->front().at(0);
  };
  EXPECT_EQ(read("PRAGMA journal_mode"), Value(std::string("delete")));
  EXPECT_EQ(read("PRAGMA synchronous"), Value(std::int64_t{3}));
  EXPECT_EQ(read("PRAGMA locking_mode"), Value(std::string("normal")));
  EXPECT_EQ(read("PRAGMA trusted_schema"), Value(std::int64_t{0}));
  EXPECT_EQ(read("PRAGMA application_id"), Value(std::int64_t{0x4b4d494c})) << "KMIL";
}

TEST_F(SqliteStoreTest, AStoreThatSomebodyPutInWalModeIsTakenOutOfIt) {
  Make();
  EXPECT_EQ(RawDatabase(path()).Value("PRAGMA journal_mode = WAL"), "wal");
  ASSERT_TRUE(Open(false).ok());
  EXPECT_EQ(RawDatabase(path()).Value("PRAGMA journal_mode"), "delete");
}

TEST_F(SqliteStoreTest, TheTablesRefuseValuesOfAnotherType) {
  const auto store = Make();
  CreateLinks(*store);
  RawDatabase raw(path());
  EXPECT_EQ(raw.Run("UPDATE keymill_keyspaces SET next_number = 'many'"), SQLITE_CONSTRAINT);
  EXPECT_EQ(raw.Run("UPDATE keymill_keyspaces SET next_number = 1.5"), SQLITE_CONSTRAINT);
  EXPECT_EQ(raw.Run("UPDATE keymill_keyspaces SET next_number = 1001"), SQLITE_CONSTRAINT);
  EXPECT_EQ(raw.Run("UPDATE keymill_keyspaces SET secret = 'text'"), SQLITE_CONSTRAINT);
  EXPECT_EQ(raw.Run("INSERT INTO keymill_ledger VALUES ('k', 1, 0, 'b', 'i', 'r', 1, 'held')"),
            SQLITE_CONSTRAINT)
      << "a block of no numbers";
  EXPECT_EQ(store->FindKeyspace("links", Soon())->next, 0U);
}

TEST_F(SqliteStoreTest, DamagedDataIsAFailureForGood) {
  const auto store = Make();
  CreateLinks(*store);
  ASSERT_EQ(RawDatabase(path()).Run("UPDATE keymill_keyspaces SET state = 'closed'"), SQLITE_OK);
  EXPECT_EQ(store->FindKeyspace("links", Soon()).code(), Code::kInternal);
  ASSERT_EQ(RawDatabase(path()).Run("UPDATE keymill_keyspaces SET state = 'open', rev = -1"),
            SQLITE_OK);
  EXPECT_EQ(store->FindKeyspace("links", Soon()).code(), Code::kInternal);
}

TEST_F(SqliteStoreTest, AMissingOrEmptyFileIsNotFoundUnlessItMayBeCreated) {
  EXPECT_EQ(Open(false).code(), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path()));
  std::ofstream(path()).close();
  EXPECT_EQ(Open(false).code(), Code::kNotFound) << "empty";
  const auto empty = Open(true);
  ASSERT_TRUE(empty.ok()) << empty.status().message();
  EXPECT_EQ((*empty)->Identity(Soon()).code(), Code::kNotFound);
  EXPECT_EQ(std::filesystem::file_size(path()), 0U) << "opening alone makes no store";
  EXPECT_EQ(Open(false).code(), Code::kNotFound) << "still";
  ASSERT_TRUE((*empty)->Establish({}, Soon()).ok());
  EXPECT_TRUE((*empty)->Identity(Soon()).ok());
  EXPECT_TRUE(Open(false).ok());
}

// What is left of a database whose tables somebody has dropped has a size, but no store in it.
TEST_F(SqliteStoreTest, AFileWithoutTablesIsNotFoundUnlessItMayBeCreated) {
  {
    RawDatabase raw(path());
    ASSERT_EQ(raw.Run("CREATE TABLE songs (title TEXT); DROP TABLE songs"), SQLITE_OK);
  }
  ASSERT_GT(std::filesystem::file_size(path()), 0U);
  EXPECT_EQ(Open(false).code(), Code::kNotFound);
  Make();
  EXPECT_TRUE(Open(false).ok());
}

int CountCommit(void* commits) {
  ++*static_cast<int*>(commits);
  return 0;
}

// Every connection of this process that is opened while one lives counts its commits.
class CommitCounter {
 public:
  CommitCounter() {
    commits_ = 0;
    sqlite3_auto_extension(Hook());
  }
  ~CommitCounter() { sqlite3_cancel_auto_extension(Hook()); }
  CommitCounter(const CommitCounter&) = delete;
  CommitCounter& operator=(const CommitCounter&) = delete;
  [[nodiscard]] static int commits() { return commits_; }

 private:
  static int OnOpen(sqlite3* db, const char** /*error*/, const sqlite3_api_routines* /*api*/) {
    sqlite3_commit_hook(db, CountCommit, &commits_);
    return SQLITE_OK;
  }
  static void (*Hook())() { return reinterpret_cast<void (*)()>(&OnOpen); }
  static int commits_;
};
int CommitCounter::commits_ = 0;

TEST_F(SqliteStoreTest, SchemaKeyspacesAndFirstBlocksAreOneTransaction) {
  const CommitCounter counter;
  const auto store = Open(true);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(CommitCounter::commits(), 0) << "opening writes nothing";
  const auto made =
      (*store)->Establish({.keyspaces = {First("links"), First("codes")}, .instance = "a"}, Soon());
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(CommitCounter::commits(), 1);
  ASSERT_EQ(made->keyspaces.size(), 2U);
  EXPECT_TRUE(made->keyspaces[0].block.has_value() && made->keyspaces[1].block.has_value());
}

// A second keyspace that cannot be inserted undoes the schema, too.
TEST_F(SqliteStoreTest, WhatCannotBeEstablishedWholeLeavesAnEmptyFile) {
  const auto store = Open(true);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EstablishRequest::Part unsound = First("codes");
  unsound.keyspace.end = unsound.keyspace.first;
  EXPECT_FALSE(
      (*store)->Establish({.keyspaces = {First("links"), unsound}, .instance = "a"}, Soon()).ok());
  EXPECT_EQ(std::filesystem::file_size(path()), 0U);
  EXPECT_EQ((*store)->Identity(Soon()).code(), Code::kNotFound);
  EXPECT_TRUE((*store)->Establish({.keyspaces = {First("links")}, .instance = "a"}, Soon()).ok());
}

// What the transaction writes before it is interrupted lies in the file, beside a journal that
// undoes it.
TEST_F(SqliteStoreTest, ACrashInTheMiddleOfTheFirstTransactionLeavesNothing) {
  const auto crashed = dir_.path() / "crashed.db";
  {
    RawDatabase raw(path());
    // So small a cache that pages go to the file before the commit.
    ASSERT_EQ(
        raw.Run("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;"
                "CREATE TABLE keymill_store (store_id VARCHAR(32));"
                "CREATE TABLE filler (text TEXT);"
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
                "INSERT INTO filler SELECT hex(zeroblob(1000)) FROM n"),
        SQLITE_OK);
    ASSERT_GT(std::filesystem::file_size(path()), 0U);
    std::filesystem::copy_file(path(), crashed);
    std::filesystem::copy_file(path().string() + "-journal", crashed.string() + "-journal");
  }
  EXPECT_EQ(OpenSqliteStore({.path = crashed, .create = false}, clock_, Soon()).code(),
            Code::kNotFound);
  const auto store = OpenSqliteStore({.path = crashed, .create = true}, clock_, Soon());
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_TRUE((*store)->Establish({.keyspaces = {First("links")}, .instance = "a"}, Soon()).ok());
}

TEST_F(SqliteStoreTest, NobodyElseMayReadTheFileOrItsJournal) {
  const mode_t before = ::umask(0);
  const auto store = Make();
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(SqliteStoreTest, AnotherProgramsFileIsRefusedAndLeftAsItIs) {
  {
    RawDatabase raw(path());
    ASSERT_EQ(raw.Value("PRAGMA journal_mode = WAL"), "wal");
    ASSERT_EQ(raw.Run("CREATE TABLE songs (title TEXT)"), SQLITE_OK);
  }
  for (const bool create : {false, true}) {
    const auto refused = Open(create);
    EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
    EXPECT_THAT(refused.status().message(), HasSubstr("another program"));
  }
  RawDatabase raw(path());
  EXPECT_EQ(raw.Value("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(raw.Value("SELECT count(*) FROM sqlite_schema"), "1");
}

TEST_F(SqliteStoreTest, AFileThatIsNoDatabaseIsRefused) {
  std::ofstream(path()) << std::string(5000, 'x');
  EXPECT_EQ(Open(false).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Open(true).code(), Code::kFailedPrecondition);
  EXPECT_EQ(std::filesystem::file_size(path()), 5000U);
}

TEST_F(SqliteStoreTest, AFileOfTheFirstVersionIsBroughtUpToDateWithAllThatItHolds) {
  ASSERT_EQ(RawDatabase(path()).Run(kVersion1), SQLITE_OK);
  const auto opened = Open(false);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Store& store = **opened;
  const auto identity = store.Identity(Soon());
  ASSERT_TRUE(identity.ok()) << identity.status().message();
  EXPECT_EQ(identity->store_id, "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(identity->schema_version, 3U);
  EXPECT_EQ(identity->agreed_timeline, identity->timeline);
  const auto links = store.FindKeyspace("links", Soon());
  ASSERT_TRUE(links.ok()) << links.status().message();
  EXPECT_EQ(links->secret, std::string("\0\xff", 2));
  EXPECT_EQ(links->next, 10U);
  EXPECT_EQ(links->rev, 3U);
  EXPECT_EQ(links->testified, (Witness{}));
  const auto block = store.Reserve({.keyspace_id = links->id,
                                    .recipe_hash = "hash",
                                    .count = 10,
                                    .witness = {.rev = 3, .next = 10},
                                    .timeline = identity->timeline,
                                    .instance = "b",
                                    .reservation = "b2",
                                    .above = 0,
                                    .spent = {}},
                                   Soon());
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_EQ(block->first, 6U) << "what came back";
  EXPECT_EQ(block->count, 4U);
  const KeyGuard guard{.keyspace_id = links->id, .recipe_hash = "hash", .witness = block->seen};
  const auto added = store.key_table()->AddKeys(guard, {{.key = "k1"}}, Soon());
  ASSERT_TRUE(added.ok()) << added.status().message();
  EXPECT_EQ(RawDatabase(path()).Value("SELECT \"key\" FROM available_keys"), "k1");
  EXPECT_EQ(RawDatabase(path()).Value("SELECT store_id FROM keymill_store"),
            "0123456789abcdef0123456789abcdef");
  ASSERT_TRUE(Open(false).ok()) << "once is enough";
}

TEST_F(SqliteStoreTest, WhoeverOpensAFileOfTheFirstVersionAtOnceMigratesItOnce) {
  ASSERT_EQ(RawDatabase(path()).Run(kVersion1), SQLITE_OK);
  std::vector<Status> ends(6);
  std::vector<std::thread> threads;
  for (Status& end : ends) {
    threads.emplace_back([&] {
      auto store = Open(false);
      end = store.ok() ? (*store)->Establish({}, Soon()).status() : store.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& end : ends) EXPECT_TRUE(end.ok()) << end.message();
  EXPECT_EQ(RawDatabase(path()).Value("SELECT schema_version FROM keymill_store"), "3");
  EXPECT_EQ(RawDatabase(path()).Value("SELECT next_number FROM keymill_keyspaces"), "10");
}

// A program of the first version may have had the file open all the time.
TEST_F(SqliteStoreTest, WhoKnowsNoSealCannotMakeAKeyspaceBehindIt) {
  const auto store = Make();
  const std::string insert =
      "INSERT INTO keymill_keyspaces (name, id, recipe, recipe_hash, secret, state, reason, "
      "first_number, end_number, next_number, rev, created_at_ms) VALUES ('old', 'old', 'r', 'h', "
      "x'00', 'open', '', 0, 9, 0, 1, 0)";
  ASSERT_EQ(RawDatabase(path()).Run(insert), SQLITE_OK);
  ASSERT_EQ(RawDatabase(path()).Run("DELETE FROM keymill_keyspaces"), SQLITE_OK);
  ASSERT_TRUE(store->Seal("elsewhere", false, Soon()).ok());
  EXPECT_EQ(RawDatabase(path()).Run(insert), SQLITE_CONSTRAINT);
}

TEST_F(SqliteStoreTest, AStoreThatIsBeingFilledIsOpenedOnlyToGoOn) {
  auto store = Open(true);
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_TRUE((*store)->BeginFill("an id", "fill", Soon()).ok());
  const auto refused = Open(false);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("keymill store copy"));
  store = Open(true);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->Identity(Soon()).code(), Code::kFailedPrecondition);
  ASSERT_TRUE((*store)->EndFill("fill", 0, 0, 0, Soon()).ok());
  ASSERT_TRUE(Open(false).ok());
}

TEST_F(SqliteStoreTest, ANewerSchemaIsRefused) {
  Make();
  ASSERT_EQ(RawDatabase(path()).Run("UPDATE keymill_store SET schema_version = 99"), SQLITE_OK);
  const auto refused = Open(false);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), HasSubstr("schema version 99"));
}

TEST_F(SqliteStoreTest, ADirectoryThatDoesNotExistIsUnavailable) {
  const auto refused =
      OpenSqliteStore({.path = dir_.path() / "no" / "k.db", .create = true}, clock_, Soon());
  EXPECT_EQ(refused.code(), Code::kUnavailable);
}

TEST_F(SqliteStoreTest, AStoreThatIsBusyUntilTheDeadlineIsUnavailableAndNothingIsReserved) {
  const auto store = Make();
  const KeyspaceRecord keyspace = CreateLinks(*store);
  RawDatabase raw(path());
  ASSERT_EQ(raw.Run("BEGIN EXCLUSIVE"), SQLITE_OK);
  const std::int64_t before = clock_.ticks();
  const MonotonicTime deadline = clock_.Monotonic() + std::chrono::milliseconds(5);
  EXPECT_EQ(store->Reserve(Ask(keyspace, "r1"), deadline).code(), Code::kUnavailable);
  EXPECT_LE(clock_.ticks() - before, 10) << "it gave up at the deadline";
  EXPECT_EQ(store->FindKeyspace("links", clock_.Monotonic()).code(), Code::kUnavailable);
  EXPECT_EQ(store->GiveBack({keyspace.id, "b", 0, {}}, clock_.Monotonic()).code(),
            Code::kUnavailable);
  EXPECT_EQ(OpenSqliteStore({.path = path()}, clock_, clock_.Monotonic()).code(),
            Code::kUnavailable);
  ASSERT_EQ(raw.Run("ROLLBACK"), SQLITE_OK);
  EXPECT_EQ(store->FindKeyspace("links", Soon())->next, 0U);
  EXPECT_EQ(store->Reserve(Ask(keyspace, "r2"), Soon())->first, 0U) << "and it recovers";
}

// A reader keeps the writer from committing. That is a known outcome: rolled back.
TEST_F(SqliteStoreTest, ACommitThatStaysBusyIsUndone) {
  const auto store = Make();
  const KeyspaceRecord keyspace = CreateLinks(*store);
  RawDatabase raw(path());
  ASSERT_EQ(raw.Run("BEGIN"), SQLITE_OK);
  ASSERT_EQ(raw.Value("SELECT count(*) FROM keymill_ledger"), "0");
  const MonotonicTime deadline = clock_.Monotonic() + std::chrono::milliseconds(5);
  EXPECT_EQ(store->Reserve(Ask(keyspace, "r1"), deadline).code(), Code::kUnavailable);
  ASSERT_EQ(raw.Run("COMMIT"), SQLITE_OK);
  const auto block = store->Reserve(Ask(keyspace, "r2"), Soon());
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_EQ(block->first, 0U);
  EXPECT_EQ(block->id, "r2");
}

TEST_F(SqliteStoreTest, ThreadsThatCreateTheSameFreshDatabaseAgreeOnOne) {
  for (int round = 0; round < 3; ++round) {
    const auto fresh = dir_.path() / ("fresh" + std::to_string(round));
    std::vector<std::string> ids(4);
    std::vector<std::thread> threads;
    for (std::string& id : ids) {
      threads.emplace_back([&] {
        auto store = OpenSqliteStore({.path = fresh, .create = true}, clock_, Soon());
        ASSERT_TRUE(store.ok()) << store.status().message();
        const auto made = (*store)->Establish({}, Soon());
        ASSERT_TRUE(made.ok()) << made.status().message();
        const auto identity = (*store)->Identity(Soon());
        ASSERT_TRUE(identity.ok()) << identity.status().message();
        EXPECT_EQ(identity->store_id, made->identity.store_id);
        id = identity->store_id;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1U);
    EXPECT_FALSE(ids.front().empty());
  }
}

TEST_F(SqliteStoreTest, MoreThreadsThanConnectionsTakeTurns) {
  const auto store = Make();
  const KeyspaceRecord keyspace = CreateLinks(*store);
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      // Waiting for a connection is on the real clock.
      const MonotonicTime deadline = SystemClock().Monotonic() + std::chrono::minutes(1);
      for (int round = 0; round < 20; ++round) {
        if (store->FindKeyspace("links", deadline).ok()) ++found;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 160);
}

TEST_F(SqliteStoreTest, AFileThatIsReplacedIsOpenedAnewAndOneThatVanishesIsAway) {
  const auto store = Make();
  CreateLinks(*store);
  std::filesystem::copy_file(path(), dir_.path() / "copy");
  std::filesystem::rename(dir_.path() / "copy", path());
  ASSERT_TRUE(store->RetireKeyspace("links", Soon()).ok());
  EXPECT_EQ(RawDatabase(path()).Value("SELECT state FROM keymill_keyspaces"), "retired")
      << "written to the file that is there now";
  std::filesystem::remove(path());
  EXPECT_EQ(store->FindKeyspace("links", Soon()).code(), Code::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(path())) << "and it is not made anew";
}

TEST_F(SqliteStoreTest, ARetiredKeyspaceCannotBeReopenedByWayOfAQuarantine) {
  const auto store = Make();
  const KeyspaceRecord keyspace = CreateLinks(*store);
  ASSERT_TRUE(store->RetireKeyspace("links", Soon()).ok());
  ASSERT_TRUE(store->Quarantine(keyspace.id, "late", {}, Soon()).ok());
  EXPECT_EQ(store->FindKeyspace("links", Soon())->state, KeyspaceState::kRetired);
  EXPECT_EQ(store->Recover(keyspace.id, {}, Soon()).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace keymill::store
