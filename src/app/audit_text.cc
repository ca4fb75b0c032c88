// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/audit_text.h"

#include <fmt/format.h>

#include "app/config/quote.h"
#include "base/json.h"
#include "base/utc_text.h"

namespace keymill::app {
namespace {

std::string CsvField(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) {
    if (c == '"') field += '"';
    field += c;
  }
  return field + '"';
}

// A link counts its followers there, which is no life of a key.
bool HasGeneration(const KeyRow& row) { return row.state != KeyState::kLink; }

std::string Csv(std::string_view keyspace, const KeyRow& row) {
  return fmt::format("{},{},{},{},{},{},{},{}\n", CsvField(keyspace), CsvField(row.key),
                     KeyStateName(row.state), UtcText(row.since_ms), CsvField(row.instance),
                     CsvField(row.owner), row.expires_at_ms == 0 ? "" : UtcText(row.expires_at_ms),
                     HasGeneration(row) ? std::to_string(row.generation) : "");
}

std::string Json(std::string_view keyspace, const KeyRow& row) {
  std::string line =
      fmt::format(R"({{"keyspace":{},"key":{},"state":"{}","since":"{}")", JsonQuote(keyspace),
                  JsonQuote(row.key), KeyStateName(row.state), UtcText(row.since_ms));
  if (!row.instance.empty()) line += fmt::format(R"(,"instance":{})", JsonQuote(row.instance));
  if (!row.owner.empty()) line += fmt::format(R"(,"owner":{})", JsonQuote(row.owner));
  if (row.expires_at_ms != 0) {
    line += fmt::format(R"(,"expires_at":"{}")", UtcText(row.expires_at_ms));
  }
  if (HasGeneration(row)) line += fmt::format(R"(,"generation":"{}")", row.generation);
  return line + "}\n";
}

// Streamed, so that nobody knows the longest of a column.
std::string Columns(std::string_view key, std::string_view state, std::string_view since,
                    std::string_view generation, std::string_view instance, std::string_view owner,
                    std::string_view expires) {
  std::string line = fmt::format("{:<16} {:<9} {:<24} {:>10} {:<32} {:<24} {}", key, state, since,
                                 generation, instance, expires, owner);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string AuditHeader(AuditFormat format) {
  switch (format) {
    case AuditFormat::kCsv:
      return "keyspace,key,state,since,instance,owner,expires_at,generation\n";
    case AuditFormat::kJson:
      return "";
    case AuditFormat::kText:
      break;
  }
  return Columns("KEY", "STATE", "SINCE", "GENERATION", "INSTANCE", "OWNER", "EXPIRES");
}

std::string AuditLine(AuditFormat format, std::string_view keyspace, const KeyRow& row) {
  switch (format) {
    case AuditFormat::kCsv:
      return Csv(keyspace, row);
    case AuditFormat::kJson:
      return Json(keyspace, row);
    case AuditFormat::kText:
      break;
  }
  return Columns(row.key, KeyStateName(row.state), UtcText(row.since_ms),
                 HasGeneration(row) ? std::to_string(row.generation) : "-",
                 row.instance.empty() ? "-" : row.instance,
                 row.owner.empty() ? "-" : Printable(row.owner, row.owner.size()),
                 row.expires_at_ms == 0 ? "-" : UtcText(row.expires_at_ms));
}

}  // namespace keymill::app
