// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/alphabet.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/suggest.h"

namespace keymill::keys {
namespace {

struct Named {
  std::string_view name;
  std::string_view symbols;
};

// Do not change existing entries. A new one is not free either: recipes that spell its
// symbols out would change their text, and alphabets that look like its name would no
// longer parse, so keyspaces of that kind must be ruled out first.
constexpr std::array<Named, 7> kNamed = {{
    {"base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
    {"base64url", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"},
    {"base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"},
    {"base36", "0123456789abcdefghijklmnopqrstuvwxyz"},
    {"base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"},
    {"hex", "0123456789abcdef"},
    {"decimal", "0123456789"},
}};

constexpr std::array<std::string_view, kNamed.size()> kNames = [] {
  std::array<std::string_view, kNamed.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kNamed[i].name;
  return names;
}();

constexpr std::size_t kSizeMin = 2;
constexpr std::size_t kSizeMax = 94;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

Status Refuse(std::string_view why) {
  return {Code::kInvalidArgument,
          fmt::format("alphabet: {}; give the symbols themselves or one of {}", why,
                      fmt::join(kNames, ", "))};
}

Status CheckSymbols(std::string_view symbols) {
  if (symbols.size() < kSizeMin || symbols.size() > kSizeMax) {
    return Refuse(
        fmt::format("{} symbols, the range is {} to {}", symbols.size(), kSizeMin, kSizeMax));
  }
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const char c = symbols[i];
    if (c < '!' || c > '~') {
      return Refuse(fmt::format("symbol {} is no printable ASCII character", i + 1));
    }
    if (std::string_view("\"\\/?#%").find(c) != std::string_view::npos) {
      return Refuse(fmt::format("symbol '{}' needs escaping in JSON or a URL", c));
    }
    if (symbols.find(c) != i) return Refuse(fmt::format("symbol '{}' appears twice", c));
  }
  return Status::Ok();
}

}  // namespace

Alphabet::Alphabet(std::string name, std::string symbols)
    : name_(std::move(name)), symbols_(std::move(symbols)) {
  digits_.fill(-1);
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    digits_[static_cast<unsigned char>(symbols_[i])] = static_cast<std::int8_t>(i);
  }
}

Result<Alphabet> Alphabet::Parse(std::string_view text) {
  for (const Named& named : kNamed) {
    if (text == named.name || text == named.symbols) {
      return Alphabet(std::string(named.name), std::string(named.symbols));
    }
  }
  // "base63" has six different symbols, but nobody means those.
  if (const std::string_view meant = Nearest(LowerCase(text), kNames); !meant.empty()) {
    return Refuse(fmt::format("\"{}\" is no alphabet, but near \"{}\"", text, meant));
  }
  if (const Status status = CheckSymbols(text); !status.ok()) return status;
  return Alphabet(std::string(text), std::string(text));
}

std::span<const std::string_view> Alphabet::Names() { return kNames; }

}  // namespace keymill::keys
