// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Whether a PostgreSQL server keeps what it has acknowledged.

#pragma once

#include <string>
#include <vector>

#include "keymill/status.h"
#include "keymill/store.h"

#include "store/sql/connection.h"

namespace keymill::store {

struct PostgresRights {
  bool tables = false;    // Whether there are any yet.
  std::string missing{};  // "" when this role may do all that an instance does.
};

// What this role may do with the tables; where there are none, whether it may make them.
Result<PostgresRights> ReadPostgresRights(sql::Connection& connection, const std::string& schema);

// See Store::Inspect. What cannot be seen is a finding too, not an unsafe one.
Result<std::vector<StoreFinding>> InspectPostgres(sql::Connection& connection,
                                                  const std::string& schema);

}  // namespace keymill::store
