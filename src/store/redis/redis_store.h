// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Redis as the store. A change reads the keyspace, decides as every store does (rules.h), and
// writes with one script that compares first: if the keyspace has changed meanwhile, nothing is
// written and it begins anew. So no number is computed in Lua.
//
// One server with an append-only file that is synced at every write keeps what it has
// acknowledged. Replicas, Sentinel and Cluster do not: Inspect finds them.

#pragma once

#include <memory>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/store_url.h"

namespace keymill::store {

// Errors: kInvalidArgument when the URL says something that this store does not know.
Status CheckRedisUrl(const StoreUrl& url);

// redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?prefix=NAME&tls_ca=FILE&…]
//
// Errors:
//   kInvalidArgument     as CheckRedisUrl.
//   kNotFound            nothing was established there, and `create` is false.
//   kFailedPrecondition  the server refuses the password, or its certificate is not trusted; or
//                        the store is newer than this program.
//   kUnavailable         not reachable by the deadline.
Result<std::unique_ptr<Store>> OpenRedisStore(const StoreUrl& url, bool create, const Clock& clock,
                                              MonotonicTime deadline);

}  // namespace keymill::store
