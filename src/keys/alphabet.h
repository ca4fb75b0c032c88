// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// An ordered set of symbols. The named ones are promises: their symbols and order never
// change, because the keys that were made with them are out in the world.

#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keymill/status.h"

namespace keymill::keys {

class Alphabet {
 public:
  // A named alphabet (base62, base64url, base58, base36, base32, hex, decimal), or, when
  // `text` is no such name, `text` itself taken as the symbols. Symbols that equal those of
  // a named alphabet give the named one, so that a recipe has one spelling.
  //
  // Errors:
  //   kInvalidArgument  fewer than 2 or more than 94 symbols, a symbol that is no printable
  //                     ASCII character, that appears twice, or that needs escaping in JSON
  //                     or a URL path (`"`, `\`, `/`, `?`, `#`, `%`, space); or a misspelt
  //                     name, in which case the message lists the names.
  static Result<Alphabet> Parse(std::string_view text);

  // The names that Parse knows, in the order of the documentation.
  static std::span<const std::string_view> Names();

  // "base62", or the symbols of an alphabet without a name.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string_view symbols() const { return symbols_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(symbols_.size()); }

  // REQUIRES: digit < size()
  [[nodiscard]] char symbol(std::uint32_t digit) const { return symbols_[digit]; }

  // The digit of `symbol`, or -1. Exact: no case folding, no look-alikes, because a number
  // has exactly one text.
  [[nodiscard]] int digit(char symbol) const { return digits_[static_cast<unsigned char>(symbol)]; }

 private:
  Alphabet(std::string name, std::string symbols);

  std::string name_;
  std::string symbols_;
  std::array<std::int8_t, 256> digits_;
};

}  // namespace keymill::keys
