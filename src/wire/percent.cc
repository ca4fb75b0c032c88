// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "wire/percent.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "wire/hex_digit.h"

namespace keymill::wire {
namespace {

// Text that decoding leaves as it is. Nearly every target is.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > 0x20 && c < 0x7f && c != '%'; });
}

}  // namespace

Result<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return Status(Code::kInvalidArgument, "a % is not followed by two hexadecimal digits");
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (plus_is_space && c == '+') {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return Status(Code::kInvalidArgument, "control characters are not accepted");
    }
    decoded.push_back(c);
  }
  if (!IsUtf8(decoded)) return Status(Code::kInvalidArgument, "this is no valid UTF-8");
  return decoded;
}

Result<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const std::string_view piece = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), piece.size() + 1));
    if (piece.empty()) continue;
    const std::size_t equals = piece.find('=');
    Result<std::string> name = PercentDecode(piece.substr(0, equals), true);
    if (!name.ok()) return name.status();
    Result<std::string> value = std::string();
    if (equals != std::string_view::npos) value = PercentDecode(piece.substr(equals + 1), true);
    if (!value.ok()) {
      return Status(Code::kInvalidArgument,
                    fmt::format("parameter \"{}\": {}", *name, value.status().message()));
    }
    pairs.emplace_back(*std::move(name), *std::move(value));
  }
  return pairs;
}

Status CheckTarget(std::string_view path, std::string_view query) {
  if (!IsPlain(path)) {
    if (const auto decoded = PercentDecode(path); !decoded.ok()) {
      return {Code::kInvalidArgument, "path: " + decoded.status().message()};
    }
  }
  if (!IsPlain(query)) {
    if (const auto pairs = ParseQuery(query); !pairs.ok()) {
      return {Code::kInvalidArgument, "query: " + pairs.status().message()};
    }
  }
  return {};
}

}  // namespace keymill::wire
