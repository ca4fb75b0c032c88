// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <grpcpp/support/status.h>

#include "api/grpc/module.h"

namespace keymill::api::grpc {

// A problem as a client gets it: with google.rpc.ErrorInfo, and RetryInfo where a retry may help,
// in its details.
::grpc::Status StatusOf(const Problem& problem);

}  // namespace keymill::api::grpc
