// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/check_symbol.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::keys {
namespace {

TEST(CheckSymbolTest, CrockfordAgreesWithPublishedValues) {
  const Alphabet base32 = *Alphabet::Parse("base32");
  EXPECT_EQ(ComputeCheckSymbol(base32, "10"), '*');             // 32
  EXPECT_EQ(ComputeCheckSymbol(base32, "16J"), 'D');            // 1234
  EXPECT_EQ(ComputeCheckSymbol(base32, "XSNJG0"), '1');         // 10^9
  EXPECT_EQ(ComputeCheckSymbol(base32, "FZZZZZZZZZZZZ"), 'B');  // 2^64 - 1
}

TEST(CheckSymbolTest, CrockfordUsesAllThirtySevenSymbols) {
  const Alphabet base32 = *Alphabet::Parse("base32");
  std::string symbols;
  for (int value = 0; value < 37; ++value) {
    const std::string body = {base32.symbol(static_cast<std::uint32_t>(value / 32)),
                              base32.symbol(static_cast<std::uint32_t>(value % 32))};
    symbols.push_back(ComputeCheckSymbol(base32, body));
  }
  EXPECT_EQ(symbols, "0123456789ABCDEFGHJKMNPQRSTVWXYZ*~$=U");
}

// MOD 11,10: the standard's own example and python-stdnum's. MOD 37,36: the example of the
// Global Release Identifier, A1-2425G-ABC1234002-M.
TEST(CheckSymbolTest, HybridAgreesWithPublishedValues) {
  const Alphabet decimal = *Alphabet::Parse("decimal");
  EXPECT_EQ(ComputeCheckSymbol(decimal, "0794"), '5');
  EXPECT_EQ(ComputeCheckSymbol(decimal, "79462"), '3');
  const Alphabet upper = *Alphabet::Parse("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  EXPECT_EQ(ComputeCheckSymbol(upper, "A12425GABC1234002"), 'M');
}

// Substituting any one symbol of any two-symbol body, or the check symbol, must show. Two
// symbols suffice: what a symbol does to the state does not depend on where it stands.
TEST(CheckSymbolTest, DetectsEverySingleSubstitution) {
  for (const std::string_view name : Alphabet::Names()) {
    const Alphabet alphabet = *Alphabet::Parse(name);
    ASSERT_TRUE(CheckSymbolAllowed(alphabet).ok());
    for (const char first : alphabet.symbols()) {
      for (const char second : alphabet.symbols()) {
        const std::string body = {first, second};
        const char check = ComputeCheckSymbol(alphabet, body);
        for (const char other : alphabet.symbols()) {
          if (other != first) {
            ASSERT_NE(ComputeCheckSymbol(alphabet, std::string{other, second}), check) << name;
          }
          if (other != second) {
            ASSERT_NE(ComputeCheckSymbol(alphabet, std::string{first, other}), check) << name;
          }
        }
      }
    }
  }
}

TEST(CheckSymbolTest, DetectsSubstitutionsAnywhereInLongBodies) {
  for (const std::string_view name : Alphabet::Names()) {
    const Alphabet alphabet = *Alphabet::Parse(name);
    std::string body;
    for (std::uint32_t i = 0; i < 32; ++i) body.push_back(alphabet.symbol(i * 7 % alphabet.size()));
    const char check = ComputeCheckSymbol(alphabet, body);
    for (char& symbol : body) {
      const char right = symbol;
      for (const char wrong : alphabet.symbols()) {
        symbol = wrong;
        EXPECT_EQ(ComputeCheckSymbol(alphabet, body) == check, wrong == right);
      }
      symbol = right;
    }
  }
}

TEST(CheckSymbolTest, RefusesOddAlphabets) {
  EXPECT_EQ(CheckSymbolAllowed(*Alphabet::Parse("abc")).code(), Code::kInvalidArgument);
  EXPECT_EQ(CheckSymbolAllowed(*Alphabet::Parse("0123456")).code(), Code::kInvalidArgument);
  EXPECT_TRUE(CheckSymbolAllowed(*Alphabet::Parse("01")).ok());
}

// The reason for the refusal: with three symbols, two bodies one substitution apart agree.
TEST(CheckSymbolTest, OddAlphabetsWouldMissErrors) {
  const Alphabet odd = *Alphabet::Parse("abc");
  int missed = 0;
  for (const char wrong : std::string_view("bc")) {
    if (ComputeCheckSymbol(odd, std::string{wrong}) == ComputeCheckSymbol(odd, "a")) ++missed;
  }
  EXPECT_GT(missed, 0);
}

}  // namespace
}  // namespace keymill::keys
