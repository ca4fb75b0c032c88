// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Keys that are computed from content. What a content is, is told by its identity; what its key
// may be, by an endless row of candidates, of which a store takes the first that no other content
// holds. Both are promises: the same content has the same identity and the same candidates, in
// every process and in ten years.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "keymill/keyspace.h"
#include "keymill/status.h"

#include "keys/alphabet.h"

namespace keymill::keys {

using ContentId = std::array<std::uint8_t, 32>;

// SHA-256 over the size of `content` (8 bytes, most significant first), `content`, the size of
// `salt`, `salt`. With the sizes, ("ab", "c") and ("a", "bc") differ.
ContentId IdentifyContent(std::string_view content, std::string_view salt);

// "sha256", "md5". ParseDigestName gives kInvalidArgument, naming those that exist.
std::string_view DigestNameText(DigestName name);
Result<DigestName> ParseDigestName(std::string_view text);

// The candidates of one content: the digits of its digest in an alphabet, cut into texts of
// `length` symbols. Attempt 0 is the first `length` digits, attempt 1 the next, and so on without
// end: when the digest is used up, block 1 follows, then block 2, where block n is SHA-256 over the
// identity and n (8 bytes, most significant first).
//
// A digest or block is read as one number, most significant byte first, and its digits are taken
// from the lower end: n mod size, n / size mod size, … Only as many are used as leave 64 bits of
// the number unused (32 of base62 from 256 bits, 10 from MD5's 128), so that all digits of a block
// together are within 2^-64 of being uniform. Plain bytes mod 62 would favour some symbols by a
// quarter.
//
// Candidates of one content may repeat, as random texts do. When most texts are taken, expect
// many attempts: texts / free ones.
class ContentCandidates {
 public:
  // REQUIRES: length > 0
  ContentCandidates(Alphabet alphabet, std::uint32_t length, DigestName digest,
                    std::string_view content, std::string_view salt);

  [[nodiscard]] const ContentId& identity() const { return identity_; }

  // The text of the next attempt.
  std::string Next();

 private:
  using Limbs = std::array<std::uint32_t, 8>;  // Most significant first.

  static std::uint32_t DivideBy(Limbs& number, std::uint32_t divisor);

  // Makes the digits of `bytes` those that come next.
  void Load(std::span<const std::uint8_t> bytes);
  void LoadNextBlock();

  Alphabet alphabet_;
  std::uint32_t length_;
  ContentId identity_;
  std::uint64_t block_ = 0;  // The digest itself.
  Limbs number_{};           // What is left of the block.
  std::uint32_t left_ = 0;   // Digits to be taken from it.
};

}  // namespace keymill::keys
