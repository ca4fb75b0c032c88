// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Blocks of numbers for clients that hand them out themselves. All of it waits for the store: for
// Queue::kKeys.

#pragma once

#include <cstdint>
#include <string>

#include "api/http/parameters.h"
#include "api/http/reply.h"
#include "api/http/service.h"

namespace keymill::api::http {

Reply LendBlock(Service& service, const std::string& keyspace, const LoanWish& wish);

Reply TakeBlockBack(Service& service, const std::string& keyspace, const std::string& block,
                    std::uint64_t used);

}  // namespace keymill::api::http
