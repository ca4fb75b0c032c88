// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string_view>

#include "keymill/status.h"

#include "app/config/config.h"
#include "app/config/expand.h"
#include "app/config/yaml_file.h"

namespace keymill::app {

// Puts what a configuration file says into `config`, with origins. `lookup` gives the
// variables for ${NAME}.
// Errors, all with "<label>:<line>:<column>: " in front:
//   kInvalidArgument  a setting that does not exist, or a value that cannot be.
Status ApplyFile(YamlNode root, std::string_view label, const VariableLookup& lookup,
                 Config& config);

}  // namespace keymill::app
