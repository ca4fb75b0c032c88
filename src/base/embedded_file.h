// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// A file that became part of the program when it was built (keymill_embed in cmake/). It lies in
// the program's read-only data: what nobody asks for is not even read from disk.

#pragma once

#include <string_view>

namespace keymill {

struct EmbeddedFile {
  std::string_view name;  // Without its folder.
  std::string_view tag;   // As an ETag, with its quotes: another one for another text.
  std::string_view text;
};

}  // namespace keymill
