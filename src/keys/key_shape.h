// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys whose digits are not those of a number: what stands around the digits, and which texts are
// keys at all.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"
#include "keymill/status.h"

#include "keys/alphabet.h"
#include "keys/blocklist.h"

namespace keymill::keys {

// Immutable, and so safe for concurrent use by multiple threads.
class KeyShape {
 public:
  // Errors: kInvalidArgument, naming the field, when the recipe cannot be.
  // REQUIRES: the recipe is of a kind whose keys are no numbers, and has digits.
  static Result<KeyShape> Make(const Recipe& recipe);

  [[nodiscard]] const Alphabet& alphabet() const { return alphabet_; }
  // Digits of a key.
  [[nodiscard]] std::uint32_t length() const { return length_; }
  // Bytes of a key: prefix, digits and check symbol.
  [[nodiscard]] std::size_t size() const { return prefix_.size() + length_ + (check_ ? 1 : 0); }
  // How many keys there are, those that the blocklist skips included; at most kNumberEnd.
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

  // The key with these digits; nothing when it spells a word of the blocklist.
  // REQUIRES: `digits` are length() symbols of the alphabet.
  [[nodiscard]] std::optional<std::string> Dress(std::string_view digits) const;

  // Whether Dress can give `key`. kInvalidArgument says where it departs.
  [[nodiscard]] Status Check(std::string_view key) const;

 private:
  KeyShape(const Recipe& recipe, Alphabet alphabet, Blocklist blocklist, std::uint64_t capacity);

  std::string prefix_;
  Alphabet alphabet_;
  Blocklist blocklist_;
  std::uint32_t length_;
  bool check_;
  std::uint64_t capacity_;
};

}  // namespace keymill::keys
