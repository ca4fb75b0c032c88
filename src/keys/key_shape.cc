// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/key_shape.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "keys/check_symbol.h"
#include "keys/codec.h"

namespace keymill::keys {
namespace {

constexpr std::uint32_t kLengthMax = 32;

Status Refuse(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

std::uint64_t CapacityOf(std::uint32_t radix, std::uint32_t length) {
  std::uint64_t keys = 1;
  for (std::uint32_t i = 0; i < length; ++i) {
    if (keys > kNumberEnd / radix) return kNumberEnd;
    keys *= radix;
  }
  return std::min(keys, kNumberEnd);
}

}  // namespace

KeyShape::KeyShape(const Recipe& recipe, Alphabet alphabet, Blocklist blocklist,
                   std::uint64_t capacity)
    : prefix_(recipe.prefix),
      alphabet_(std::move(alphabet)),
      blocklist_(std::move(blocklist)),
      length_(recipe.length),
      check_(recipe.check == CheckSymbol::kAppended),
      capacity_(capacity) {}

Result<KeyShape> KeyShape::Make(const Recipe& recipe) {
  Result<Alphabet> alphabet = Alphabet::Parse(recipe.alphabet);
  if (!alphabet.ok()) return alphabet.status();
  if (recipe.length < 1 || recipe.length > kLengthMax) {
    return Refuse(fmt::format("length: {} is not in 1 to {}", recipe.length, kLengthMax));
  }
  if (Status status = CheckPrefix(recipe.prefix); !status.ok()) return status;
  if (recipe.check != CheckSymbol::kNone) {
    if (Status status = CheckSymbolAllowed(*alphabet); !status.ok()) return status;
  }
  Result<Blocklist> blocklist = Blocklist::Make(recipe.blocklist);
  if (!blocklist.ok()) return blocklist.status();
  if (blocklist->Matches(recipe.prefix)) {
    return Refuse("blocklist: the prefix spells one of the words, so no key would be left");
  }
  const std::uint64_t capacity = CapacityOf(alphabet->size(), recipe.length);
  return KeyShape(recipe, *std::move(alphabet), *std::move(blocklist), capacity);
}

std::optional<std::string> KeyShape::Dress(std::string_view digits) const {
  KEYMILL_CHECK(digits.size() == length_);
  std::string key = prefix_;
  key += digits;
  if (check_) key += ComputeCheckSymbol(alphabet_, digits);
  if (blocklist_.Matches(key)) return std::nullopt;
  return key;
}

Status KeyShape::Check(std::string_view key) const {
  if (!key.starts_with(prefix_)) {
    return Refuse(fmt::format("key: does not begin with \"{}\"", prefix_));
  }
  if (key.size() != size()) {
    return Refuse(fmt::format("key: has {} symbols, not {}", key.size(), size()));
  }
  const std::string_view digits = key.substr(prefix_.size(), length_);
  const auto* const odd = std::find_if(digits.begin(), digits.end(),
                                       [&](char symbol) { return alphabet_.digit(symbol) < 0; });
  if (odd != digits.end()) {
    return Refuse(fmt::format("key: has a symbol at position {} that is not in the alphabet {}",
                              prefix_.size() + static_cast<std::size_t>(odd - digits.begin()) + 1,
                              alphabet_.name()));
  }
  if (check_ && ComputeCheckSymbol(alphabet_, digits) != key.back()) {
    return Refuse("key: has a check symbol that does not match, so it was mistyped");
  }
  if (blocklist_.Matches(key)) return Refuse("key: spells a word of the blocklist");
  return {};
}

}  // namespace keymill::keys
