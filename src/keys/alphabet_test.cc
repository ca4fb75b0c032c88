// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/alphabet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::keys {
namespace {

using testing::HasSubstr;

std::string SymbolsOf(std::string_view name) {
  return std::string(Alphabet::Parse(name)->symbols());
}

// A promise: do not change existing lines.
TEST(AlphabetTest, NamedAlphabetsAreWhatTheyAlwaysWere) {
  EXPECT_EQ(SymbolsOf("base62"), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(SymbolsOf("base64url"),
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
  EXPECT_EQ(SymbolsOf("base58"), "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz");
  EXPECT_EQ(SymbolsOf("base36"), "0123456789abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(SymbolsOf("base32"), "0123456789ABCDEFGHJKMNPQRSTVWXYZ");
  EXPECT_EQ(SymbolsOf("hex"), "0123456789abcdef");
  EXPECT_EQ(SymbolsOf("decimal"), "0123456789");
}

TEST(AlphabetTest, EveryNameParsesToItself) {
  EXPECT_EQ(Alphabet::Names().size(), 7U);
  for (const std::string_view name : Alphabet::Names()) {
    const Result<Alphabet> alphabet = Alphabet::Parse(name);
    ASSERT_TRUE(alphabet.ok());
    EXPECT_EQ(alphabet->name(), name);
    // Written out, it is still the same alphabet, so that a recipe has one spelling.
    EXPECT_EQ(Alphabet::Parse(alphabet->symbols())->name(), name);
  }
}

TEST(AlphabetTest, DigitAndSymbolAreInverse) {
  for (const std::string_view name : Alphabet::Names()) {
    const Alphabet alphabet = *Alphabet::Parse(name);
    int known = 0;
    for (int byte = 0; byte < 256; ++byte) {
      const int digit = alphabet.digit(static_cast<char>(byte));
      if (digit < 0) continue;
      ++known;
      EXPECT_EQ(alphabet.symbol(static_cast<std::uint32_t>(digit)), static_cast<char>(byte));
    }
    EXPECT_EQ(known, static_cast<int>(alphabet.size()));
  }
}

TEST(AlphabetTest, FoldsNeitherCaseNorLookAlikes) {
  EXPECT_EQ(Alphabet::Parse("base32")->digit('a'), -1);
  EXPECT_EQ(Alphabet::Parse("base32")->digit('O'), -1);
  EXPECT_EQ(Alphabet::Parse("hex")->digit('A'), -1);
  EXPECT_EQ(Alphabet::Parse("base36")->digit('Z'), -1);
}

TEST(AlphabetTest, TakesSymbolsOfOnesOwn) {
  const Result<Alphabet> alphabet = Alphabet::Parse("01");
  ASSERT_TRUE(alphabet.ok());
  EXPECT_EQ(alphabet->name(), "01");
  EXPECT_EQ(alphabet->size(), 2U);
  EXPECT_EQ(alphabet->digit('1'), 1);
  EXPECT_TRUE(Alphabet::Parse("9876543210").ok());

  std::string all;
  for (char c = '!'; c <= '~'; ++c) {
    if (std::string_view("\"\\/?#%").find(c) == std::string_view::npos) all.push_back(c);
  }
  EXPECT_EQ(Alphabet::Parse(all)->size(), 88U);
}

TEST(AlphabetTest, RefusesTooFewAndTooManySymbols) {
  EXPECT_EQ(Alphabet::Parse("").code(), Code::kInvalidArgument);
  EXPECT_EQ(Alphabet::Parse("a").code(), Code::kInvalidArgument);
  EXPECT_EQ(Alphabet::Parse(std::string(95, 'a')).code(), Code::kInvalidArgument);
}

TEST(AlphabetTest, RefusesSymbolsThatTextCannotCarry) {
  for (const char c : std::string_view("\"\\/?#% \t\n\x7f\x80\xff\0", 13)) {
    EXPECT_EQ(Alphabet::Parse(std::string("01") + c).code(), Code::kInvalidArgument)
        << static_cast<int>(c);
  }
}

TEST(AlphabetTest, RefusesASymbolThatAppearsTwice) {
  const Result<Alphabet> alphabet = Alphabet::Parse("0120");
  ASSERT_FALSE(alphabet.ok());
  EXPECT_THAT(alphabet.status().message(), HasSubstr("'0' appears twice"));
}

// Most misspelt names would do as symbols, which nobody who writes them wants.
TEST(AlphabetTest, RefusesMisspeltNamesAndListsTheRightOnes) {
  for (const char* const name : {"base63", "base64", "Base62", "BASE58", "HEX", "hexx", "bsae62",
                                 "base16", "decimals", "base"}) {
    const Result<Alphabet> alphabet = Alphabet::Parse(name);
    ASSERT_EQ(alphabet.code(), Code::kInvalidArgument) << name;
    EXPECT_THAT(alphabet.status().message(),
                HasSubstr("base62, base64url, base58, base36, base32, hex, decimal"));
  }
}

}  // namespace
}  // namespace keymill::keys
