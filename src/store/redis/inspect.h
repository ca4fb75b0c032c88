// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Settings of a Redis server under which an acknowledged write can be lost.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keymill/clock.h"
#include "keymill/store.h"

#include "store/redis/client.h"

namespace keymill::store::redis {

// The value of "name:value" in what INFO says; "" when it is not there.
std::string InfoField(std::string_view info, std::string_view name);

Result<std::vector<StoreFinding>> InspectServer(Client& client, MonotonicTime deadline);

}  // namespace keymill::store::redis
