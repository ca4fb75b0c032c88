// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/hex.h"

#include <array>

#include <gtest/gtest.h>

namespace keymill {
namespace {

TEST(HexTest, WritesTwoLowerCaseDigitsAByte) {
  const std::array<std::uint8_t, 5> bytes = {0x00, 0x0f, 0xa0, 0x7f, 0xff};
  EXPECT_EQ(HexEncode(bytes), "000fa07fff");
  EXPECT_EQ(HexEncode({}), "");
}

// The vectors of FIPS 180-4.
TEST(HexTest, Sha256AgreesWithTheStandard) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

}  // namespace
}  // namespace keymill
