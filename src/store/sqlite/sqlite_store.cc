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

namespace keymill::store {

// Schema texts are promises: append versions, never edit one.
const sql::Dialect& SqliteDialect() {
  static const auto* const dialect = new sql::Dialect{
      .row_lock = "",  // BEGIN IMMEDIATE has locked the whole file.
      .schema_probe = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'keymill_store'",
      .migrations = {{
          "CREATE TABLE keymill_keyspaces ("
          "name TEXT NOT NULL PRIMARY KEY, id TEXT NOT NULL UNIQUE, recipe TEXT NOT NULL, "
          "recipe_hash TEXT NOT NULL, secret BLOB NOT NULL, state TEXT NOT NULL, "
          "reason TEXT NOT NULL, first_number INTEGER NOT NULL, end_number INTEGER NOT NULL, "
          "next_number INTEGER NOT NULL, rev INTEGER NOT NULL, created_at_ms INTEGER NOT NULL, "
          "CHECK (first_number <= next_number AND next_number <= end_number)) STRICT",
          "CREATE TABLE keymill_ledger ("
          "keyspace_id TEXT NOT NULL, first_number INTEGER NOT NULL, "
          "number_count INTEGER NOT NULL CHECK (number_count > 0), block_id TEXT NOT NULL, "
          "instance TEXT NOT NULL, reservation TEXT NOT NULL, reserved_at_ms INTEGER NOT NULL, "
          "state TEXT NOT NULL, PRIMARY KEY (keyspace_id, first_number)) STRICT, WITHOUT ROWID",
          "CREATE INDEX keymill_ledger_state ON keymill_ledger (keyspace_id, state, first_number)",
          // "KMIL": tells a Keymill store from any other SQLite file.
          "PRAGMA application_id = 1263356236",
      }}};
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

  Result<std::string> Timeline(sql::Connection& /*connection*/) override {
    struct stat info {};
    if (::stat(options_.path.c_str(), &info) != 0) {
      return Status(Code::kUnavailable, fmt::format("look at {}: {}", options_.path.string(),
                                                    std::generic_category().message(errno)));
    }
    return fmt::format("{}:{}", info.st_dev, info.st_ino);
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
