// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// How many files a server needs beside its connections.

#pragma once

#include <cstdint>

namespace keymill::app {

// The store, the witness, the logs and the listener; and each event loop has two.
constexpr std::uint64_t FilesBesideConnections(std::uint32_t threads) {
  return 32 + 2 * std::uint64_t{threads};
}

}  // namespace keymill::app
