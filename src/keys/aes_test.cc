// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/aes.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/hex.h"
#include "base/random.h"

namespace keymill::keys {
namespace {

using Block = AesEncryptor::Block;

std::vector<AesPath> Paths() {
  std::vector<AesPath> paths = {AesPath::kAuto, AesPath::kPortable};
  if (HaveHardwareAes()) paths.push_back(AesPath::kHardware);
  if (HaveVectorAes()) paths.push_back(AesPath::kVector);
  return paths;
}

std::vector<std::uint8_t> CountingBytes(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}

// FIPS 197, appendix C: the same block under keys of each size.
TEST(AesTest, AgreesWithTheStandardForEachKeySize) {
  Block plain;
  for (std::size_t i = 0; i < 16; ++i) plain.bytes[i] = static_cast<std::uint8_t>(i * 0x11);
  for (const AesPath path : Paths()) {
    const auto encrypt = [&](std::size_t key_size) {
      Block block = plain;
      AesEncryptor::Make(CountingBytes(key_size), path)->EncryptBlocks({&block, 1});
      return HexEncode(block.bytes);
    };
    EXPECT_EQ(encrypt(16), "69c4e0d86a7b0430d8cdb78070b4c55a");
    EXPECT_EQ(encrypt(24), "dda97ca4864cdfe06eaf70a0ec0d7191");
    EXPECT_EQ(encrypt(32), "8ea2b7ca516745bfeafc49904b496089");
  }
}

TEST(AesTest, RefusesKeysOfOtherSizes) {
  for (const std::size_t size : {0U, 15U, 17U, 20U, 31U, 33U, 64U}) {
    EXPECT_EQ(AesEncryptor::Make(CountingBytes(size), AesPath::kAuto).code(),
              Code::kInvalidArgument);
  }
}

// Groups of eight, a rest, and nothing at all take different ways through the code.
TEST(AesTest, ManyBlocksAtOnceEqualOneAtATime) {
  for (const AesPath path : Paths()) {
    for (const std::size_t key_size : {16U, 24U, 32U}) {
      std::vector<std::uint8_t> key(key_size);
      RandomBytes(key);
      const AesEncryptor aes = *AesEncryptor::Make(key, path);
      const AesEncryptor portable = *AesEncryptor::Make(key, AesPath::kPortable);
      for (std::size_t count = 0; count <= 35; ++count) {
        std::vector<Block> together(count);
        for (Block& block : together) RandomBytes(block.bytes);
        std::vector<Block> singly = together;
        aes.EncryptBlocks(together);
        for (Block& block : singly) portable.EncryptBlocks({&block, 1});
        EXPECT_EQ(together, singly);
      }
    }
  }
}

// Each thread has one context, which must change keys with the encryptor in use.
TEST(AesTest, ThreadsMayShareEncryptorsAndAlternateBetweenThem) {
  for (const AesPath path : Paths()) {
    const AesEncryptor first = *AesEncryptor::Make(CountingBytes(16), path);
    const AesEncryptor second = *AesEncryptor::Make(CountingBytes(32), path);
    Block first_expected;
    Block second_expected;
    first.EncryptBlocks({&first_expected, 1});
    second.EncryptBlocks({&second_expected, 1});
    ASSERT_NE(first_expected, second_expected);

    std::vector<int> wrong(4);
    std::vector<std::thread> threads;
    for (int& count : wrong) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          Block one;
          Block two;
          first.EncryptBlocks({&one, 1});
          second.EncryptBlocks({&two, 1});
          if (one != first_expected || two != second_expected) ++count;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4));
  }
}

TEST(AesTest, ACopyIsTheSameCipherAndOutlivesTheOriginal) {
  for (const AesPath path : Paths()) {
    Block expected;
    Block block;
    auto original = std::make_unique<AesEncryptor>(*AesEncryptor::Make(CountingBytes(16), path));
    original->EncryptBlocks({&expected, 1});
    const AesEncryptor copy = *original;
    original.reset();
    copy.EncryptBlocks({&block, 1});
    EXPECT_EQ(block, expected);
  }
}

}  // namespace
}  // namespace keymill::keys
