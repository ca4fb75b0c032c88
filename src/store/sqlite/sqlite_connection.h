// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// One SQLite connection, set up so that a committed block survives a power cut.

#pragma once

#include <filesystem>
#include <memory>

#include "keymill/clock.h"

#include "store/sql/connection.h"

namespace keymill::store {

// Errors: as OpenSqliteStore.
Result<std::unique_ptr<sql::Connection>> OpenSqliteConnection(const std::filesystem::path& path,
                                                              bool create, const Clock& clock,
                                                              MonotonicTime deadline);

// A connection that cannot change anything: it creates no file, undoes no transaction and sets
// no mode. `deadline` bounds every statement, however much there is to read.
// REQUIRES: the file is not in WAL mode: reading it would create files beside it.
// Errors:
//   kNotFound            the file is missing or holds nothing.
//   kFailedPrecondition  it is no SQLite database, or another program's.
//   kUnknownOutcome      a transaction was cut off; its journal must be rolled back, by a writer.
//   kInternal            it is damaged.
//   kUnavailable         locked by another process until the deadline, or not accessible.
Result<std::unique_ptr<sql::Connection>> OpenSqliteReader(const std::filesystem::path& path,
                                                          const Clock& clock,
                                                          MonotonicTime deadline);

// A connection to a file of another program, which cannot change its tables. Where that uses a
// write-ahead log, reading may create the files beside it that every reader needs.
// Errors: as OpenSqliteReader.
Result<std::unique_ptr<sql::Connection>> OpenForeignSqlite(const std::filesystem::path& path,
                                                           const Clock& clock,
                                                           MonotonicTime deadline);

}  // namespace keymill::store
