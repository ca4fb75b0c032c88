// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/ff1.h"

#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "keys/ff1_samples.h"

namespace keymill::keys {
namespace {

std::vector<AesPath> Paths() {
  std::vector<AesPath> paths = {AesPath::kPortable};
  if (HaveHardwareAes()) paths.push_back(AesPath::kHardware);
  if (HaveVectorAes()) paths.push_back(AesPath::kVector);
  return paths;
}

constexpr std::array<std::uint8_t, 16> kKey = {9, 8, 7, 6, 5, 4, 3, 2, 1};

Ff1 MakeFf1(std::uint32_t radix, std::uint32_t length, AesPath path = AesPath::kAuto) {
  return *Ff1::Make({.radix = radix, .length = length, .key = kKey, .tweak = {}, .path = path});
}

// The longest string of a radix whose halves fit.
std::uint32_t LengthMax(std::uint32_t radix) {
  std::uint32_t half = 1;
  for (std::uint64_t power = radix; power <= (std::uint64_t{1} << 63) / radix; power *= radix) {
    ++half;
  }
  std::uint32_t length = half * 2 + 2;
  while (!Ff1::Make({.radix = radix, .length = length, .key = kKey, .tweak = {}}).ok()) --length;
  return length;
}

TEST(Ff1Test, GivesThePublishedSamplesOnEachPath) {
  for (const AesPath path : Paths()) {
    for (const Ff1Sample& sample : kFf1Samples) {
      EXPECT_TRUE(SampleHolds(sample, path)) << sample.cipher << " on path " << int(path);
    }
  }
}

TEST(Ff1Test, RefusesOptionsOutOfRange) {
  const std::vector<std::uint8_t> long_tweak(65);
  const auto code = [&](std::uint32_t radix, std::uint32_t length, std::size_t tweak_size = 0) {
    return Ff1::Make({.radix = radix,
                      .length = length,
                      .key = kKey,
                      .tweak = std::span(long_tweak).first(tweak_size)})
        .code();
  };
  EXPECT_EQ(code(1, 10), Code::kInvalidArgument);
  EXPECT_EQ(code(257, 10), Code::kInvalidArgument);
  EXPECT_EQ(code(62, 0), Code::kInvalidArgument);
  EXPECT_EQ(code(62, 1), Code::kInvalidArgument);
  EXPECT_EQ(code(62, 21), Code::kInvalidArgument);  // 62^11 > 2^63
  EXPECT_EQ(code(2, 126), Code::kInvalidArgument);  // 2^63 itself
  EXPECT_EQ(code(62, std::numeric_limits<std::uint32_t>::max()), Code::kInvalidArgument);
  EXPECT_EQ(code(62, 7, 65), Code::kInvalidArgument);
  EXPECT_EQ(Ff1::Make({.key = std::span(kKey).first(15), .tweak = {}}).code(),
            Code::kInvalidArgument);

  EXPECT_EQ(code(62, 20), Code::kOk);
  EXPECT_EQ(code(2, 124), Code::kOk);
  EXPECT_EQ(code(2, 2), Code::kOk);
  EXPECT_EQ(code(256, 14), Code::kOk);
  EXPECT_EQ(code(62, 7, 64), Code::kOk);
}

TEST(Ff1Test, TakesPartOfTheRightHalf) {
  const auto make = [](std::uint32_t parts) {
    return Ff1::Make({.radix = 10, .length = 5, .key = kKey, .tweak = {}, .right_parts = parts});
  };
  EXPECT_EQ(make(1)->right_size(), 1000U);
  EXPECT_EQ(make(7)->right_size(), 142U);  // 6 of 1000 are left over.
  EXPECT_EQ(make(7)->left_size(), 100U);
  EXPECT_EQ(make(500)->right_size(), 2U);
  EXPECT_EQ(make(501).code(), Code::kInvalidArgument);
  EXPECT_EQ(make(0).code(), Code::kInvalidArgument);
}

TEST(Ff1Test, SaysHowLargeTheHalvesAre) {
  const Ff1 ff1 = MakeFf1(62, 7);
  EXPECT_EQ(ff1.left_size(), 62U * 62 * 62);
  EXPECT_EQ(ff1.right_size(), 62U * 62 * 62 * 62);
}

// Every string of the domain must be reached exactly once, and Decrypt must lead back.
void ExpectPermutation(const Ff1& ff1) {
  const std::uint64_t size = ff1.left_size() * ff1.right_size();
  std::vector<Ff1::Halves> strings;
  for (std::uint64_t i = 0; i < size; ++i) {
    strings.push_back({i / ff1.right_size(), i % ff1.right_size()});
  }
  const std::vector<Ff1::Halves> plain = strings;
  ff1.Encrypt(strings);
  std::vector<bool> seen(size);
  for (const Ff1::Halves& halves : strings) {
    ASSERT_LT(halves.left, ff1.left_size());
    ASSERT_LT(halves.right, ff1.right_size());
    const std::uint64_t value = halves.left * ff1.right_size() + halves.right;
    ASSERT_FALSE(seen[value]);
    seen[value] = true;
  }
  ff1.Decrypt(strings);
  EXPECT_EQ(strings, plain);
}

// A part of the right half, larger or smaller than the left one.
TEST(Ff1Test, PermutesHalvesOfAnySize) {
  for (const AesPath path : Paths()) {
    for (const auto& [radix, length] :
         std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 13}, {10, 4}, {62, 2}, {16, 3}}) {
      const std::uint64_t right = MakeFf1(radix, length).right_size();
      for (const std::uint64_t parts :
           {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{7}, std::uint64_t{31}, right / 2}) {
        SCOPED_TRACE(testing::Message() << radix << "^" << length << " in " << parts);
        ExpectPermutation(*Ff1::Make({.radix = radix,
                                      .length = length,
                                      .key = kKey,
                                      .tweak = {},
                                      .path = path,
                                      .right_parts = static_cast<std::uint32_t>(parts)}));
      }
    }
  }
}

TEST(Ff1Test, PermutesSmallDomains) {
  for (const AesPath path : Paths()) {
    for (const auto& [radix, length] :
         std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 2},
                                                              {2, 3},
                                                              {2, 13},
                                                              {3, 5},
                                                              {7, 4},
                                                              {10, 3},
                                                              {10, 4},
                                                              {16, 3},
                                                              {26, 3},
                                                              {62, 2},
                                                              {94, 2},
                                                              {255, 2},
                                                              {256, 2}}) {
      SCOPED_TRACE(testing::Message() << radix << "^" << length << " on path " << int(path));
      ExpectPermutation(MakeFf1(radix, length, path));
    }
  }
}

TEST(Ff1Test, DependsOnKeyAndTweak) {
  const std::array<std::uint8_t, 16> other_key{};
  const std::array<std::uint8_t, 1> tweak = {1};
  const auto encrypt = [](const Ff1::Options& options) {
    Ff1::Halves halves{};
    Ff1::Make(options)->Encrypt({&halves, 1});
    return halves;
  };
  const Ff1::Halves plain = encrypt({.key = kKey, .tweak = {}});
  EXPECT_NE(plain, encrypt({.key = other_key, .tweak = {}}));
  EXPECT_NE(plain, encrypt({.key = kKey, .tweak = tweak}));
}

TEST(Ff1Test, ManyAtOnceEqualOneAtATime) {
  const Ff1 ff1 = MakeFf1(62, 7);
  for (std::size_t count = 0; count <= 40; ++count) {
    std::vector<Ff1::Halves> together(count);
    for (std::size_t i = 0; i < count; ++i) together[i] = {i, 1000 * i};
    std::vector<Ff1::Halves> singly = together;
    ff1.Encrypt(together);
    for (Ff1::Halves& halves : singly) ff1.Encrypt({&halves, 1});
    EXPECT_EQ(together, singly);
  }
}

TEST(Ff1Test, ThreadsMayShareACipher) {
  for (const AesPath path : Paths()) {
    const Ff1 ff1 = MakeFf1(62, 7, path);
    std::vector<Ff1::Halves> expected(100);
    ff1.Encrypt(expected);
    std::vector<int> wrong(4);
    std::vector<std::thread> threads;
    for (int& count : wrong) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          std::vector<Ff1::Halves> strings(100);
          ff1.Encrypt(strings);
          if (strings != expected) ++count;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
  }
}

// Every radix, at lengths on both sides of the limit where d changes, at the ends of the
// halves, where a wrong modulus or carry would show.
TEST(Ff1Test, HoldsAtTheEdgesOfTheHalvesForEveryRadix) {
  for (std::uint32_t radix = 2; radix <= 256; ++radix) {
    const std::uint32_t length_max = LengthMax(radix);
    for (std::uint32_t length = 2; length <= length_max; length += 1 + length / 4) {
      const Ff1 portable = MakeFf1(radix, length, AesPath::kPortable);
      const std::vector<Ff1::Halves> edges = {
          {0, 0},
          {0, portable.right_size() - 1},
          {portable.left_size() - 1, 0},
          {portable.left_size() - 1, portable.right_size() - 1}};
      std::vector<Ff1::Halves> plain;  // Enough for every size of group, and a rest.
      for (std::size_t i = 0; i < 43; ++i) plain.push_back(edges[i % edges.size()]);
      std::vector<Ff1::Halves> strings = plain;
      portable.Encrypt(strings);
      const std::vector<Ff1::Halves> encrypted = strings;
      for (const Ff1::Halves& halves : strings) {
        ASSERT_LT(halves.left, portable.left_size());
        ASSERT_LT(halves.right, portable.right_size());
      }
      portable.Decrypt(strings);
      ASSERT_EQ(strings, plain) << radix << "^" << length;
      for (const AesPath path : Paths()) {
        strings = plain;
        MakeFf1(radix, length, path).Encrypt(strings);
        ASSERT_EQ(strings, encrypted) << radix << "^" << length;
      }
    }
  }
}

RC_GTEST_PROP(Ff1Property, PathsAgreeAndDecryptInvertsEncrypt, ()) {
  const auto radix = *rc::gen::inRange<std::uint32_t>(2, 257);
  const auto length = *rc::gen::inRange<std::uint32_t>(2, LengthMax(radix) + 1);
  const auto key_size = *rc::gen::element<std::size_t>(16, 24, 32);
  const auto key =
      *rc::gen::container<std::vector<std::uint8_t>>(key_size, rc::gen::arbitrary<std::uint8_t>());
  const auto tweak_size = *rc::gen::inRange<std::size_t>(0, 65);
  const auto tweak = *rc::gen::container<std::vector<std::uint8_t>>(
      tweak_size, rc::gen::arbitrary<std::uint8_t>());
  Ff1::Options options = {.radix = radix, .length = length, .key = key, .tweak = tweak};
  options.path = AesPath::kPortable;
  const Ff1 portable = *Ff1::Make(options);
  std::vector<Ff1::Halves> plain(*rc::gen::inRange<std::size_t>(1, 80));
  RandomBytes({reinterpret_cast<std::uint8_t*>(plain.data()), plain.size() * sizeof(plain[0])});
  for (Ff1::Halves& halves : plain) {
    halves = {halves.left % portable.left_size(), halves.right % portable.right_size()};
  }
  std::vector<Ff1::Halves> strings = plain;
  portable.Encrypt(strings);
  for (const AesPath path : Paths()) {
    options.path = path;
    const Ff1 ff1 = *Ff1::Make(options);
    std::vector<Ff1::Halves> other = plain;
    ff1.Encrypt(other);
    RC_ASSERT(strings == other);
    ff1.Decrypt(other);
    RC_ASSERT(other == plain);
  }
  portable.Decrypt(strings);
  RC_ASSERT(strings == plain);
}

}  // namespace
}  // namespace keymill::keys
