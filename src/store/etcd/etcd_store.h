// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A store in an etcd cluster, spoken to over its JSON gateway (docs/adr/0014-etcd-over-json.md).
// Every change is one transaction of etcd that compares the mod_revision of what it was computed
// from; when somebody else was first, it is computed anew, until the deadline.

#pragma once

#include <memory>

#include "keymill/clock.h"
#include "keymill/status.h"
#include "keymill/store.h"

#include "store/store_url.h"

namespace keymill::store {

// Errors: kInvalidArgument when the URL says something that this store does not know.
Status CheckEtcdUrl(const StoreUrl& url);

// Opens the store below the URL's prefix. `create`: whether there need not be one yet; Establish
// then makes it.
//
// The timeline is the cluster's id: a snapshot that is restored makes a new cluster, as a rule. One
// that was restored under the old id shows by a revision that falls: then the timeline changes for
// whoever has seen the higher one, and the witness tells for each keyspace what was lost.
//
// Errors: kInvalidArgument, as CheckEtcdUrl; kNotFound, nothing was established
// there and `create` is false; kFailedPrecondition, refused by etcd or of a newer schema;
// kUnavailable.
Result<std::unique_ptr<Store>> OpenEtcdStore(const StoreUrl& url, bool create, const Clock& clock,
                                             MonotonicTime deadline);

}  // namespace keymill::store
