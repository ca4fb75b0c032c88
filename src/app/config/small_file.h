// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstddef>
#include <string>

#include "keymill/status.h"

namespace keymill::app {

// The bytes of the regular file at `path` (or behind a symbolic link there), at most
// `size_max`. Never waits: a FIFO or a device is refused, not read.
// Errors, without the path in front:
//   kNotFound            nothing is there.
//   kFailedPrecondition  it is no regular file, is too large, or cannot be read.
Result<std::string> ReadSmallFile(const std::string& path, std::size_t size_max);

}  // namespace keymill::app
