// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill {
namespace {

// U+`point` in UTF-8, by the definition; also for those that have no right to exist.
std::string Encode(std::uint32_t point) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f))};
  if (point < 0x10000) {
    return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)),
            byte(0x80 | (point & 0x3f))};
  }
  return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)),
          byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f))};
}

TEST(Utf8Test, EveryCodePointAndOnlyThoseAreWellFormed) {
  for (std::uint32_t point = 0; point < 0x110400; ++point) {
    const std::string text = Encode(point);
    const bool surrogate = point >= 0xd800 && point <= 0xdfff;
    const std::size_t expected = surrogate || point > 0x10ffff ? 0 : text.size();
    ASSERT_EQ(Utf8SequenceLength(text), expected) << std::hex << point;
    ASSERT_EQ(Utf8SequenceLength(text + "x"), expected) << std::hex << point;
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(Utf8SequenceLength(std::string_view(text).substr(0, cut)), 0U) << std::hex << point;
    }
  }
}

TEST(Utf8Test, OverlongFormsAreNot) {
  for (const char* const text : {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf",
                                 "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf"}) {
    EXPECT_EQ(Utf8SequenceLength(text), 0U);
  }
}

TEST(Utf8Test, StrayBytesAreNot) {
  for (int lead = 0x80; lead < 0x100; ++lead) {
    EXPECT_EQ(Utf8SequenceLength(std::string(1, static_cast<char>(lead)) + "abc"), 0U) << lead;
  }
  EXPECT_FALSE(IsUtf8("abc\x80"));
  EXPECT_FALSE(IsUtf8("\xffgh"));
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("na\xc3\xafve \xf0\x9f\x94\x91"));
}

}  // namespace
}  // namespace keymill
