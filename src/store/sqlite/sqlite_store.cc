// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sqlite/sqlite_store.h"

#include <atomic>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/fork.h"
#include "store/sql/sql_store.h"
#include "store/sqlite/sqlite_connection.h"
#include "store/sqlite/sqlite_place.h"

namespace keymill::store {

namespace {

// Schema texts are promises: append versions, never edit one.
constexpr std::string_view kStoreTable =
    "CREATE TABLE IF NOT EXISTS keymill_store (store_id VARCHAR(32) NOT NULL PRIMARY KEY, "
    "schema_version BIGINT NOT NULL, created_at_ms BIGINT NOT NULL)";
constexpr std::string_view kKeyspacesTable =
    "CREATE TABLE keymill_keyspaces ("
    "name TEXT NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE, recipe TEXT NOT NULL, "
    "recipe_hash TEXT NOT NULL, secret BLOB NOT NULL, state TEXT NOT NULL, "
    "reason TEXT NOT NULL, first_number INTEGER NOT NULL, end_number INTEGER NOT NULL, "
    "next_number INTEGER NOT NULL, rev INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, "
    "CHECK (first_number <= next_number AND next_number <= end_number)) STRICT";
constexpr std::string_view kLedgerTable =
    "CREATE TABLE keymill_ledger ("
    "keyspace_id TEXT NOT NULL, first_number INTEGER NOT NULL, "
    "number_count INTEGER NOT NULL CHECK (number_count > 0), block_id TEXT NOT NULL, "
    "instance TEXT NOT NULL, reservation TEXT NOT NULL, reserved_at_ms INTEGER NOT NULL, "
    "state TEXT NOT NULL, PRIMARY KEY (keyspace_id, first_number)) STRICT, WITHOUT ROWID";
constexpr std::string_view kLedgerIndex =
    "CREATE INDEX keymill_ledger_state ON keymill_ledger (keyspace_id, state, first_number)";
// "KMIL": tells a Keymill store from any other SQLite file.
constexpr std::string_view kApplicationId = "PRAGMA application_id = 1263356236";
// For programs of the first version that have the file open: they know no seal, but stop at the
// state of a keyspace that is sealed.
constexpr std::string_view kSealTrigger =
    "CREATE TRIGGER keymill_sealed BEFORE INSERT ON keymill_keyspaces "
    "WHEN (SELECT moved_to FROM keymill_store) <> '' "
    "BEGIN SELECT RAISE(ABORT, 'the store was sealed'); END";
// With row ids, unlike the ledger: keys are random, and of a table in their order every page would
// be written with each batch of a pool.
constexpr std::string_view kKeyTable =
    "CREATE TABLE keymill_key ("
    "keyspace_id TEXT NOT NULL, key_text TEXT NOT NULL, state TEXT NOT NULL, "
    "since_ms INTEGER NOT NULL, instance TEXT NOT NULL, token TEXT NOT NULL, owner TEXT NOT NULL, "
    "identity TEXT, expires_at_ms INTEGER NOT NULL, generation INTEGER NOT NULL, "
    "note BLOB NOT NULL, PRIMARY KEY (key_text, keyspace_id)) STRICT";
constexpr std::string_view kKeyIdentityIndex =
    "CREATE UNIQUE INDEX keymill_key_identity ON keymill_key (identity, keyspace_id) "
    "WHERE identity IS NOT NULL";
constexpr std::string_view kKeyStateIndex =
    "CREATE INDEX keymill_key_state ON keymill_key (state, keyspace_id, since_ms, key_text)";
constexpr std::string_view kKeyExpiryIndex =
    "CREATE INDEX keymill_key_expiry ON keymill_key (state, keyspace_id, expires_at_ms) "
    "WHERE expires_at_ms > 0";
// For people. Times are UTC.
constexpr std::string_view kAvailableView =
    "CREATE VIEW available_keys AS SELECT s.name AS keyspace, k.key_text AS \"key\", "
    "CASE k.state WHEN 'reserved' THEN k.instance END AS reserved_by, "
    "CASE k.state WHEN 'reserved' THEN "
    "strftime('%Y-%m-%d %H:%M:%f', k.since_ms / 1000.0, 'unixepoch') END AS reserved_at "
    "FROM keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id "
    "WHERE k.state IN ('available', 'reserved')";
constexpr std::string_view kUsedView =
    "CREATE VIEW used_keys AS SELECT s.name AS keyspace, k.key_text AS \"key\", "
    "strftime('%Y-%m-%d %H:%M:%f', k.since_ms / 1000.0, 'unixepoch') AS used_at, "
    "k.instance AS used_by, CASE WHEN k.expires_at_ms > 0 THEN "
    "strftime('%Y-%m-%d %H:%M:%f', k.expires_at_ms / 1000.0, 'unixepoch') END AS expires_at "
    "FROM keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id "
    "WHERE k.state = 'used'";

}  // namespace

const sql::Dialect& SqliteDialect() {
  static const auto* const dialect = new sql::Dialect{
      .row_lock = "",  // BEGIN IMMEDIATE has locked the whole file.
      .schema_probe = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'keymill_store'",
      .migrations = {
          {kStoreTable, kKeyspacesTable, kLedgerTable, kLedgerIndex, kApplicationId},
          {"ALTER TABLE keymill_store ADD COLUMN agreed_timeline TEXT NOT NULL DEFAULT ''",
           "ALTER TABLE keymill_store ADD COLUMN moved_to TEXT NOT NULL DEFAULT ''",
           "ALTER TABLE keymill_store ADD COLUMN fill_name TEXT NOT NULL DEFAULT ''",
           "ALTER TABLE keymill_keyspaces ADD COLUMN testified_rev INTEGER NOT NULL DEFAULT 0",
           "ALTER TABLE keymill_keyspaces ADD COLUMN testified_next INTEGER NOT NULL DEFAULT 0",
           kSealTrigger},
          {kKeyTable, kKeyIdentityIndex, kKeyStateIndex, kKeyExpiryIndex, kAvailableView,
           kUsedView}}};
  return *dialect;
}

namespace {

class SqliteDriver final : public sql::Driver {
 public:
  SqliteDriver(SqliteOptions options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  Result<std::unique_ptr<sql::Connection>> Connect(MonotonicTime deadline) override {
    // Only the first connection may create: a file that vanishes later must be noticed.
    const bool first = !connected_;
    Result<std::unique_ptr<sql::Connection>> connection =
        OpenSqliteConnection(options_.path, first && options_.create, clock_, deadline);
    if (connection.ok()) connected_ = true;
    if (first || connection.code() != Code::kNotFound) return connection;
    // kNotFound would say that a keyspace is gone for good; the file may come back.
    return Status(Code::kUnavailable, connection.status().message());
  }

  const sql::Dialect& dialect() const override { return SqliteDialect(); }

  // A file has no server that could be started anew: it is the timeline.
  Result<std::string> Timeline() override {
    struct stat info {};
    if (::stat(options_.path.c_str(), &info) != 0) {
      return Status(Code::kUnavailable, fmt::format("look at {}: {}", options_.path.string(),
                                                    std::generic_category().message(errno)));
    }
    return fmt::format("{}:{}", info.st_dev, info.st_ino);
  }

  Result<std::vector<StoreFinding>> Inspect(sql::Connection& /*connection*/) override {
    return CheckPlace(GatherPlace(options_.path));
  }

 private:
  const SqliteOptions options_;
  const Clock& clock_;
  std::atomic<bool> connected_{false};
};

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options, const Clock& clock,
                                               MonotonicTime deadline) {
  return sql::OpenSqlStore(std::make_unique<SqliteDriver>(options, clock), clock, deadline,
                           {.create = options.create});
}

}  // namespace keymill::store
