// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_store.h"

#include <atomic>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "store/mariadb/mariadb_connection.h"
#include "store/mariadb/mariadb_inspect.h"
#include "store/mariadb/mariadb_options.h"
#include "store/sql/sql_store.h"

namespace keymill::store {

// Schema texts are promises: append versions, never edit one. Each statement commits by itself,
// and is run again if a crash comes before the version's row is written: IF NOT EXISTS.
const sql::Migrations& MariadbMigrations() {
  static const auto* const migrations = new sql::Migrations{
      {
          "CREATE TABLE IF NOT EXISTS keymill_store ("
          "store_id VARBINARY(64) NOT NULL PRIMARY KEY, schema_version BIGINT NOT NULL, "
          "created_at_ms BIGINT NOT NULL, agreed_timeline VARBINARY(255) NOT NULL, "
          "moved_to MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, "
          "fill_name VARBINARY(64) NOT NULL) ENGINE = InnoDB",
          // Empty whenever the server has been started, whatever the clock says. Its engine is not
          // named, because a replica must not use it: one that finds such a table empty writes that
          // to its own binary log, and may follow no more.
          "SET SESSION default_storage_engine = MEMORY",
          "CREATE TABLE IF NOT EXISTS keymill_start (token VARBINARY(64) NOT NULL PRIMARY KEY)",
          "SET SESSION default_storage_engine = DEFAULT",
          "CREATE TABLE IF NOT EXISTS keymill_keyspaces ("
          "name VARBINARY(255) NOT NULL PRIMARY KEY, id VARBINARY(64) NOT NULL UNIQUE, "
          "recipe MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, "
          "recipe_hash VARBINARY(255) NOT NULL, secret BLOB NOT NULL, "
          "state VARBINARY(32) NOT NULL, "
          "reason MEDIUMTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, "
          "first_number BIGINT NOT NULL, end_number BIGINT NOT NULL, next_number BIGINT NOT NULL, "
          "rev BIGINT NOT NULL, created_at_ms BIGINT NOT NULL, testified_rev BIGINT NOT NULL, "
          "testified_next BIGINT NOT NULL, "
          "CHECK (first_number <= next_number AND next_number <= end_number)) ENGINE = InnoDB",
          "CREATE TABLE IF NOT EXISTS keymill_ledger ("
          "keyspace_id VARBINARY(64) NOT NULL, first_number BIGINT NOT NULL, "
          "number_count BIGINT NOT NULL CHECK (number_count > 0), block_id VARBINARY(64) NOT NULL, "
          "instance VARBINARY(255) NOT NULL, reservation VARBINARY(64) NOT NULL, "
          "reserved_at_ms BIGINT NOT NULL, state VARBINARY(32) NOT NULL, "
          "PRIMARY KEY (keyspace_id, first_number), "
          "KEY keymill_ledger_state (keyspace_id, state, first_number)) ENGINE = InnoDB",
      },
      {
          "CREATE TABLE IF NOT EXISTS keymill_key ("
          "keyspace_id VARBINARY(64) NOT NULL, key_text VARBINARY(80) NOT NULL, "
          "state VARBINARY(32) NOT NULL, since_ms BIGINT NOT NULL, instance VARBINARY(255) NOT "
          "NULL, "
          "token VARBINARY(64) NOT NULL, "
          "owner VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, "
          "identity VARBINARY(64), expires_at_ms BIGINT NOT NULL, generation BIGINT NOT NULL, "
          "note MEDIUMBLOB NOT NULL, PRIMARY KEY (key_text, keyspace_id), "
          "UNIQUE KEY keymill_key_identity (identity, keyspace_id), "
          "KEY keymill_key_state (state, keyspace_id, since_ms, key_text), "
          "KEY keymill_key_expiry (state, keyspace_id, expires_at_ms)) ENGINE = InnoDB",
          // For people. Times are UTC. Only MariaDB can leave a view alone that is there.
          "CREATE /*!80000 OR REPLACE */ SQL SECURITY INVOKER VIEW /*M! IF NOT EXISTS */ "
          "available_keys AS SELECT s.name AS keyspace, k.key_text AS `key`, "
          "CASE k.state WHEN 'reserved' THEN k.instance END AS reserved_by, "
          "CASE k.state WHEN 'reserved' THEN TIMESTAMP('1970-01-01') + "
          "INTERVAL k.since_ms * 1000 MICROSECOND END AS reserved_at "
          "FROM keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id "
          "WHERE k.state IN ('available', 'reserved')",
          "CREATE /*!80000 OR REPLACE */ SQL SECURITY INVOKER VIEW /*M! IF NOT EXISTS */ "
          "used_keys AS SELECT s.name AS keyspace, k.key_text AS `key`, "
          "TIMESTAMP('1970-01-01') + INTERVAL k.since_ms * 1000 MICROSECOND AS used_at, "
          "k.instance AS used_by, CASE WHEN k.expires_at_ms > 0 THEN TIMESTAMP('1970-01-01') + "
          "INTERVAL k.expires_at_ms * 1000 MICROSECOND END AS expires_at "
          "FROM keymill_key k JOIN keymill_keyspaces s ON s.id = k.keyspace_id "
          "WHERE k.state = 'used'",
      }};
  return *migrations;
}

namespace {

// Which server it is, when it was started, to the second, and the token of this start, which does
// not depend on any clock. A replica has the token of its primary; a dump has it too, but makes the
// tables anew, that of the keyspaces long before the last one. Uptime counts up to the statement's
// own UNIX_TIMESTAMP(), so that their difference stays the same; each kind of server reads the
// comment that is meant for it.
constexpr std::string_view kTimeline =
    "(SELECT CAST(COALESCE(CONCAT(@@global.server_id, ':', @@global.hostname, ':', @@global.port, "
    "':', (SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = "
    "DATABASE() AND table_name = 'keymill_store'), ':', (SELECT UNIX_TIMESTAMP(create_time) FROM "
    "information_schema.tables WHERE table_schema = DATABASE() AND table_name = "
    "'keymill_keyspaces'), ':', (SELECT CAST(UNIX_TIMESTAMP() - "
    "variable_value AS SIGNED) FROM /*M! information_schema.global_status *//*!80000 "
    "performance_schema.global_status */ WHERE variable_name = 'Uptime'), ':', (SELECT MIN(token) "
    "FROM keymill_start)), '') AS CHAR(255)))";

const sql::Dialect& MariadbDialect() {
  static const auto* const dialect =
      new sql::Dialect{.row_lock = " FOR UPDATE",
                       .schema_probe =
                           "SELECT 1 FROM information_schema.tables "
                           "WHERE table_schema = DATABASE() AND table_name = 'keymill_store'",
                       .migrations = MariadbMigrations(),
                       .timeline = kTimeline,
                       .begin_timeline = "INSERT INTO keymill_start (token) VALUES (?)",
                       .now_ms = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)"};
  return *dialect;
}

class MariadbDriver final : public sql::Driver {
 public:
  MariadbDriver(MariadbOptions options, bool create, const Clock& clock)
      : options_(std::move(options)), create_(create), clock_(clock) {}

  Result<std::unique_ptr<sql::Connection>> Connect(MonotonicTime deadline) override {
    // Only the first connection may create: a database that vanishes later must be noticed.
    const bool first = !connected_;
    Result<std::unique_ptr<sql::Connection>> connection =
        OpenMariadbConnection(options_, first && create_, clock_, deadline);
    if (connection.ok()) connected_ = true;
    if (connection.ok() || first) return connection;
    // Later on every other code would speak of a keyspace; the database may come back.
    return Status(Code::kUnavailable, connection.status().message());
  }

  const sql::Dialect& dialect() const override { return MariadbDialect(); }

  std::string RightsAdvice() const override { return MariadbRightsAdvice(options_); }

  Result<bool> CheckRights(sql::Connection& connection) override {
    return CheckMariadbRights(connection, MariadbDialect().schema_probe);
  }

  Result<std::vector<StoreFinding>> Inspect(sql::Connection& connection) override {
    return InspectMariadb(connection);
  }

 private:
  const MariadbOptions options_;
  const bool create_;
  const Clock& clock_;
  std::atomic<bool> connected_{false};
};

}  // namespace

Status CheckMariadbUrl(const StoreUrl& url) { return ReadMariadbOptions(url).status(); }

Result<std::unique_ptr<Store>> OpenMariadbStore(const StoreUrl& url, bool create,
                                                const Clock& clock, MonotonicTime deadline) {
  Result<MariadbOptions> options = ReadMariadbOptions(url);
  if (!options.ok()) return options.status();
  return sql::OpenSqlStore(std::make_unique<MariadbDriver>(*std::move(options), create, clock),
                           clock, deadline, {.create = create});
}

}  // namespace keymill::store
