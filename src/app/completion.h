// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string>

#include "app/command_tree.h"

namespace keymill::app {

// Scripts that complete verbs, flags, and values that come from a short list. They ask nobody:
// completing must not open a store.
std::string BashCompletion(const Command& root);
std::string ZshCompletion(const Command& root);
std::string FishCompletion(const Command& root);

}  // namespace keymill::app
