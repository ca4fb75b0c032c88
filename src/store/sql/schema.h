// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The schema's version, and how an older one becomes the present one.

#pragma once

#include <cstdint>

#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

// The version of the schema that is there; 0 when there is none.
Result<std::uint32_t> SchemaVersion(Connection& db, const Dialect& dialect);

// Creates the schema in an empty database or brings an older one up to date, inside the
// caller's transaction, so that two instances that start at once do it once.
// Errors: kFailedPrecondition when the schema is newer than this program.
Status Migrate(Connection& db, const Dialect& dialect, std::int64_t wall_ms);

// Everything of StoreIdentity but the timeline.
Result<StoreIdentity> ReadIdentity(Connection& db);

}  // namespace keymill::store::sql
