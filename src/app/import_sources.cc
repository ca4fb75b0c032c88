// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/import_sources.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "keymill/key_table.h"

#include "base/hex.h"

namespace keymill::app {
namespace {

using embed::ForeignDatabase;
using Family = ForeignDatabase::Family;

// Some gigabytes of memory; a longer length is the better way by then.
constexpr std::uint64_t kForgeKeysMax = 50'000'000;
constexpr std::uint64_t kForgeCapacity = 3'521'614'606'208;  // 62^7
constexpr std::string_view kBase62 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

Result<std::uint64_t> ParseNumber(std::string_view text, std::string_view what) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number < kNumberEnd) {
    return number;
  }
  return Status(
      Code::kInvalidArgument,
      fmt::format("{} is \"{}\": only numbers from 0 to 2^63 - 2 can be taken over", what, text));
}

// `expression` as text, "" for NULL.
std::string AsText(const ForeignDatabase& database, std::string_view expression) {
  return fmt::format("COALESCE(CAST({} AS {}), '')", expression,
                     database.family() == Family::kMariadb ? "CHAR" : "TEXT");
}

Recipe Continue(std::uint64_t start) {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "decimal";
  recipe.start = start;
  return recipe;
}

Result<std::vector<std::vector<std::string>>> ReadRows(ForeignDatabase& database,
                                                       std::string_view table,
                                                       std::initializer_list<const char*> columns,
                                                       MonotonicTime deadline) {
  std::string list;
  for (const char* const column : columns) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", AsText(database, column));
  }
  return database.Read(fmt::format("SELECT {} FROM {}", list, database.QuoteTable(table)),
                       deadline);
}

// Where it is, whether it was there already, its step, and whether it goes round. What sessions
// hold in their caches lies below. The value behind the last one is not told by PostgreSQL; it is
// the next one if nothing was taken yet.
Result<std::vector<std::vector<std::string>>> ReadSequenceRow(ForeignDatabase& database,
                                                              std::string_view sequence,
                                                              MonotonicTime deadline) {
  if (database.family() == Family::kMariadb) {
    return ReadRows(database, sequence,
                    {"next_not_cached_value", "'true'", "increment", "cycle_option"}, deadline);
  }
  return database.Read(
      fmt::format("SELECT CAST(last_value AS TEXT), CAST(is_called AS TEXT), CAST(seqincrement AS "
                  "TEXT), CAST(seqcycle AS TEXT) FROM {} AS s JOIN pg_catalog.pg_sequence AS q ON "
                  "q.seqrelid = s.tableoid",
                  database.QuoteTable(sequence)),
      deadline);
}

// Types of which the largest value is the largest number, and whole or seen not to be. Of SQLite,
// what a single value is; it has texts above all numbers.
constexpr std::array<std::string_view, 9> kWholeTypes = {
    "smallint", "integer",   "bigint", "numeric",  // PostgreSQL
    "tinyint",  "mediumint", "int",    "decimal",  // MariaDB; "integer": SQLite
    "null"};

// A text as a statement of MariaDB has it, whatever is in it and however the server reads quotes.
std::string MariadbText(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  return fmt::format("CONVERT(x'{}' USING utf8)", HexEncode({bytes, text.size()}));
}

// The type of a column that is there.
Result<std::string> ReadType(ForeignDatabase& database, std::string_view table,
                             std::string_view column, MonotonicTime deadline) {
  std::string sql;
  if (database.family() == Family::kMariadb) {
    const std::size_t dot = table.find('.');
    const bool here = dot == std::string_view::npos;
    sql = fmt::format(
        "SELECT CAST(data_type AS CHAR) FROM information_schema.columns WHERE table_schema = {} "
        "AND table_name = {} AND column_name = {}",
        here ? "DATABASE()" : MariadbText(table.substr(0, dot)),
        MariadbText(here ? table : table.substr(dot + 1)), MariadbText(column));
  } else {
    // Of an empty table, too.
    const bool postgres = database.family() == Family::kPostgres;
    sql = fmt::format("SELECT CAST({}(MAX({})) AS TEXT) FROM {}", postgres ? "pg_typeof" : "typeof",
                      database.Quote(column), database.QuoteTable(table));
  }
  const auto rows = database.Read(sql, deadline);
  if (!rows.ok()) return rows.status();
  return rows->empty() ? "unknown" : rows->front().front();
}

}  // namespace

Result<std::vector<Successor>> ReadLeaf(ForeignDatabase& database, MonotonicTime deadline) {
  const auto rows = ReadRows(database, "leaf_alloc", {"biz_tag", "max_id"}, deadline);
  if (!rows.ok()) return rows.status();
  std::vector<Successor> successors;
  for (const std::vector<std::string>& row : *rows) {
    const Result<std::uint64_t> max = ParseNumber(row[1], fmt::format("max_id of {}", row[0]));
    if (!max.ok()) return max.status();
    successors.push_back({row[0], Continue(*max), fmt::format("max_id is {}", *max)});
  }
  return successors;
}

Result<std::vector<Successor>> ReadTinyid(ForeignDatabase& database, MonotonicTime deadline) {
  const auto rows =
      ReadRows(database, "tiny_id_info", {"biz_type", "max_id", "delta", "remainder"}, deadline);
  if (!rows.ok()) return rows.status();
  std::vector<Successor> successors;
  for (const std::vector<std::string>& row : *rows) {
    const Result<std::uint64_t> max = ParseNumber(row[1], fmt::format("max_id of {}", row[0]));
    const Result<std::uint64_t> delta = ParseNumber(row[2], fmt::format("delta of {}", row[0]));
    const Result<std::uint64_t> rest = ParseNumber(row[3], fmt::format("remainder of {}", row[0]));
    for (const auto* const each : {&max, &delta, &rest}) {
      if (!each->ok()) return each->status();
    }
    if (*delta == 0 || *rest >= *delta || *delta > std::numeric_limits<std::uint32_t>::max()) {
      return Status(Code::kInvalidArgument,
                    fmt::format("{}: delta is {}, remainder {}", row[0], *delta, *rest));
    }
    Recipe recipe = Continue(*max + 1);
    if (*delta > 1) {
      recipe = DefaultRecipe(Kind::kTicket);
      recipe.alphabet = "decimal";
      recipe.stride = static_cast<std::uint32_t>(*delta);
      recipe.offset = static_cast<std::uint32_t>(*rest == 0 ? *delta : *rest);
      recipe.start = *max < recipe.offset ? 0 : (*max - recipe.offset) / recipe.stride + 1;
    }
    successors.push_back(
        {row[0], std::move(recipe),
         fmt::format("max_id is {}, delta {}, remainder {}", *max, *delta, *rest)});
  }
  return successors;
}

Result<Successor> ReadSequence(ForeignDatabase& database, std::string_view sequence,
                               MonotonicTime deadline) {
  const bool postgres = database.family() == Family::kPostgres;
  if (!postgres && database.family() != Family::kMariadb) {
    return Status(Code::kInvalidArgument,
                  "SQLite has no sequences; import the column that they "
                  "went to with: keymill import max");
  }
  const auto rows = ReadSequenceRow(database, sequence, deadline);
  if (!rows.ok()) return rows.status();
  if (rows->size() != 1) {
    return Status(Code::kInvalidArgument, fmt::format("{} is no sequence", sequence));
  }
  const std::vector<std::string>& row = rows->front();
  if (row[2].starts_with('-')) {
    return Status(Code::kInvalidArgument,
                  fmt::format("{} counts down, and a keyspace counts up: import the column that "
                              "its numbers went to with keymill import max",
                              sequence));
  }
  if (row[3] == "true" || row[3] == "1") {
    return Status(
        Code::kInvalidArgument,
        fmt::format("{} begins anew at its end (CYCLE), and may have given out numbers "
                    "above its value: import the column that they went to with keymill "
                    "import max; or, if it has never come to its end, turn that off with "
                    "ALTER SEQUENCE {} {}, and import it then",
                    sequence, database.QuoteTable(sequence), postgres ? "NO CYCLE" : "NOCYCLE"));
  }
  const Result<std::uint64_t> value = ParseNumber(row[0], fmt::format("the value of {}", sequence));
  if (!value.ok()) return value.status();
  const bool taken = postgres && row[1] == "true";
  return Successor{std::string(sequence), Continue(*value + (taken ? 1 : 0)),
                   fmt::format("{} is at {}", sequence, *value)};
}

Result<Successor> ReadColumn(ForeignDatabase& database, std::string_view table,
                             std::string_view column, MonotonicTime deadline) {
  const std::string max_of = fmt::format("MAX({})", database.Quote(column));
  const auto rows = ReadRows(database, table, {max_of.c_str()}, deadline);
  if (!rows.ok()) return rows.status();
  const Result<std::string> type = ReadType(database, table, column, deadline);
  if (!type.ok()) return type.status();
  if (std::find(kWholeTypes.begin(), kWholeTypes.end(), *type) == kWholeTypes.end()) {
    const bool mariadb = database.family() == Family::kMariadb;
    return Status(
        Code::kInvalidArgument,
        fmt::format("{} of {} is of type {}: only of a column of whole numbers is the "
                    "largest value the last one (as text, 9 comes behind 10). Name a view "
                    "of it with CAST({} AS {}), or take its values over with keymill "
                    "import codes",
                    column, table, *type, database.Quote(column), mariadb ? "SIGNED" : "BIGINT"));
  }
  std::string_view text = rows->front().front();
  if (text.empty()) {
    return Successor{std::string(table), Continue(1), fmt::format("{} is empty", table)};
  }
  // A number with places behind the point that are not used.
  const std::size_t point = text.find('.');
  if (point != std::string_view::npos && text.find_first_not_of('0', point + 1) == text.npos) {
    text = text.substr(0, point);
  }
  const Result<std::uint64_t> max = ParseNumber(text, fmt::format("the largest {}", column));
  if (!max.ok()) return max.status();
  return Successor{std::string(table), Continue(*max + 1),
                   fmt::format("the largest {} is {}", column, *max)};
}

// The counter is mixed well, and then cut down to seven digits, which is where it repeats itself.
std::string ForgeKey(std::uint64_t counter) {
  std::uint64_t x = counter;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x = (x ^ (x >> 31)) % kForgeCapacity;
  std::string key(7, '0');
  for (auto digit = key.rbegin(); digit != key.rend(); ++digit, x /= 62) *digit = kBase62[x % 62];
  return key;
}

Result<std::vector<std::string>> ReadForge(ForeignDatabase& database, MonotonicTime deadline) {
  const auto rows = ReadRows(database, "range_counters", {"MAX(last_used)"}, deadline);
  if (!rows.ok()) return rows.status();
  const std::string& text = rows->front().front();
  const Result<std::uint64_t> used =
      text.empty() ? Result<std::uint64_t>(std::uint64_t{0}) : ParseNumber(text, "last_used");
  if (!used.ok()) return used.status();
  if (*used > kForgeKeysMax) {
    return Status(Code::kInvalidArgument,
                  fmt::format("it has given out {} keys, more than {} that can be listed: use a "
                              "keyspace of another length instead, for example keymill keyspace "
                              "create links --length 8, which cannot meet any of them",
                              *used, kForgeKeysMax));
  }
  std::vector<std::string> keys;
  keys.reserve(*used);
  for (std::uint64_t counter = 0; counter < *used; ++counter) keys.push_back(ForgeKey(counter));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

Result<std::vector<std::string>> ReadCodes(std::istream& lines) {
  std::vector<std::string> codes;
  std::string line;
  for (std::uint64_t number = 1; std::getline(lines, line); ++number) {
    const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!line.empty() && space(line.back())) line.pop_back();
    line.erase(line.begin(), std::find_if_not(line.begin(), line.end(), space));
    if (line.empty()) continue;
    const bool printable =
        std::all_of(line.begin(), line.end(), [](char c) { return c > ' ' && c <= '~'; });
    if (!printable || line.size() > kStoredKeySizeMax) {
      return Status(Code::kInvalidArgument,
                    fmt::format("line {}: a code is 1 to {} printable ASCII characters without "
                                "spaces",
                                number, kStoredKeySizeMax));
    }
    codes.push_back(line);
  }
  if (lines.bad()) return Status(Code::kUnavailable, "the codes cannot be read to their end");
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

}  // namespace keymill::app
