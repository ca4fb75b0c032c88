// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Randomness from the kernel, and from nowhere else: there is no generator in this
// process whose state a fork could copy.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace keymill {

// Fills `out` from getrandom(2). Blocks only while the machine boots; ends the process
// if the kernel refuses, because going on without randomness would repeat secrets.
void RandomBytes(std::span<std::uint8_t> out);

// The same from a few kilobytes that each thread has drawn ahead, because a system call for every
// key would cost more than the key. A forked child drops what it inherited (F1). For what is public
// anyway, such as keys, and not for secrets: what is drawn ahead lies in memory, and in the
// snapshot of a virtual machine.
void RandomBytesAhead(std::span<std::uint8_t> out);

// `bytes` random bytes as lower-case hex.
std::string RandomHex(std::size_t bytes);

}  // namespace keymill
