// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

namespace keymill::keys {

// Not in ISO C++, but in both compilers; only a typedef can say so without a warning.
__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using)

}  // namespace keymill::keys
