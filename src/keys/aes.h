// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// AES, one block at a time and in one direction: all that FF1 needs of it.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "keymill/status.h"

namespace keymill::keys {

// The AES that a cipher uses. All give the same result; tests hold them to it.
enum class AesPath : std::uint8_t {
  kAuto,      // The best that the processor has.
  kPortable,  // OpenSSL's EVP interface.
  kHardware,  // AES-NI instructions, 8 blocks at a time.
  kVector,    // VAES and AVX-512, 4 blocks to a register.
};

// Which instructions a cipher may use beside it.
enum class AesLanes : std::uint8_t { kNone, kEight, kWide };

// Whether this processor can run kHardware, and kVector.
bool HaveHardwareAes();
bool HaveVectorAes();

// Immutable, and so safe for concurrent use by multiple threads.
class AesEncryptor {
 public:
  struct alignas(16) Block {
    std::array<std::uint8_t, 16> bytes{};
    friend bool operator==(const Block&, const Block&) = default;
  };

  // Errors:
  //   kInvalidArgument     the key does not have 16, 24 or 32 bytes.
  //   kFailedPrecondition  kHardware or kVector was asked for and this processor has none.
  static Result<AesEncryptor> Make(std::span<const std::uint8_t> key, AesPath path);

  // Replaces each block by its encryption. Blocks do not depend on each other, so one call
  // with 8 costs little more than one call with 1.
  void EncryptBlocks(std::span<Block> blocks) const;

  // For ciphers that run the rounds themselves. No lanes: no keys either.
  [[nodiscard]] AesLanes lanes() const { return lanes_; }
  [[nodiscard]] std::span<const Block> round_keys() const {
    return std::span(round_keys_).first(lanes_ == AesLanes::kNone ? 0 : rounds_ + 1);
  }

 private:
  AesEncryptor() = default;

  void EncryptPortable(std::span<Block> blocks) const;

  AesLanes lanes_ = AesLanes::kNone;
  std::size_t rounds_ = 0;
  std::array<Block, 15> round_keys_;  // Hardware: the first rounds_ + 1 are used.

  std::uint64_t id_ = 0;  // Portable: names the key in each thread's context.
  std::size_t key_size_ = 0;
  std::array<std::uint8_t, 32> key_{};
};

}  // namespace keymill::keys
