// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// FF1 format-preserving encryption (NIST SP 800-38G): a keyed permutation of the numeral
// strings of one length. Two numbers cannot give the same text, so nothing has to be
// stored per key; without the secret the next one cannot be predicted.
//
// A numeral string of length n is held as its two halves, the first floor(n/2) digits and
// the rest, each as one number. A half fits 64 bits, which is what limits n.

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "keymill/status.h"

#include "keys/aes.h"

namespace keymill::keys {

class Ff1 {
 public:
  // A numeral string: `left` holds the first floor(length/2) digits, `right` the others,
  // most significant digit first.
  struct Halves {  // Not initialized: an array of them is filled anyway.
    std::uint64_t left;
    std::uint64_t right;
    friend bool operator==(const Halves&, const Halves&) = default;
  };

  struct Options {
    std::uint32_t radix = 62;             // Range: [2, 256].
    std::uint32_t length = 7;             // Digits. At least 2, and radix^ceil(length/2) < 2^63.
    std::span<const std::uint8_t> key;    // 16, 24 or 32 bytes.
    std::span<const std::uint8_t> tweak;  // At most 64 bytes. Keymill's own is empty.
    AesPath path = AesPath::kAuto;
    // The right half takes one of so many equal parts of its values only; what the division leaves
    // over is not used. 1: all of them, as the standard has it.
    std::uint32_t right_parts = 1;  // At most half of radix^ceil(length/2).
  };

  // Errors:
  //   kInvalidArgument     an option is out of its range.
  //   kFailedPrecondition  kHardware was asked for and this processor has none.
  // A domain radix^length below 10^6 is accepted here, so that permutations can be tested
  // exhaustively; the catalog refuses it.
  static Result<Ff1> Make(const Options& options);

  ~Ff1();
  Ff1(Ff1&&) noexcept;
  Ff1& operator=(Ff1&&) noexcept;

  // Permutes each element of `strings` in place. Independent elements are computed side by
  // side, so one call with many is much cheaper than many calls with one.
  // REQUIRES: each half is below left_size() or right_size().
  // Safe for concurrent use by multiple threads.
  void Encrypt(std::span<Halves> strings) const;
  void Decrypt(std::span<Halves> strings) const;

  [[nodiscard]] std::uint64_t left_size() const;   // radix^floor(length/2)
  [[nodiscard]] std::uint64_t right_size() const;  // radix^ceil(length/2) / right_parts

 private:
  struct Impl;
  explicit Ff1(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace keymill::keys
