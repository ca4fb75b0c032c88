// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <memory>

#include "store/etcd/socket.h"

namespace keymill::store::etcd {

// Resolves the name and connects.
Result<std::unique_ptr<Socket>> ConnectPlain(const HostPort& to, const Clock& clock,
                                             MonotonicTime deadline);

}  // namespace keymill::store::etcd
