// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/schema.h"

#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/random.h"

namespace keymill::store::sql {
namespace {

Result<std::optional<StoreIdentity>> SelectIdentity(Connection& db) {
  Result<std::vector<Row>> rows =
      db.Query("SELECT store_id, schema_version FROM keymill_store", {});
  if (!rows.ok()) return rows.status();
  if (rows->empty()) return std::optional<StoreIdentity>();
  const Row& row = rows->front();
  const auto* const id = std::get_if<std::string>(&row.at(0));
  const auto* const version = std::get_if<std::int64_t>(&row.at(1));
  if (rows->size() != 1 || id == nullptr || version == nullptr || *version < 1) {
    return Status(Code::kInternal, "read the store's identity: damaged row");
  }
  return std::optional<StoreIdentity>(StoreIdentity{*id, "", static_cast<std::uint32_t>(*version)});
}

}  // namespace

Result<std::uint32_t> SchemaVersion(Connection& db, const Dialect& dialect) {
  Result<std::vector<Row>> tables = db.Query(dialect.schema_probe, {});
  if (!tables.ok()) return tables.status();
  if (tables->empty()) return std::uint32_t{0};
  Result<std::optional<StoreIdentity>> identity = SelectIdentity(db);
  if (!identity.ok()) return identity.status();
  // A table without its row is what a crash leaves where tables are made outside transactions.
  return identity->has_value() ? (*identity)->schema_version : std::uint32_t{0};
}

Status Migrate(Connection& db, const Dialect& dialect, std::int64_t wall_ms) {
  Result<std::int64_t> made = db.Execute(
      "CREATE TABLE IF NOT EXISTS keymill_store (store_id VARCHAR(32) NOT NULL PRIMARY KEY, "
      "schema_version BIGINT NOT NULL, created_at_ms BIGINT NOT NULL)",
      {});
  if (!made.ok()) return made.status();
  Result<std::optional<StoreIdentity>> identity = SelectIdentity(db);
  if (!identity.ok()) return identity.status();
  const std::size_t newest = dialect.migrations.size();
  const std::size_t version = identity->has_value() ? (*identity)->schema_version : 0;
  if (version > newest) {
    return {Code::kFailedPrecondition,
            fmt::format("the store has schema version {}, this program knows {}: run a keymill "
                        "that is at least as new as the one that last opened it",
                        version, newest)};
  }
  for (std::size_t step = version; step < newest; ++step) {
    for (const std::string_view statement : dialect.migrations[step]) {
      if (Result<std::int64_t> done = db.Execute(statement, {}); !done.ok()) return done.status();
    }
  }
  if (version == newest) return {};
  const auto version_now = static_cast<std::int64_t>(newest);
  if (identity->has_value()) {
    const std::array<Value, 1> values = {version_now};
    return db.Execute("UPDATE keymill_store SET schema_version = ?", values).status();
  }
  const std::array<Value, 3> values = {RandomHex(16), version_now, wall_ms};
  return db
      .Execute(
          "INSERT INTO keymill_store (store_id, schema_version, created_at_ms) "
          "VALUES (?, ?, ?)",
          values)
      .status();
}

Result<StoreIdentity> ReadIdentity(Connection& db) {
  Result<std::optional<StoreIdentity>> identity = SelectIdentity(db);
  if (!identity.ok()) return identity.status();
  if (!identity->has_value()) {
    return Status(Code::kInternal, "read the store's identity: the row is gone");
  }
  return **std::move(identity);
}

}  // namespace keymill::store::sql
