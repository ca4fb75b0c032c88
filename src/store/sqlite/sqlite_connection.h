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

}  // namespace keymill::store
