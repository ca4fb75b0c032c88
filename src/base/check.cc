// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/check.h"

#include <cstdlib>

#include <fmt/format.h>

namespace keymill {

void CheckFailed(std::string_view condition, std::string_view file, int line) {
  fmt::print(stderr, "keymill: invariant broken at {}:{}: {}\n", file, line, condition);
  std::abort();
}

}  // namespace keymill
