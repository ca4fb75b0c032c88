// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace keymill {

// Lower-case hexadecimal, two digits a byte.
std::string HexEncode(std::span<const std::uint8_t> bytes);

// SHA-256 of `text`, as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view text);

}  // namespace keymill
