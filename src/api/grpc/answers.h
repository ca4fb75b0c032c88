// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the mint tells, as gRPC carries it: numbers and times as text.

#pragma once

#include "api/grpc/module.h"
#include "mint/engine.h"
#include "mint/explanation.h"

namespace keymill::api::grpc {

Explained Tell(const mint::Explanation& explanation);
KeyspacePage::Row Tell(const mint::KeyspaceInfo& info);

}  // namespace keymill::api::grpc
