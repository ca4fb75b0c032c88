// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/sql/schema.h"

#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "store/sql/row_reader.h"
#include "store/sql/rows.h"

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
  return std::optional<StoreIdentity>(
      StoreIdentity{*id, "", "", static_cast<std::uint32_t>(*version)});
}

}  // namespace

Result<std::uint32_t> SchemaVersion(Connection& db, const Dialect& dialect) {
  Result<std::vector<Row>> tables = db.Query(dialect.schema_probe, {});
  if (!tables.ok()) return tables.status();
  if (tables->empty()) return std::uint32_t{0};
  Result<std::optional<StoreIdentity>> identity = SelectIdentity(db);
  if (!identity.ok()) return identity.status();
  if (!identity->has_value() && !dialect.emptied_advice.empty()) {
    return Status(Code::kFailedPrecondition,
                  fmt::format("the table keymill_store is empty: what the store held was deleted, "
                              "or is hidden. {}",
                              dialect.emptied_advice));
  }
  // A table without its row is what a crash leaves where tables are made outside transactions.
  return identity->has_value() ? (*identity)->schema_version : std::uint32_t{0};
}

Status Migrate(Connection& db, const Dialect& dialect) {
  // A schema that is up to date needs neither the lock nor the right to create tables.
  Result<std::uint32_t> present = SchemaVersion(db, dialect);
  if (!present.ok()) return present.status();
  if (*present == dialect.migrations.size()) return {};
  if (Status alone = db.LockSchema(); !alone.ok()) return alone;
  present = SchemaVersion(db, dialect);  // As whoever had the lock has left it.
  if (!present.ok()) return present.status();
  const std::size_t newest = dialect.migrations.size();
  const std::size_t version = *present;
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
  if (version == 0) return db.Execute(InsertVersion(newest), {}).status();
  const std::array<Value, 1> values = {static_cast<std::int64_t>(newest)};
  return ExecuteOne(db, "UPDATE keymill_store SET schema_version = ?", values);
}

std::string InsertVersion(std::size_t version) {
  // Only where there is no row: whoever applies the schema again must not make a second one.
  return fmt::format(
      "INSERT INTO keymill_store (store_id, schema_version, created_at_ms, agreed_timeline, "
      "moved_to, fill_name) SELECT '', {}, 0, '', '', '' FROM (SELECT count(*) AS stores FROM "
      "keymill_store) present WHERE stores = 0",
      version);
}

Result<StoreIdentity> ReadIdentity(Connection& db) {
  Result<std::optional<StoreIdentity>> identity = SelectIdentity(db);
  if (!identity.ok()) return identity.status();
  if (!identity->has_value()) {
    return Status(Code::kInternal, "read the store's identity: the row is gone");
  }
  return **std::move(identity);
}

Result<StoreRow> SelectStore(Connection& db, std::string_view lock) {
  Result<std::vector<Row>> rows =
      db.Query(fmt::format("SELECT store_id, schema_version, created_at_ms, agreed_timeline, "
                           "moved_to, fill_name FROM keymill_store{}",
                           lock),
               {});
  if (!rows.ok()) return rows.status();
  if (rows->size() != 1) {
    return Status(Code::kInternal,
                  fmt::format("read the store's row: there are {} of them", rows->size()));
  }
  RowReader reader(rows->front());
  StoreRow row;
  row.store_id = reader.TakeText();
  row.schema_version = static_cast<std::uint32_t>(reader.TakeNumber());
  row.created_at_ms = reader.TakeSigned();
  row.agreed_timeline = reader.TakeText();
  row.moved_to = reader.TakeText();
  row.fill = reader.TakeText();
  if (!reader.sound()) return Status(Code::kInternal, "read the store's row: it is damaged");
  return row;
}

Status UpdateStore(Connection& db, const StoreRow& row) {
  const std::array<Value, 5> values = {row.store_id, row.created_at_ms, row.agreed_timeline,
                                       row.moved_to, row.fill};
  return ExecuteOne(db,
                    "UPDATE keymill_store SET store_id = ?, created_at_ms = ?, "
                    "agreed_timeline = ?, moved_to = ?, fill_name = ?",
                    values);
}

}  // namespace keymill::store::sql
