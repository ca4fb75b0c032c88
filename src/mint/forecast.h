// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// When a keyspace will have no numbers left.

#pragma once

#include <cstdint>
#include <optional>

namespace keymill::mint {

struct Consumption {
  std::uint64_t used = 0;  // Numbers reserved at some time, by anybody.
  std::uint64_t left = 0;
  double rate = 0;  // Numbers per second, now.
  std::int64_t created_at_ms = 0;
};

// At the present rate or the average one since its creation, whichever is higher; nothing when
// both are 0, or when the date is so far away that it says nothing.
std::optional<std::int64_t> ExhaustedAtMs(const Consumption& consumption, std::int64_t now_ms);

}  // namespace keymill::mint
