// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string>

namespace keymill::app {

// A configuration file in which every setting stands at its default, with what it does, which
// way to move it, and what else sets it. Reading it changes nothing.
std::string ConfigTemplate();

}  // namespace keymill::app
