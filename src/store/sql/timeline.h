// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The timeline of what is behind a connection: see StoreIdentity::timeline.

#pragma once

#include <cstdint>
#include <string>

#include "keymill/status.h"

#include "store/sql/connection.h"

namespace keymill::store::sql {

// What the server says of itself; see StoreIdentity.
struct Present {
  std::string timeline;  // "" when it has to be begun.
  std::int64_t now_ms = 0;
};
Result<Present> ReadPresent(Connection& db, Driver& driver);

// "" when it has to be begun.
Result<std::string> ReadTimeline(Connection& db, Driver& driver);

// Begins the timeline if it has to be.
// REQUIRES: a transaction that writes, in which the store's row is locked: so one begins it.
Result<Present> BegunTimeline(Connection& db, Driver& driver);

}  // namespace keymill::store::sql
