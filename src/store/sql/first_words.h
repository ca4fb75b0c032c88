// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A statement as a message names it: one that writes a thousand rows is longer than any screen.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace keymill::store {

inline std::string FirstWords(std::string_view sql) {
  constexpr std::size_t kSizeMax = 60;
  return sql.size() <= kSizeMax ? std::string(sql) : fmt::format("{}…", sql.substr(0, kSizeMax));
}

}  // namespace keymill::store
