// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/check_symbol.h"

#include <cstdint>

#include <fmt/format.h>

namespace keymill::keys {
namespace {

constexpr std::string_view kCrockfordName = "base32";
constexpr std::string_view kCrockfordExtra = "*~$=U";  // Check values 32 to 36.

char CrockfordSymbol(const Alphabet& alphabet, std::string_view body) {
  std::uint32_t value = 0;
  for (const char c : body) {
    value = (value * 32 + static_cast<std::uint32_t>(alphabet.digit(c))) % 37;
  }
  return value < 32 ? alphabet.symbol(value) : kCrockfordExtra[value - 32];
}

char HybridSymbol(const Alphabet& alphabet, std::string_view body) {
  const std::uint32_t size = alphabet.size();
  std::uint32_t product = size;
  for (const char c : body) {
    std::uint32_t sum = product + static_cast<std::uint32_t>(alphabet.digit(c));
    if (sum > size) sum -= size;  // Both lie in [0, size], so this is mod size with 0 as size,
    product = sum * 2;            // which is what the standard asks for.
    if (product > size) product -= size + 1;
  }
  return alphabet.symbol((size + 1 - product) % size);
}

}  // namespace

Status CheckSymbolAllowed(const Alphabet& alphabet) {
  if (alphabet.size() % 2 == 0) return Status::Ok();
  return {Code::kInvalidArgument,
          fmt::format("check: an alphabet of {} symbols can have no check symbol, because the "
                      "size is odd and some single errors would pass",
                      alphabet.size())};
}

char ComputeCheckSymbol(const Alphabet& alphabet, std::string_view body) {
  return alphabet.name() == kCrockfordName ? CrockfordSymbol(alphabet, body)
                                           : HybridSymbol(alphabet, body);
}

}  // namespace keymill::keys
