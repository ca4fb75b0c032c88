// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string>
#include <string_view>

#include "app/command_tree.h"

namespace keymill::app {

// "keymill-keyspace-create"
std::string ManPageName(const Command& command);

// The manual page of `command`, in the macros of man(7). `examples` are lines to show, or "".
std::string ManPage(const Command& command, std::string_view version, std::string_view examples);

}  // namespace keymill::app
