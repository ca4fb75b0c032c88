// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The store for every SQL database. Each change locks the keyspace's row, computes in C++
// (rules.h), updates with a guard on `rev` that must change exactly one row, and writes the
// ledger in the same transaction.

#pragma once

#include <memory>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

struct SqlStoreOptions {
  // Connections kept at most. One is always enough for minting; the others serve people
  // who look at the ledger while a block is being reserved.
  std::uint32_t connections_max = 4;

  // Whether a database without a schema will do: Establish makes one then.
  bool create = false;
};

// Connects, brings an older schema up to date, and returns the store.
// Errors:
//   kNotFound            there is no schema, and `create` is false.
//   kUnavailable         the database could not be reached by the deadline.
//   kFailedPrecondition  its schema is newer than this program, or it is no Keymill store.
Result<std::unique_ptr<Store>> OpenSqlStore(std::unique_ptr<Driver> driver, const Clock& clock,
                                            MonotonicTime deadline, SqlStoreOptions options = {});

}  // namespace keymill::store::sql
