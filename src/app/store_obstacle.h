// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <filesystem>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

// After a store could not be opened: what stands in its way for good, however often it is
// tried again. A lock, a full disk or a slow mount may pass; a read-only directory, one that
// may not be entered, a path that is no directory or no database will not.
// REQUIRES: this process has no connection to the store (closing a file drops its locks).
// Errors:
//   kFailedPrecondition  found; the message names the path and says what to do.
Status FindObstacle(const std::filesystem::path& data_dir, std::string_view store_url);

}  // namespace keymill::app
