// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the store does when a server says that another transaction was in the way, on SQLite with
// a driver that says so on command. All else is in tests/conformance.

#include "store/sql/sql_store.h"

#include <chrono>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace keymill::store::sql {
namespace {

struct Trouble {
  int updates = 0;  // Of keyspaces, that are refused from now on.
  bool clash = true;
  int schema_locks = 0;  // How often LockSchema was called.
  int refused = 0;
};

class TroubledConnection final : public Connection {
 public:
  TroubledConnection(std::unique_ptr<Connection> inner, Trouble& trouble)
      : inner_(std::move(inner)), trouble_(trouble) {}

  Status Begin(Access access, MonotonicTime deadline) override {
    clashed_ = false;
    return inner_->Begin(access, deadline);
  }
  Result<std::vector<Row>> Query(std::string_view sql, std::span<const Value> values) override {
    return inner_->Query(sql, values);
  }
  Result<std::int64_t> Execute(std::string_view sql, std::span<const Value> values) override {
    Result<std::int64_t> done = inner_->Execute(sql, values);
    if (!sql.starts_with("UPDATE keymill_keyspaces") || trouble_.updates == 0) return done;
    --trouble_.updates;
    ++trouble_.refused;
    clashed_ = trouble_.clash;
    return Status(Code::kUnavailable, "refused");  // What it did is there until Rollback.
  }
  Status LockSchema() override {
    ++trouble_.schema_locks;
    return {};
  }
  [[nodiscard]] bool Clashed() const override { return clashed_; }
  Status Commit() override { return inner_->Commit(); }
  void Rollback() override { inner_->Rollback(); }
  Status CheckAlive() override { return inner_->CheckAlive(); }

 private:
  const std::unique_ptr<Connection> inner_;
  Trouble& trouble_;
  bool clashed_ = false;
};

class TroubledDriver final : public Driver {
 public:
  TroubledDriver(std::filesystem::path path, Trouble& trouble)
      : path_(std::move(path)), trouble_(trouble) {}

  Result<std::unique_ptr<Connection>> Connect(MonotonicTime deadline) override {
    auto inner = OpenSqliteConnection(path_, /*create=*/true, SystemClock(), deadline);
    if (!inner.ok()) return inner.status();
    return std::unique_ptr<Connection>(
        std::make_unique<TroubledConnection>(*std::move(inner), trouble_));
  }
  const Dialect& dialect() const override { return SqliteDialect(); }
  Result<std::string> Timeline() override { return std::string("t"); }

 private:
  const std::filesystem::path path_;
  Trouble& trouble_;
};

MonotonicTime In(std::chrono::milliseconds time) { return SystemClock().Monotonic() + time; }

class SqlStoreTest : public testing::Test {
 protected:
  SqlStoreTest() {
    auto opened = OpenSqlStore(std::make_unique<TroubledDriver>(dir_.path() / "store.db", trouble_),
                               SystemClock(), In(std::chrono::seconds(30)), {.create = true});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    store_ = *std::move(opened);
    Establish();
  }

  void Establish() {
    const NewKeyspace keyspace{.name = "links",
                               .id = "id",
                               .recipe = "recipe",
                               .recipe_hash = "hash",
                               .secret = "secret",
                               .first = 0,
                               .end = 1000};
    auto made = store_->Establish({.keyspaces = {{keyspace, 0, {}}}, .instance = "a"},
                                  In(std::chrono::seconds(30)));
    EXPECT_TRUE(made.ok()) << made.status().message();
  }

  Result<Block> Reserve(std::chrono::milliseconds time) {
    return store_->Reserve({.keyspace_id = "id",
                            .recipe_hash = "hash",
                            .count = 10,
                            .witness = {},
                            .instance = "a",
                            .reservation = RandomHex(16),
                            .above = 0,
                            .spent = {}},
                           In(time));
  }

  TempDir dir_;
  Trouble trouble_;
  std::unique_ptr<Store> store_;
};

TEST_F(SqlStoreTest, WhatOnlyLostToAnotherTransactionIsRunAgainFromTheBeginning) {
  trouble_.updates = 5;
  const auto block = Reserve(std::chrono::seconds(30));
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_EQ(trouble_.refused, 5);
  EXPECT_EQ(block->first, 0U) << "nothing of the first runs has stayed";
  EXPECT_EQ(block->seen, (Witness{2, 10}));
  EXPECT_EQ(store_->ListLedger("id", 0, 10, In(std::chrono::seconds(30)))->size(), 1U);
}

TEST_F(SqlStoreTest, ItIsRunAgainOnlyUntilTheDeadline) {
  trouble_.updates = 1'000'000;
  EXPECT_EQ(Reserve(std::chrono::milliseconds(100)).code(), Code::kUnavailable);
  EXPECT_GT(trouble_.refused, 1);
  trouble_.updates = 0;
  EXPECT_EQ(Reserve(std::chrono::seconds(30))->first, 0U);
}

TEST_F(SqlStoreTest, AnyOtherErrorIsToldAtOnce) {
  trouble_ = {.updates = 2, .clash = false};
  EXPECT_EQ(Reserve(std::chrono::seconds(30)).code(), Code::kUnavailable);
  EXPECT_EQ(trouble_.refused, 1);
}

TEST_F(SqlStoreTest, TheSchemaIsLockedOnlyToBeMade) {
  EXPECT_EQ(trouble_.schema_locks, 1);
  Establish();
  EXPECT_EQ(trouble_.schema_locks, 1);
}

TEST_F(SqlStoreTest, WhatALongFillHasLeftIsRemovedInSteps) {
  auto opened = OpenSqlStore(std::make_unique<TroubledDriver>(dir_.path() / "other.db", trouble_),
                             SystemClock(), In(std::chrono::seconds(30)), {.create = true});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Store& store = **opened;
  const MonotonicTime soon = In(std::chrono::minutes(5));
  const auto links = store_->FindKeyspace("links", soon);
  ASSERT_TRUE(store.BeginFill("an id", "first", soon).ok());
  for (const char* const id : {"id", "id of another"}) {
    KeyspaceRecord record = *links;
    record.name = record.id = id;
    ASSERT_TRUE(store.FillKeyspace("first", record, soon).ok());
    for (std::uint64_t first = 0; first < 12'000;) {
      std::vector<LedgerRow> rows;
      for (std::size_t i = 0; i < Store::kFillRowsMax; ++i, ++first) {
        rows.push_back({RandomHex(4), first, 1, "a", "r", 1, BlockState::kSpent});
      }
      ASSERT_TRUE(store.FillLedger("first", id, rows, soon).ok());
    }
  }
  EXPECT_EQ(store.EndFill("first", 2, 23'999, 0, soon).code(), Code::kInternal);
  ASSERT_TRUE(store.BeginFill("an id", "second", soon).ok());
  const Status ended = store.EndFill("second", 0, 0, 0, soon);
  EXPECT_TRUE(ended.ok()) << ended.message();
}

TEST_F(SqlStoreTest, ADriverWithoutSettingsFindsNothing) {
  const auto findings = store_->Inspect(In(std::chrono::seconds(30)));
  ASSERT_TRUE(findings.ok());
  EXPECT_TRUE(findings->empty());
}

}  // namespace
}  // namespace keymill::store::sql
