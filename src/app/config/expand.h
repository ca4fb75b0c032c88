// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

using VariableLookup = std::function<std::optional<std::string>(std::string_view name)>;

struct Expanded {
  std::string text;
  std::string unset;  // The first variable that is not set and has no default, or "".
};

// `text` with ${NAME} replaced by the variable, ${NAME:-default} by the variable or, when
// that is not set or empty, by the default, and $$ by one $. Any other $ stands for
// itself. What comes out is not looked at again.
// Errors:
//   kInvalidArgument  ${ without a name or without its }.
Result<Expanded> ExpandVariables(std::string_view text, const VariableLookup& lookup);

}  // namespace keymill::app
