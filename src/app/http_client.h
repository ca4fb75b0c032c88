// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

// Asks the server at `url` (http://HOST[:PORT]) for `count` keys and hands on its lines as
// they come.
// Errors:
//   kInvalidArgument  `url` is none.
//   kUnavailable      the server cannot be reached, or it broke off in the middle.
//   others            what the server said, in its own words.
Status MintOverHttp(std::string_view url, std::string_view keyspace, std::uint64_t count,
                    const std::function<void(std::string_view)>& sink);

}  // namespace keymill::app
