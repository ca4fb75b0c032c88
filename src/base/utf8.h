// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstddef>
#include <string_view>

namespace keymill {

// The length of the well-formed UTF-8 sequence at the start of `text`, or 0: overlong forms,
// surrogates and values beyond U+10FFFF are not well-formed.
// REQUIRES: !text.empty()
std::size_t Utf8SequenceLength(std::string_view text);

bool IsUtf8(std::string_view text);

}  // namespace keymill
