// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/hex.h"

#include <array>
#include <string_view>

#include <openssl/evp.h>

#include "base/check.h"

namespace keymill {

std::string HexEncode(std::span<const std::uint8_t> bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::string Sha256Hex(std::string_view text) {
  std::array<std::uint8_t, 32> digest{};
  KEYMILL_CHECK(
      EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1);
  return HexEncode(digest);
}

}  // namespace keymill
