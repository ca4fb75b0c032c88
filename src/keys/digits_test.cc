// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/digits.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "keys/counting_text.h"
#include "keys/odometer.h"

namespace keymill::keys {
namespace {

constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;

std::string Symbols(std::size_t size) {
  std::string symbols;
  for (std::size_t i = 0; i < size; ++i) symbols += static_cast<char>('!' + i);
  return symbols;
}

// One digit after the other, by division.
std::string Plain(std::string_view symbols, std::uint64_t value, std::uint32_t count) {
  std::string text(count, ' ');
  for (std::uint32_t i = count; i-- > 0; value /= symbols.size()) {
    text[i] = symbols[value % symbols.size()];
  }
  return text;
}

TEST(DivisorTest, AgreesWithTheProcessorAtTheEdges) {
  for (const std::uint64_t value : {std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{10},
                                    std::uint64_t{62}, std::uint64_t{3844}, kEnd / 2, kEnd - 1}) {
    const Divisor divisor(value);
    for (const std::uint64_t near : {std::uint64_t{0}, value, 2 * value, kEnd, ~std::uint64_t{0}}) {
      for (std::uint64_t i = 0; i < 5; ++i) {
        const std::uint64_t y = near + i - 2;  // May wrap, which is as good a number as any.
        EXPECT_EQ(divisor.Divide(y).quotient, y / value) << y << " / " << value;
        EXPECT_EQ(divisor.Divide(y).rest, y % value) << y << " % " << value;
      }
    }
  }
}

RC_GTEST_PROP(DivisorProperty, AgreesWithTheProcessor, ()) {
  const auto bits = *rc::gen::inRange(2, 64);
  const auto value = *rc::gen::inRange<std::uint64_t>(2, bits == 63 ? kEnd : 1ULL << bits);
  const auto y = *rc::gen::arbitrary<std::uint64_t>();
  const Divisor::Parts parts = Divisor(value).Divide(y);
  RC_ASSERT(parts.quotient == y / value);
  RC_ASSERT(parts.rest == y % value);
}

RC_GTEST_PROP(DigitsProperty, AreThoseOfADivision, ()) {
  const std::string symbols = Symbols(*rc::gen::inRange<std::size_t>(2, 95));
  const auto count = *rc::gen::inRange<std::uint32_t>(0, 33);
  std::uint64_t end = 1;
  for (std::uint32_t i = 0; i < count && end < kEnd / symbols.size(); ++i) end *= symbols.size();
  const auto value = *rc::gen::inRange<std::uint64_t>(0, end);
  const Digits digits(symbols);
  std::string text(count + 1, '~');
  digits.Write(value, count, text.data());
  RC_ASSERT(text == Plain(symbols, value, count) + "~");
}

TEST(DigitsTest, AlphabetsWithTheSameSymbolsShareOneTable) {
  const Digits first("0123456789");
  for (int i = 0; i < 3; ++i) {
    const Digits again("0123456789");
    const Digits other("01");
    std::string text(2, ' ');
    other.Write(2, 2, text.data());
    EXPECT_EQ(text, "10");
    again.Write(42, 2, text.data());
    EXPECT_EQ(text, "42");
  }
}

RC_GTEST_PROP(CountingTextProperty, IsWhatAnOdometerShows, ()) {
  const std::string symbols = Symbols(*rc::gen::inRange<std::size_t>(2, 95));
  const std::string prefix(*rc::gen::inRange<std::size_t>(0, 17), 'p');
  const std::string after(*rc::gen::inRange<std::size_t>(0, 4), '\n');
  const std::size_t around = prefix.size() + after.size();
  const std::size_t least = around >= kCountingTextMin ? 1 : kCountingTextMin - around;
  const auto length = *rc::gen::inRange<std::uint32_t>(static_cast<std::uint32_t>(least), 29);
  std::uint64_t end = 1;
  for (std::uint32_t i = 0; i < length && end < kEnd / symbols.size(); ++i) end *= symbols.size();
  const std::uint64_t count =
      std::min<std::uint64_t>(*rc::gen::inRange<std::uint64_t>(1, 700), end);
  const std::uint64_t first = *rc::gen::inRange<std::uint64_t>(0, end - count + 1);

  std::string expected;
  Odometer odometer(symbols, length, first);
  for (std::uint64_t i = 0; i < count; ++i, odometer.Step()) {
    expected += prefix;
    expected += odometer.text();
    expected += after;
  }
  std::string text(expected.size() + 1, '~');
  WriteCounting({prefix, length, after}, Digits(symbols), first, count, text.data());
  RC_ASSERT(text == expected + "~");
}

}  // namespace
}  // namespace keymill::keys
