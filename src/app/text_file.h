// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

// Writes `text` to the file at `path`; with `over`, also to one that is there.
// Errors:
//   kAlreadyExists  it is there, and stays as it is.
//   kUnavailable    it cannot be written; the message says why.
Status WriteTextFile(const std::string& path, std::string_view text, bool over);

}  // namespace keymill::app
