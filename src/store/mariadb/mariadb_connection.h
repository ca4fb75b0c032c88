// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A connection to a MariaDB or MySQL server, for the SQL store.

#pragma once

#include <memory>

#include "keymill/clock.h"
#include "keymill/status.h"

#include "store/mariadb/mariadb_options.h"
#include "store/sql/connection.h"

namespace keymill::store {

// Connects to the first host that is writable and sets all of the session that matters.
//
// The session does not commit by itself, and the server ends its statements, its waits for locks
// and its idle transactions, so that a process which is frozen in mid-transaction cannot keep the
// row from the others for longer than a few seconds.
//
// Errors:
//   kNotFound            the server has no such database, and `create` is false.
//   kFailedPrecondition  the server refuses the user, or will not let it create the database.
//   kUnavailable         no host could be reached by the deadline, or none is writable.
Result<std::unique_ptr<sql::Connection>> OpenMariadbConnection(const MariadbOptions& options,
                                                               bool create, const Clock& clock,
                                                               MonotonicTime deadline);

}  // namespace keymill::store
