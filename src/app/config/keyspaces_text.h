// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The keyspaces of the configuration: {orders: {kind: sequence, …}, …}, in the file, in
// KEYMILL_KEYSPACES, and printed.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"
#include "keymill/status.h"

#include "app/config/yaml_file.h"

namespace keymill::app {

inline constexpr std::string_view kKeyspacesExpected =
    "a mapping of names to recipes, such as {orders: {kind: sequence}}";

// Errors:
//   kInvalidArgument  a name or a recipe that cannot be; the message begins with
//                     "<label>:<line>:<column>: keyspaces".
Result<std::map<std::string, Recipe>> KeyspacesFromYaml(const YamlNode& node,
                                                        std::string_view label);

// The same from YAML text; the label in messages is "value".
Result<std::map<std::string, Recipe>> ParseKeyspaces(std::string_view text);

// One line of YAML that ParseKeyspaces reads as the same keyspaces.
std::string KeyspacesText(const std::map<std::string, Recipe>& keyspaces);

}  // namespace keymill::app
