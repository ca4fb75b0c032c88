// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// number → key and back, for one recipe. Exactly one text belongs to a number: Decode is
// the inverse of Encode on what Encode can give, and an error everywhere else.
//
// What a store counts for a ticket are indices, not its numbers: there, "number" below means the
// index, and NumberOf tells the ticket's number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"
#include "keymill/status.h"

#include "keys/alphabet.h"
#include "keys/blocklist.h"
#include "keys/digits.h"
#include "keys/ff1.h"
#include "keys/written.h"

namespace keymill::keys {

inline constexpr std::size_t kSecretSize = 16;     // Bytes of a shuffled keyspace's secret.
inline constexpr double kShuffledDomainMin = 1e6;  // NIST SP 800-38G rev. 1.
inline constexpr std::uint32_t kStrideMax = 1'000'000;

// Whether a keyspace of this recipe has a secret.
bool HasSecret(const Recipe& recipe);

// Whether keys may begin with this. kInvalidArgument.
Status CheckPrefix(std::string_view prefix);

// Immutable, and so safe for concurrent use by multiple threads.
class Codec {
 public:
  // Errors:
  //   kInvalidArgument  the recipe cannot be: the message names the field and its range.
  //                     (length 0 with kShuffled, a domain under 10^6 with kShuffled, a
  //                     start beyond the last number, a check symbol on an odd alphabet, …)
  // REQUIRES: secret has kSecretSize bytes where HasSecret says so, and otherwise none.
  static Result<Codec> Make(const Recipe& recipe, std::span<const std::uint8_t> secret,
                            AesPath path = AesPath::kAuto);

  // Checks a recipe without a secret. The same errors.
  static Status Validate(const Recipe& recipe);

  // The end() of a codec of this recipe. The same errors.
  static Result<std::uint64_t> EndOf(const Recipe& recipe);

  // Numbers of this recipe lie in [begin(), end()). end() is alphabet^length, or
  // kNumberEnd where that is smaller or the length grows; of a ticket, as many as fit below.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }

  // The number that people know: of a ticket with this index. For other kinds it is the same.
  [[nodiscard]] std::uint64_t NumberOf(std::uint64_t index) const {
    return index * stride_ + offset_;
  }

  // The longest key, in bytes: prefix, body and check symbol.
  [[nodiscard]] std::size_t size_max() const { return size_max_; }
  // Whether the counter is hidden by a permutation; otherwise keys grow with it.
  [[nodiscard]] bool shuffled() const { return ff1_.has_value(); }
  // Whether every key is that long.
  [[nodiscard]] bool fixed_size() const { return length_ != 0; }

  // Writes the keys of [first, first + count) to `out`, each followed by `after`: fewer keys than
  // that when the blocklist skipped some.
  // REQUIRES: the range lies in [begin(), end()); `out` has room for
  //           count * (size_max() + after.size()) bytes.
  Written Encode(std::uint64_t first, std::uint32_t count, std::string_view after, char* out) const;

  // The number whose key is `key`.
  // Errors:
  //   kInvalidArgument  no number of this recipe has this text. The message says where it
  //                     departs (wrong prefix, wrong length, symbol not in the alphabet,
  //                     check symbol does not match, leading zero, out of range, blocked).
  [[nodiscard]] Result<std::uint64_t> Decode(std::string_view key) const;

  // Whether `key` is written as keys of this recipe are: one that it makes, or would make with
  // another start, offset or secret.
  [[nodiscard]] bool HasForm(std::string_view key) const;

 private:
  // What a recipe comes to once it is found to be possible.
  struct Parts;
  static Result<Parts> Examine(const Recipe& recipe);

  Codec(const Recipe& recipe, Parts parts, std::optional<Ff1> ff1);

  // Of sequences, `first` is NumberOf(first).
  Written EncodeSequence(std::uint64_t first, std::uint32_t count, std::string_view after,
                         char* out) const;
  Written EncodeShuffled(std::uint64_t first, std::uint32_t count, std::string_view after,
                         char* out) const;
  void Append(char* key, std::size_t size, std::string_view after, Written& written) const;
  Written EncodeStepping(std::uint64_t first, std::uint32_t count, std::string_view after,
                         char* out) const;
  // The same, for keys that need no look of their own.
  Written EncodeCounting(std::uint64_t first, std::uint32_t count, std::string_view after,
                         char* out) const;

  // The same, for numbers that are stride_ apart.
  Written EncodeStriding(std::uint64_t first, std::uint32_t count, std::string_view after,
                         char* out) const;

  [[nodiscard]] std::string_view AfterPrefix() const;
  [[nodiscard]] Status CheckText(std::string_view body) const;
  // The value of `digits`, or kNumberEnd when it is not below that.
  [[nodiscard]] std::uint64_t Value(std::string_view digits) const;
  [[nodiscard]] Result<std::uint64_t> Unshuffle(std::string_view body) const;
  // The index of a ticket of this number.
  [[nodiscard]] Result<std::uint64_t> IndexOf(std::uint64_t number) const;
  [[nodiscard]] Status OtherOffset(std::uint64_t offset) const;

  std::string prefix_;
  Alphabet alphabet_;
  Digits digits_;
  Blocklist blocklist_;
  std::optional<Ff1> ff1_;  // Where the counter is shuffled.
  std::uint32_t length_ = 0;
  bool check_ = false;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::size_t size_max_ = 0;
  std::uint64_t stride_ = 1;  // 1 and 0, except for tickets.
  std::uint64_t offset_ = 0;
};

}  // namespace keymill::keys
