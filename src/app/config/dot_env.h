// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The .env file: NAME=value lines, with an optional `export`, # comments, 'literal' and
// "escaped" values. Nothing is expanded in it. It usually belongs to several programs,
// so that only lines about names of our own can be wrong.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

struct DotEnvValue {
  std::string text;
  int line = 0;
};

// The values of the names for which `is_ours` says yes; the last one of several counts.
// Errors:
//   kInvalidArgument  a line about such a name is not NAME=value. The message begins with
//                     "<label>:<line>: ".
Result<std::map<std::string, DotEnvValue, std::less<>>> ParseDotEnv(
    std::string_view text, std::string_view label,
    const std::function<bool(std::string_view)>& is_ours);

}  // namespace keymill::app
