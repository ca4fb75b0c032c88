// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace keymill::load {

// Products of 64-bit words folded to 64 bits, as in wyhash. All 64 bits of the result are
// good. No defence against someone who knows `seed`: whoever uses it compares the keys too.
class KeyHash {
 public:
  explicit KeyHash(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t operator()(std::string_view key) const {
    const char* at = key.data();
    std::size_t left = key.size();
    std::uint64_t hash = seed_;
    for (; left > 16; left -= 16, at += 16) hash = Fold(Word8(at) ^ kOne, Word8(at + 8) ^ hash);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    if (left >= 8) {  // The two words may overlap: together they hold every byte.
      low = Word8(at);
      high = Word8(at + left - 8);
    } else if (left >= 4) {
      low = Word4(at);
      high = Word4(at + left - 4);
    } else if (left > 0) {
      low = (Byte(at) << 16) | (Byte(at + left / 2) << 8) | Byte(at + left - 1);
    }
    return Fold(kTwo ^ key.size(), Fold(low ^ kOne, high ^ hash));
  }

 private:
  static constexpr std::uint64_t kOne = 0xe7037ed1a0b428dbU;
  static constexpr std::uint64_t kTwo = 0x8ebc6af09c88c6e3U;

  static std::uint64_t Fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  static std::uint64_t Word8(const char* at) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  static std::uint64_t Word4(const char* at) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  static std::uint64_t Byte(const char* at) { return static_cast<unsigned char>(*at); }

  std::uint64_t seed_;
};

}  // namespace keymill::load
