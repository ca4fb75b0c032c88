// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string_view>

#include "keymill/status.h"

#include "store/etcd/channel.h"

namespace keymill::store::etcd {

// What an answer that is not 200 means; the only place that looks at etcd's own codes.
//   kUnavailable         etcd did nothing; another member, or another time, may do better.
//   kUnknownOutcome      etcd may have done it, or may yet.
//   kUnauthenticated     the token is no longer valid; nothing was done.
//   kFailedPrecondition  an operator must change something; nothing was done.
//   kInternal            the data is damaged, or the request was wrong: a bug.
Status EtcdError(std::string_view member, const HttpAnswer& answer);

// Whether etcd said that it asks nobody for a password.
bool SaysAuthIsOff(const HttpAnswer& answer);

}  // namespace keymill::store::etcd
