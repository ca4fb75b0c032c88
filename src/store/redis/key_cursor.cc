// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/key_cursor.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "store/redis/layout.h"

namespace keymill::store::redis {
namespace {

// What Redis takes: a number of 64 bits; or "", after the end.
bool IsScan(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return text.empty() || (error == std::errc() && end == text.data() + text.size());
}

}  // namespace

std::string CursorText(const KeyCursor& cursor) {
  if (cursor.scan.empty() && cursor.pending.empty()) return {};
  std::string text = cursor.scan + ";";
  for (const std::string& key : cursor.pending) AppendPart(key, text);
  return text;
}

Result<KeyCursor> ReadCursor(std::string_view text) {
  if (text.empty()) return KeyCursor{"0", {}};
  const Status refused(Code::kInvalidArgument,
                       "list keys: this is no cursor of a list; begin without one");
  const std::size_t end = text.find(';');
  if (end == std::string_view::npos || !IsScan(text.substr(0, end))) return refused;
  KeyCursor cursor{std::string(text.substr(0, end)), {}};
  text.remove_prefix(end + 1);
  while (!text.empty()) {
    const std::optional<std::string_view> key = TakePart(text);
    if (!key) return refused;
    cursor.pending.emplace_back(*key);
  }
  return cursor;
}

}  // namespace keymill::store::redis
