// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The schema's version, how an older one becomes the present one, and the one row that says what
// the store as a whole is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

// The version of the schema that is there; 0 when there is none.
// Errors: kFailedPrecondition when somebody has emptied the tables.
Result<std::uint32_t> SchemaVersion(Connection& db, const Dialect& dialect);

// Creates the schema in an empty database or brings an older one up to date, inside the
// caller's transaction, so that two instances that start at once do it once.
// Errors: kFailedPrecondition when the schema is newer than this program.
Status Migrate(Connection& db, const Dialect& dialect);

// The statement that says which version the tables have which somebody has made. There is no store
// in them yet: Store::Establish or Store::BeginFill makes it.
std::string InsertVersion(std::size_t version);

// What every version of the schema knows of a StoreIdentity.
Result<StoreIdentity> ReadIdentity(Connection& db);

// The row of keymill_store.
struct StoreRow {
  std::string store_id;  // "" when there are tables, made by hand, but no store yet.
  std::uint32_t schema_version = 0;
  std::int64_t created_at_ms = 0;
  std::string agreed_timeline;
  std::string moved_to;  // Of one that was sealed; "" otherwise.
  std::string fill;      // The fill that is under way; "" otherwise.
};

// `lock` is the dialect's row lock.
Result<StoreRow> SelectStore(Connection& db, std::string_view lock);

// Writes all of the row but its schema_version.
Status UpdateStore(Connection& db, const StoreRow& row);

}  // namespace keymill::store::sql
