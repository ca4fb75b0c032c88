// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// SQLite as the store: one file, no server. Several instances on one host may share it.
//
// It runs on a rollback journal with synchronous=EXTRA and never in WAL mode: Debian 12's
// SQLite has the WAL-reset bug, and blocks are reserved so rarely that the extra fsync
// costs nothing (docs/adr/0002).

#pragma once

#include <filesystem>
#include <memory>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store {

struct SqliteOptions {
  std::filesystem::path path;
  // Whether a file that is missing, or holds nothing, may become a new store. Without it, such
  // a file is kNotFound: counting from the beginning again must be somebody's decision. The
  // file stays empty until Store::Establish.
  bool create = false;
};

// SQLite's words, and every version of the schema.
const sql::Dialect& SqliteDialect();

// Errors:
//   kNotFound            the file is missing or holds nothing, and `create` is false.
//   kFailedPrecondition  the file is no Keymill store, or a newer one; or it cannot be made
//                        durable here.
//   kUnavailable         locked by another process until the deadline, or not accessible.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options, const Clock& clock,
                                               MonotonicTime deadline);

}  // namespace keymill::store
