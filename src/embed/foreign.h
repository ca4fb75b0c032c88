// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A database that another service keeps, read once by whoever takes over from it.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "store/sql/connection.h"

namespace keymill::embed {

class ForeignDatabase {
 public:
  enum class Family : std::uint8_t { kSqlite, kPostgres, kMariadb };

  // sqlite:PATH, postgres://…, mariadb://… or mysql://…, as for a store.
  // Errors: kInvalidArgument for another URL, and for a database that this build does not have;
  // kNotFound, kFailedPrecondition, kUnavailable as the stores have them.
  static Result<ForeignDatabase> Open(std::string_view url, const Clock& clock,
                                      MonotonicTime deadline);

  [[nodiscard]] Family family() const { return family_; }

  // A name as statements have it.
  [[nodiscard]] std::string Quote(std::string_view name) const;
  // The same for a table, which may be schema.table. Without a schema PostgreSQL's is "public".
  [[nodiscard]] std::string QuoteTable(std::string_view name) const;

  // Runs one statement that reads. Numbers come as text.
  // Errors: kNotFound when there is no such table, or it cannot be read; kUnavailable.
  Result<std::vector<std::vector<std::string>>> Read(std::string_view sql, MonotonicTime deadline);

 private:
  ForeignDatabase(Family family, std::unique_ptr<store::sql::Connection> connection)
      : family_(family), connection_(std::move(connection)) {}

  Family family_;
  std::unique_ptr<store::sql::Connection> connection_;
};

}  // namespace keymill::embed
