// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Values in messages. Whatever somebody wrote may stand in a log for years and on a
// terminal, so that it must neither hold a password nor move the cursor.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace keymill::app {

// The bytes of the UTF-8 sequence that begins at `at`; 0 when there is no valid one.
// REQUIRES: at < text.size()
std::size_t Utf8SequenceSize(std::string_view text, std::size_t at);

// `text` with what stands before an @ (user and password of a URL) and after "password="
// and its like replaced by ***.
std::string Redact(std::string_view text);

// `text` cut after about `size_max` bytes, control characters and bytes that are not UTF-8
// written as \x1b.
std::string Printable(std::string_view text, std::size_t size_max);

// `text` redacted, printable, cut after about 80 bytes, in double quotes.
std::string QuoteValue(std::string_view text);

}  // namespace keymill::app
