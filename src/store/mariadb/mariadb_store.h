// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// MariaDB (10.2.4 or newer) or MySQL (8.0 or newer) as the store, for instances on many hosts.
//
// The tables are InnoDB; names and ids are VARBINARY, so that they compare as bytes. CREATE TABLE
// commits by itself here: the tables are made under a lock of the server, one after the other, and
// count only when the identity's row is there; a crash in between leaves what the next start
// completes.

#pragma once

#include <memory>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/sql/connection.h"
#include "store/store_url.h"

namespace keymill::store {

// Errors: kInvalidArgument when the URL says something that this store does not know.
Status CheckMariadbUrl(const StoreUrl& url);

// `url`: mariadb://user:password@host1:3306,host2/database?…, or mysql://; mariadb_options.h has
// the parameters. `create`: whether a database that is absent, or holds nothing, may become a
// store.
//
// The timeline of the store's identity is the server's id and the birth of the tables keymill_store
// and keymill_keyspaces: it changes when a replica takes over, when a dump is loaded, and, on
// MariaDB, when files are copied back. A disk that went back in time is not noticed by it, but by
// the witness.
//
// Errors:
//   kInvalidArgument     as CheckMariadbUrl.
//   kNotFound            there is no such database or no store in it, and `create` is false.
//   kFailedPrecondition  the server refuses the user; or the schema is newer than this program.
//   kUnavailable         no host could be reached by the deadline, or none is writable.
Result<std::unique_ptr<Store>> OpenMariadbStore(const StoreUrl& url, bool create,
                                                const Clock& clock, MonotonicTime deadline);

// What makes the schema, for those who make it by hand.
const sql::Migrations& MariadbMigrations();

}  // namespace keymill::store
