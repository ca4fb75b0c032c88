// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// By which index each statement finds its keys, as SQLite plans it. What they do is tested in
// tests/conformance.

#include "store/sql/keys.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_store.h"
#include "support/temp_dir.h"

namespace keymill::store::sql {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// Runs statements and remembers how each found its rows.
class PlanningConnection final : public Connection {
 public:
  explicit PlanningConnection(std::unique_ptr<Connection> inner) : inner_(std::move(inner)) {}

  Status Begin(Access access, MonotonicTime deadline) override {
    return inner_->Begin(access, deadline);
  }
  Result<std::vector<Row>> Query(std::string_view sql, std::span<const Value> values) override {
    Plan(sql, values);
    return inner_->Query(sql, values);
  }
  Result<std::int64_t> Execute(std::string_view sql, std::span<const Value> values) override {
    if (!sql.starts_with("INSERT")) Plan(sql, values);
    return inner_->Execute(sql, values);
  }
  Status Commit() override { return inner_->Commit(); }
  void Rollback() override { inner_->Rollback(); }
  Status CheckAlive() override { return inner_->CheckAlive(); }

  // Of the statements since the last call.
  std::vector<std::string> Plans() { return std::exchange(plans_, {}); }

 private:
  void Plan(std::string_view sql, std::span<const Value> values) {
    const auto rows = inner_->Query("EXPLAIN QUERY PLAN " + std::string(sql), values);
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    std::string& plan = plans_.emplace_back();
    for (const Row& row : *rows) plan += std::get<std::string>(row.at(3)) + "; ";
  }

  const std::unique_ptr<Connection> inner_;
  std::vector<std::string> plans_;
};

class KeysTest : public testing::Test {
 protected:
  KeysTest() {
    auto store = OpenSqliteStore({.path = path(), .create = true}, SystemClock(), Soon());
    EXPECT_TRUE((*store)->Establish({}, Soon()).ok());
    db_ = std::make_unique<PlanningConnection>(
        *OpenSqliteConnection(path(), /*create=*/false, SystemClock(), Soon()));
    EXPECT_TRUE(db_->Begin(Access::kWrite, Soon()).ok());
    const KeyRow k1{.key = "k1"};
    const KeyRow k2{.key = "k2"};
    const KeyRow note{.key = "/n", .state = KeyState::kNote, .expires_at_ms = 5};
    EXPECT_TRUE(InsertKeys(*db_, "id", {&k1, &k2, &note}).ok());
    db_->Plans();
  }

  std::filesystem::path path() { return dir_.path() / "store.db"; }
  static MonotonicTime Soon() { return SystemClock().Monotonic() + std::chrono::seconds(30); }

  TempDir dir_;
  std::unique_ptr<PlanningConnection> db_;
};

constexpr const char* kByKey = "autoindex_keymill_key_1 (key_text=? AND keyspace_id=?)";

// Two million may be in the same state.
TEST_F(KeysTest, KeysThatAreNamedAreFoundByTheirKeys) {
  ASSERT_TRUE(SelectKey(*db_, "id", "key_text", "k1").ok());
  ASSERT_TRUE(SelectPresent(*db_, "id", {{.key = "k1"}, {.key = "k2"}}).ok());
  ASSERT_TRUE(
      UpdateTaken(*db_, "id", {"k1", "k2"}, {.count = 2, .instance = "i", .token = "t"}).ok());
  const KeyChange change{.match = {.keys = {"k1", "k2"}, .state = KeyState::kUsed, .token = "t"},
                         .to = KeyState::kReleased,
                         .at_ms = 1};
  ASSERT_THAT(*SelectMatching(*db_, "id", change.match, 10), SizeIs(2));
  ASSERT_TRUE(UpdateChanged(*db_, "id", {"k1", "k2"}, change).ok());
  ASSERT_TRUE(DeleteKeys(*db_, "id", {"/n"}).ok());
  const auto plans = db_->Plans();
  EXPECT_THAT(plans, SizeIs(6));
  EXPECT_THAT(plans, Each(HasSubstr(kByKey)));
}

TEST_F(KeysTest, OthersAreFoundInTheOrderOfAnIndex) {
  ASSERT_THAT(*SelectAvailable(*db_, "id", 10), SizeIs(2));
  ASSERT_THAT(
      *SelectMatching(*db_, "id", {.state = KeyState::kAvailable, .token = {}, .since_until_ms = 9},
                      10),
      SizeIs(2));
  ASSERT_TRUE(
      SelectPage(*db_, "id", {.state = KeyState::kAvailable, .cursor = "available 0 k1"}).ok());
  auto plans = db_->Plans();
  EXPECT_THAT(plans, SizeIs(4));
  EXPECT_THAT(plans, Each(HasSubstr("keymill_key_state (state=? AND keyspace_id=?")));
  EXPECT_THAT(plans, Each(Not(HasSubstr("TEMP B-TREE"))));

  ASSERT_THAT(*SelectMatching(*db_, "id", {.state = KeyState::kNote, .expires_until_ms = 9}, 10),
              SizeIs(1));
  plans = db_->Plans();
  EXPECT_THAT(plans, Each(HasSubstr("keymill_key_expiry (state=? AND keyspace_id=? AND exp")));
  EXPECT_THAT(plans, Each(Not(HasSubstr("TEMP B-TREE"))));

  ASSERT_TRUE(SelectKey(*db_, "id", "identity", std::string(64, 'a')).ok());
  ASSERT_TRUE(CountByState(*db_, "id").ok());
  plans = db_->Plans();
  ASSERT_THAT(plans, SizeIs(2));
  EXPECT_THAT(plans[0], HasSubstr("keymill_key_identity (identity=? AND keyspace_id=?)"));
  EXPECT_THAT(plans[1], HasSubstr("COVERING INDEX keymill_key_state"));
}

TEST_F(KeysTest, ACursorOfSomebodyElsesIsRefused) {
  for (const char* const cursor : {"k1", "used", "used x k1", "gone 1 k1", "used 1"}) {
    EXPECT_EQ(SelectPage(*db_, "id", {.cursor = cursor}).code(), Code::kInvalidArgument) << cursor;
  }
}

// Made by hand, or by a newer program.
TEST_F(KeysTest, ADamagedRowIsNotUsed) {
  ASSERT_TRUE(db_->Execute("UPDATE keymill_key SET state = 'lost' WHERE key_text = 'k1'", {}).ok());
  EXPECT_EQ(SelectKey(*db_, "id", "key_text", "k1").code(), Code::kInternal);
  ASSERT_TRUE(
      db_->Execute("UPDATE keymill_key SET generation = -1 WHERE key_text = 'k2'", {}).ok());
  EXPECT_EQ(SelectKey(*db_, "id", "key_text", "k2").code(), Code::kInternal);
}

}  // namespace
}  // namespace keymill::store::sql
