// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// write_schema postgres|mariadb|sqlite: the file of deploy/schema for that database, made of the
// statements that a store applies itself.

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "store/mariadb/mariadb_store.h"
#include "store/postgres/postgres_store.h"
#include "store/sql/schema.h"
#include "store/sqlite/sqlite_store.h"

namespace {

using Migrations = std::vector<std::vector<std::string_view>>;

struct File {
  std::string_view name;
  std::string_view database;
  std::string_view how;  // How to apply it, and what to grant.
  std::string_view begin;
  std::string_view end;
  std::string_view upgrade;  // What to do where an older version is there.
  bool repeatable;           // Whether applying all of it does that.
  const Migrations& (*migrations)();
};

constexpr std::string_view kPostgresHow =
    R"(--   psql -v ON_ERROR_STOP=1 -d DATABASE -f postgres.sql
--   GRANT USAGE ON SCHEMA keymill TO mill;
--   GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keymill TO mill;
--
-- For a schema of another name (the URL's `schema`), change it in the two lines below.
)";
constexpr std::string_view kUpgrade =
    "-- Where version {0} is: run what follows, up to the next such line, as the owner, then\n"
    "--   UPDATE keymill_store SET schema_version = {1};\n";
constexpr std::string_view kMariadbHow = R"(--   CREATE DATABASE `keys`;
--   mariadb keys < mariadb.sql
--   GRANT SELECT, INSERT, UPDATE, DELETE ON `keys`.* TO mill;
--
-- The same brings tables of an older version up to date.
)";
constexpr std::string_view kSqliteHow = R"(--   (umask 077; sqlite3 -bail keymill.db < sqlite.sql)
--
-- The file, and the directory it is in, belong to the user of the service.
)";

const std::vector<File>& Files() {
  static const auto* const files = new std::vector<File>{
      {"postgres", "PostgreSQL", kPostgresHow,
       "BEGIN;\n\nCREATE SCHEMA IF NOT EXISTS keymill;\nSET LOCAL search_path = keymill;\n",
       "COMMIT;\n", kUpgrade, false, &keymill::store::PostgresMigrations},
      {"mariadb", "MariaDB or MySQL", kMariadbHow, "SET NAMES utf8mb4;\n", "COMMIT;\n", "", true,
       &keymill::store::MariadbMigrations},
      {"sqlite", "SQLite", kSqliteHow, "BEGIN IMMEDIATE;\n", "COMMIT;\n", "", false,
       []() -> const Migrations& { return keymill::store::SqliteDialect().migrations; }}};
  return *files;
}

// Lines of at most 100 columns, broken between words.
std::string Wrapped(std::string_view statement) {
  std::string text;
  std::size_t line = 0;  // Where the last line begins.
  std::size_t space = 0;
  bool quoted = false;
  for (const char c : statement) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) space = text.size();
    text += c;
    if (text.size() - line < 100 || space <= line) continue;
    text.replace(space, 1, "\n  ");
    line = space + 1;
  }
  return text;
}

// A table with a line for each column; any other statement in lines that are not too long.
std::string Laid(std::string_view statement) {
  if (!statement.starts_with("CREATE TABLE")) return Wrapped(statement) + ";\n";
  std::string laid;
  int depth = 0;
  bool columns = true;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    const char c = statement[i];
    if (c == ')' && --depth == 0 && columns) {
      laid += "\n";
      columns = false;
    }
    laid += c;
    if (c == '(' && ++depth == 1 && columns) laid += "\n  ";
    if (c == ',' && depth == 1 && columns) {
      laid += "\n  ";
      ++i;  // The space.
    }
  }
  return laid + ";\n";
}

std::string Contents(const File& file) {
  const Migrations& migrations = file.migrations();
  std::string text = fmt::format(
      "-- Copyright (c) 2026 The Keymill Authors. See LICENSE.\n--\n"
      "-- The tables of a store in {}, schema version {}, for those who make them by hand:\n"
      "-- where it may, the service makes the same. Written by write_schema; do not edit.\n"
      "--\n{}\n{}",
      file.database, migrations.size(), file.how, file.begin);
  for (std::size_t i = 0; i < migrations.size(); ++i) {
    if (i > 0) {
      text += fmt::format("\n-- From here on: what version {} has added.\n", i + 1);
      text += fmt::format(fmt::runtime(file.upgrade), i, i + 1);
    }
    for (const std::string_view statement : migrations[i]) text += "\n" + Laid(statement);
  }
  text += fmt::format("\n-- The store itself is made by the first instance that starts.\n{};\n",
                      Wrapped(keymill::store::sql::InsertVersion(migrations.size())));
  if (file.repeatable) {
    text +=
        fmt::format("UPDATE keymill_store SET schema_version = {0} WHERE schema_version < {0};\n",
                    migrations.size());
  }
  return fmt::format("{}\n{}", text, file.end);
}

}  // namespace

int main(int argc, char** argv) {
  for (const File& file : Files()) {
    if (argc != 2 || argv[1] != file.name) continue;
    fmt::print("{}", Contents(file));
    return 0;
  }
  fmt::print(stderr, "usage: write_schema postgres|mariadb|sqlite\n");
  return 2;
}
