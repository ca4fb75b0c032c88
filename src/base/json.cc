// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/json.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace keymill {
std::string JsonQuote(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::size_t length = Utf8SequenceLength(text);
    const char first = text.front();
    if (length == 0) {
      quoted += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      quoted += '\\';
      quoted += first;
    } else if (first == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(first) < 0x20 || first == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(first));
    } else {
      quoted += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  quoted += '"';
  return quoted;
}

}  // namespace keymill
