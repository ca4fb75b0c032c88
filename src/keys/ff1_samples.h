// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The nine FF1 samples that NIST published with SP 800-38G. Used by tests only.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "keys/ff1.h"

namespace keymill::keys {

struct Ff1Sample {
  std::string_view key;    // Hex.
  std::string_view tweak;  // Hex.
  std::uint32_t radix = 10;
  std::string_view plain;  // Digits 0-9a-z.
  std::string_view cipher;
};

inline constexpr std::string_view kSampleKey128 = "2B7E151628AED2A6ABF7158809CF4F3C";
inline constexpr std::string_view kSampleKey192 =
    "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F";
inline constexpr std::string_view kSampleKey256 =
    "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94";
inline constexpr std::string_view kSampleTweak10 = "39383736353433323130";
inline constexpr std::string_view kSampleTweak36 = "3737373770717273373737";

inline constexpr std::array<Ff1Sample, 9> kFf1Samples = {{
    {kSampleKey128, "", 10, "0123456789", "2433477484"},
    {kSampleKey128, kSampleTweak10, 10, "0123456789", "6124200773"},
    {kSampleKey128, kSampleTweak36, 36, "0123456789abcdefghi", "a9tv40mll9kdu509eum"},
    {kSampleKey192, "", 10, "0123456789", "2830668132"},
    {kSampleKey192, kSampleTweak10, 10, "0123456789", "2496655549"},
    {kSampleKey192, kSampleTweak36, 36, "0123456789abcdefghi", "xbj3kv35jrawxv32ysr"},
    {kSampleKey256, "", 10, "0123456789", "6657667009"},
    {kSampleKey256, kSampleTweak10, 10, "0123456789", "1001623463"},
    {kSampleKey256, kSampleTweak36, 36, "0123456789abcdefghi", "xs8a0azh2avyalyzuwd"},
}};

inline std::vector<std::uint8_t> SampleBytes(std::string_view hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(
        static_cast<std::uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

inline Ff1::Halves SampleHalves(std::string_view digits, std::uint32_t radix) {
  const auto value = [&](std::string_view part) {
    return std::stoull(std::string(part), nullptr, static_cast<int>(radix));
  };
  return {value(digits.substr(0, digits.size() / 2)), value(digits.substr(digits.size() / 2))};
}

// Whether encryption and decryption of `sample` on `path` give what NIST published.
inline bool SampleHolds(const Ff1Sample& sample, AesPath path) {
  const std::vector<std::uint8_t> key = SampleBytes(sample.key);
  const std::vector<std::uint8_t> tweak = SampleBytes(sample.tweak);
  const Result<Ff1> ff1 = Ff1::Make({.radix = sample.radix,
                                     .length = static_cast<std::uint32_t>(sample.plain.size()),
                                     .key = key,
                                     .tweak = tweak,
                                     .path = path});
  if (!ff1.ok()) return false;
  const Ff1::Halves plain = SampleHalves(sample.plain, sample.radix);
  const Ff1::Halves cipher = SampleHalves(sample.cipher, sample.radix);
  Ff1::Halves halves = plain;
  ff1->Encrypt({&halves, 1});
  if (halves != cipher) return false;
  ff1->Decrypt({&halves, 1});
  return halves == plain;
}

}  // namespace keymill::keys
