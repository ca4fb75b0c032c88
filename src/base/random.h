// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Randomness from the kernel, and from nowhere else: there is no generator in this
// process whose state a fork or a snapshot could copy.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace keymill {

// Fills `out` from getrandom(2). Blocks only while the machine boots; ends the process
// if the kernel refuses, because going on without randomness would repeat secrets.
void RandomBytes(std::span<std::uint8_t> out);

// `bytes` random bytes as lower-case hex.
std::string RandomHex(std::size_t bytes);

}  // namespace keymill
