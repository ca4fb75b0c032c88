// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "keymill/status.h"

namespace keymill::wire {

// Decodes %XX once. `plus_is_space` for query strings.
// Errors: kInvalidArgument for a malformed escape, for NUL and other control characters, and
//         for text that is no valid UTF-8.
Result<std::string> PercentDecode(std::string_view text, bool plus_is_space = false);

// name=value pairs of a query string, decoded, in order.
// Errors: as PercentDecode, naming the parameter.
Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

// Whether a request's path and query are well encoded.
// Errors: as PercentDecode, naming the part.
Status CheckTarget(std::string_view path, std::string_view query);

}  // namespace keymill::wire
