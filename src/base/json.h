// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string>
#include <string_view>

namespace keymill {

// `text` as a JSON string with its quotes. Bytes that are no valid UTF-8 become U+FFFD, so
// that what somebody sent us can always be quoted.
std::string JsonQuote(std::string_view text);

}  // namespace keymill
