// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// PostgreSQL as the store: many instances on many machines, one of its servers the primary.
//
// Counters are rows, never sequences: after a crash PostgreSQL can hand out again what nextval()
// has already returned.

#pragma once

#include <memory>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/sql/connection.h"
#include "store/store_url.h"

namespace keymill::store {

// Errors: kInvalidArgument when the URL says something that this store does not know.
Status CheckPostgresUrl(const StoreUrl& url);

// `create`: whether a database without Keymill's schema will do. The database itself must exist.
// Errors:
//   kInvalidArgument     as CheckPostgresUrl.
//   kNotFound            there is no schema, and `create` is false.
//   kFailedPrecondition  the server does not let us in, there is no such database, or its schema
//                        is newer than this program.
//   kUnavailable         no server that can be written to answered by the deadline.
Result<std::unique_ptr<Store>> OpenPostgresStore(const StoreUrl& url, bool create,
                                                 const Clock& clock, MonotonicTime deadline);

// A connection to a database that may be somebody else's.
// Errors: kInvalidArgument, kFailedPrecondition and kUnavailable as above.
Result<std::unique_ptr<sql::Connection>> OpenPostgresConnection(const StoreUrl& url,
                                                                const Clock& clock,
                                                                MonotonicTime deadline);

// What makes the schema, for those who make it by hand.
const sql::Migrations& PostgresMigrations();

}  // namespace keymill::store
