// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Invariants that are checked in every build. A process that finds one broken must not
// hand out another key, so it ends at once.

#pragma once

#include <string_view>

namespace keymill {

[[noreturn]] void CheckFailed(std::string_view condition, std::string_view file, int line);

}  // namespace keymill

// Cheap conditions only: these stay on in release. Name the invariant behind it.
#define KEYMILL_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::keymill::CheckFailed(#condition, __FILE__, __LINE__))
