// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "embed/foreign.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "store/sqlite/sqlite_connection.h"
#include "store/store_url.h"

#ifdef KEYMILL_HAS_POSTGRES
#include "store/postgres/postgres_store.h"
#endif
#ifdef KEYMILL_HAS_MARIADB
#include "store/mariadb/mariadb_connection.h"
#include "store/mariadb/mariadb_options.h"
#endif

namespace keymill::embed {
namespace {

using store::sql::Connection;

constexpr std::string_view kSqlitePrefix = "sqlite:";

Status NotInThisBuild(std::string_view scheme) {
  return {Code::kInvalidArgument,
          fmt::format("import from {}: this build has no client for it", scheme)};
}

std::string Text(const store::sql::Value& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* const bytes = std::get_if<store::sql::Bytes>(&value)) return bytes->data;
  return std::get<std::string>(value);
}

Result<std::unique_ptr<Connection>> Connect(ForeignDatabase::Family family,
                                            [[maybe_unused]] const store::StoreUrl& url,
                                            [[maybe_unused]] const Clock& clock,
                                            [[maybe_unused]] MonotonicTime deadline) {
#ifdef KEYMILL_HAS_POSTGRES
  if (family == ForeignDatabase::Family::kPostgres) {
    return store::OpenPostgresConnection(url, clock, deadline);
  }
#endif
#ifdef KEYMILL_HAS_MARIADB
  if (family == ForeignDatabase::Family::kMariadb) {
    const Result<store::MariadbOptions> options = store::ReadMariadbOptions(url);
    if (!options.ok()) return options.status();
    return store::OpenMariadbConnection(*options, /*create=*/false, clock, deadline);
  }
#endif
  return NotInThisBuild(family == ForeignDatabase::Family::kPostgres ? "PostgreSQL" : "MariaDB");
}

}  // namespace

Result<ForeignDatabase> ForeignDatabase::Open(std::string_view url, const Clock& clock,
                                              MonotonicTime deadline) {
  if (url.starts_with(kSqlitePrefix)) {
    auto connection =
        store::OpenForeignSqlite(std::string(url.substr(kSqlitePrefix.size())), clock, deadline);
    if (!connection.ok()) return connection.status();
    return ForeignDatabase(Family::kSqlite, *std::move(connection));
  }
  const Result<store::StoreUrl> parsed = store::ParseStoreUrl(url);
  if (!parsed.ok()) return parsed.status();
  const std::string& scheme = parsed->scheme;
  const bool postgres = scheme == "postgres" || scheme == "postgresql";
  if (!postgres && scheme != "mariadb" && scheme != "mysql") {
    return Status(Code::kInvalidArgument,
                  fmt::format("import from {}: a database is sqlite:PATH, postgres://… or "
                              "mariadb://…",
                              store::ShownScheme(url)));
  }
  const Family family = postgres ? Family::kPostgres : Family::kMariadb;
  auto connection = Connect(family, *parsed, clock, deadline);
  if (!connection.ok()) return connection.status();
  return ForeignDatabase(family, *std::move(connection));
}

std::string ForeignDatabase::Quote(std::string_view name) const {
  // SQLite takes a name in double quotes that it does not know for a text.
  const char mark = family_ == Family::kPostgres ? '"' : '`';
  std::string quoted(1, mark);
  for (const char c : name) {
    if (c == mark) quoted += mark;
    quoted += c;
  }
  return quoted + mark;
}

std::string ForeignDatabase::QuoteTable(std::string_view name) const {
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos) {
    return fmt::format("{}.{}", Quote(name.substr(0, dot)), Quote(name.substr(dot + 1)));
  }
  return (family_ == Family::kPostgres ? "public." : "") + Quote(name);
}

Result<std::vector<std::vector<std::string>>> ForeignDatabase::Read(std::string_view sql,
                                                                    MonotonicTime deadline) {
  if (Status begun = connection_->Begin(store::sql::Access::kRead, deadline); !begun.ok()) {
    return begun;
  }
  const auto rows = connection_->Query(sql, {});
  const bool denied = !rows.ok() && connection_->Denied();
  connection_->Rollback();
  if (denied) return Status(Code::kNotFound, rows.status().message());
  if (!rows.ok()) return rows.status();
  std::vector<std::vector<std::string>> texts;
  for (const store::sql::Row& row : *rows) {
    std::vector<std::string>& text = texts.emplace_back();
    for (const store::sql::Value& value : row) text.push_back(Text(value));
  }
  return texts;
}

}  // namespace keymill::embed
