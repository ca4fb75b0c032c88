// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstddef>
#include <cstdint>

namespace keymill::keys {

inline constexpr std::size_t kKeySizeMax = 96;  // No recipe gives a longer key.

// What a call that writes several keys into one buffer has done.
struct Written {
  std::size_t bytes = 0;
  std::uint32_t keys = 0;  // May be fewer than were asked for.
};

}  // namespace keymill::keys
