// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <string_view>

#include "keymill/status.h"

namespace keymill::app {

// Whether `url` names a store that this build has (embed::StoreForms).
// Errors:
//   kInvalidArgument  it does not. The message tells a store that is known but not here
//                     from one that is not known, and never holds a password.
Status CheckStoreUrl(std::string_view url);

}  // namespace keymill::app
