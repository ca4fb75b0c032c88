// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Decode is the inverse of Encode on what Encode can give, and an error everywhere else.

#include <array>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "keys/codec.h"

namespace keymill::keys {
namespace {

using testing::HasSubstr;

Codec MakeCodec(const Recipe& recipe) {
  std::array<std::uint8_t, kSecretSize> secret{};
  RandomBytes(secret);
  const bool shuffled = recipe.kind == Kind::kShuffled;
  return *Codec::Make(recipe, std::span(secret).first(shuffled ? kSecretSize : 0));
}

std::string Encode(const Codec& codec, std::uint64_t number) {
  std::array<char, kKeySizeMax> out{};
  return {out.data(), codec.Encode(number, 1, "", out.data()).bytes};
}

Recipe Make(Kind kind, std::string alphabet, std::uint32_t length, std::string prefix = "",
            CheckSymbol check = CheckSymbol::kNone, std::uint64_t start = 0) {
  return {.kind = kind,
          .alphabet = std::move(alphabet),
          .length = length,
          .prefix = std::move(prefix),
          .check = check,
          .start = start,
          .blocklist = {}};
}

void ExpectRefused(const Codec& codec, std::string_view key, std::string_view message) {
  const Result<std::uint64_t> number = codec.Decode(key);
  ASSERT_EQ(number.code(), Code::kInvalidArgument) << key;
  EXPECT_THAT(number.status().message(), HasSubstr(message)) << key;
}

// Small enough that every text of up to four symbols can be tried: exactly the keys that
// Encode gives may decode, each to its number.
TEST(CodecDecodeTest, AcceptsExactlyWhatEncodeGives) {
  Recipe blocked = Make(Kind::kSequence, "012", 0);
  blocked.blocklist = {"210", "111"};
  const std::vector<Recipe> recipes = {
      Make(Kind::kSequence, "012", 0),
      Make(Kind::kSequence, "012", 0, "", CheckSymbol::kNone, 7),
      Make(Kind::kSequence, "012", 3),
      Make(Kind::kSequence, "012", 4, "", CheckSymbol::kNone, 80),
      Make(Kind::kSequence, "0123", 0, "", CheckSymbol::kAppended),
      Make(Kind::kSequence, "0123", 3, "", CheckSymbol::kAppended),
      Make(Kind::kSequence, "012", 2, "1"),
      blocked,
  };
  for (const Recipe& recipe : recipes) {
    const Codec codec = MakeCodec(recipe);
    std::map<std::string, std::uint64_t> issued;
    for (std::uint64_t number = codec.begin(); number < std::min<std::uint64_t>(codec.end(), 400);
         ++number) {
      if (const std::string key = Encode(codec, number); !key.empty()) {
        EXPECT_TRUE(issued.emplace(key, number).second);
      }
    }
    std::vector<std::string> texts = {""};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Result<std::uint64_t> number = codec.Decode(texts[i]);
      const auto found = issued.find(texts[i]);
      ASSERT_EQ(number.ok(), found != issued.end()) << texts[i];
      if (number.ok()) {
        ASSERT_EQ(*number, found->second) << texts[i];
      }
      if (texts[i].size() == 4) continue;
      for (const char c : std::string_view("0123x")) texts.push_back(texts[i] + c);
    }
  }
}

TEST(CodecDecodeTest, SaysWhereATextDeparts) {
  const Codec codec =
      MakeCodec(Make(Kind::kSequence, "decimal", 0, "ord_", CheckSymbol::kAppended, 10));
  const std::string key = Encode(codec, 1234);
  EXPECT_EQ(*codec.Decode(key), 1234U);
  ExpectRefused(codec, "", "does not begin with \"ord_\"");
  ExpectRefused(codec, "Ord_" + key.substr(4), "does not begin with \"ord_\"");
  ExpectRefused(codec, key.substr(4), "does not begin with \"ord_\"");
  ExpectRefused(codec, "ord_", "key: has 0 symbols after the prefix, not 2 to 20");
  ExpectRefused(codec, "ord_1", "1 symbols after the prefix");
  ExpectRefused(codec, "ord_" + std::string(21, '1'), "21 symbols after the prefix");
  ExpectRefused(codec, "ord_" + std::string(1'000'000, '1'), "1000000 symbols");
  ExpectRefused(codec, "ord_12x45",
                "position 3 after the prefix that is not in the alphabet decimal");
  ExpectRefused(codec,
                std::string_view("ord_12\0"
                                 "45",
                                 9),
                "position 3");
  ExpectRefused(codec, "ord_1235" + key.substr(8), "check symbol");
}

TEST(CodecDecodeTest, SaysNothingOfAPrefixThatIsNotThere) {
  const Codec codec = MakeCodec(Make(Kind::kShuffled, "base62", 7));
  ExpectRefused(codec, "hello", "key: has 5 symbols, not 7");
  ExpectRefused(codec, "hello!!",
                "key: has a symbol at position 6 that is not in the alphabet base62");
}

TEST(CodecDecodeTest, RefusesZerosInFrontOfAGrowingKey) {
  const Codec codec = MakeCodec(Make(Kind::kSequence, "base62", 0));
  EXPECT_EQ(*codec.Decode("0"), 0U);
  EXPECT_EQ(*codec.Decode("10"), 62U);
  ExpectRefused(codec, "00", "zero");
  ExpectRefused(codec, "010", "zero");
}

TEST(CodecDecodeTest, RefusesNumbersBeforeTheStartAndBeyondTheEnd) {
  const Codec growing = MakeCodec(Make(Kind::kSequence, "base62", 0, "", CheckSymbol::kNone, 62));
  ExpectRefused(growing, "z", "outside");
  EXPECT_EQ(*growing.Decode("10"), 62U);
  EXPECT_EQ(*growing.Decode("AzL8n0Y58m6"), kNumberEnd - 1);
  ExpectRefused(growing, "AzL8n0Y58m7", "outside");  // 2^63 - 1
  ExpectRefused(growing, "zzzzzzzzzzz", "outside");  // Beyond 2^64.

  const Codec fixed = MakeCodec(Make(Kind::kSequence, "decimal", 20));
  EXPECT_EQ(*fixed.Decode("09223372036854775806"), kNumberEnd - 1);
  ExpectRefused(fixed, "09223372036854775807", "outside");
  ExpectRefused(fixed, "18446744073709551616", "outside");  // 2^64, which is 0 in 64 bits.
  ExpectRefused(fixed, "99999999999999999999", "outside");
}

// 62^20 texts, 2^63 numbers: a text drawn at random has a chance of 10^-17 to be a key.
TEST(CodecDecodeTest, RefusesTextsOfALargeDomainThatNoNumberHas) {
  const Codec codec = MakeCodec(Make(Kind::kShuffled, "base62", 20));
  for (const char c : std::string_view("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    ExpectRefused(codec, std::string(20, c), "outside");
  }
}

TEST(CodecDecodeTest, RefusesShuffledKeysBeforeTheStart) {
  const Recipe recipe = Make(Kind::kShuffled, "decimal", 6, "", CheckSymbol::kNone, 999'000);
  const Codec codec = MakeCodec(recipe);
  std::uint32_t accepted = 0;
  for (int value = 0; value < 1'000'000; value += 1) {
    std::string text = std::to_string(1'000'000 + value).substr(1);
    const Result<std::uint64_t> number = codec.Decode(text);
    if (!number.ok()) continue;
    ++accepted;
    ASSERT_EQ(Encode(codec, *number), text);
  }
  EXPECT_EQ(accepted, 1000U);
}

Recipe AnyRecipe() {
  const auto kind = *rc::gen::element(Kind::kSequence, Kind::kShuffled);
  const auto alphabet = *rc::gen::element<std::string>("base62", "base64url", "base58", "base36",
                                                       "base32", "hex", "decimal", "01", "cab");
  const auto length = *rc::gen::inRange<std::uint32_t>(0, 33);
  const auto prefix = *rc::gen::element<std::string>("", "ord_", "A", "0-", "sixteen.symbols_");
  const auto check = *rc::gen::element(CheckSymbol::kNone, CheckSymbol::kAppended);
  return Make(kind, alphabet, length, prefix, check);
}

std::uint64_t AnyNumber(const Codec& codec) {
  const std::uint64_t size = codec.end() - codec.begin();
  const auto raw = *rc::gen::inRange<std::uint64_t>(0, kNumberEnd);
  const auto edge = *rc::gen::inRange<int>(0, 3);
  if (edge == 1) return codec.begin() + raw % std::min<std::uint64_t>(size, 100);
  if (edge == 2) return codec.end() - 1 - raw % std::min<std::uint64_t>(size, 100);
  return codec.begin() + raw % size;
}

RC_GTEST_PROP(CodecProperty, EveryKeyLeadsBackToItsNumber, ()) {
  const Recipe recipe = AnyRecipe();
  RC_PRE(Codec::Validate(recipe).ok());
  const Codec codec = MakeCodec(recipe);
  const std::uint64_t number = AnyNumber(codec);
  const std::string key = Encode(codec, number);
  RC_ASSERT(key.size() <= codec.size_max());
  RC_ASSERT(codec.size_max() <= kKeySizeMax);
  RC_ASSERT(codec.Decode(key).ok());
  RC_ASSERT(*codec.Decode(key) == number);
}

// Any other text is refused, or is the one text of another number.
RC_GTEST_PROP(CodecProperty, AnAlteredKeyIsRefusedOrAnotherNumbersOwn, ()) {
  const Recipe recipe = AnyRecipe();
  RC_PRE(Codec::Validate(recipe).ok());
  const Codec codec = MakeCodec(recipe);
  const std::uint64_t number = AnyNumber(codec);
  const std::string key = Encode(codec, number);

  std::vector<std::string> altered = {key + key[key.size() - 1], " " + key, key + "\n", key + '\0',
                                      "0" + key};
  for (std::size_t i = 0; i < key.size(); ++i) {
    altered.push_back(std::string(key).erase(i, 1));
    altered.push_back(std::string(key).insert(i, 1, key[i]));
    for (const char c : std::string_view("0123456789AZaz_-*~$=U.\x80")) {
      altered.push_back(key);
      altered.back()[i] = c;
    }
  }
  for (const std::string& text : altered) {
    if (text == key) continue;
    const Result<std::uint64_t> other = codec.Decode(text);
    if (!other.ok()) continue;
    RC_ASSERT(*other != number);
    RC_ASSERT(Encode(codec, *other) == text);
  }
}

// With a check symbol, no single wrong symbol of the body goes unnoticed.
RC_GTEST_PROP(CodecProperty, ACheckSymbolCatchesEverySingleWrongSymbol, ()) {
  Recipe recipe = AnyRecipe();
  recipe.check = CheckSymbol::kAppended;
  RC_PRE(Codec::Validate(recipe).ok());
  const Codec codec = MakeCodec(recipe);
  const std::string key = Encode(codec, AnyNumber(codec));
  for (std::size_t i = 0; i < key.size(); ++i) {
    std::string text = key;
    for (int c = 0; c < 256; ++c) {
      text[i] = static_cast<char>(c);
      if (text != key) RC_ASSERT_FALSE(codec.Decode(text).ok());
    }
  }
}

}  // namespace
}  // namespace keymill::keys
