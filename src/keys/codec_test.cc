// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/codec.h"

#include <array>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::keys {
namespace {

using testing::HasSubstr;

constexpr std::array<std::uint8_t, kSecretSize> kSecret = {0, 1, 2,  3,  4,  5,  6,  7,
                                                           8, 9, 10, 11, 12, 13, 14, 15};

Codec MakeCodec(const Recipe& recipe, AesPath path = AesPath::kAuto) {
  const bool shuffled = recipe.kind == Kind::kShuffled;
  return *Codec::Make(recipe, std::span(kSecret).first(shuffled ? kSecretSize : 0), path);
}

Recipe Sequence(std::string alphabet, std::uint32_t length = 0) {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  recipe.start = 0;
  return recipe;
}

Recipe Shuffled(std::string alphabet, std::uint32_t length) {
  Recipe recipe = DefaultRecipe(Kind::kShuffled);
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  return recipe;
}

std::string Encode(const Codec& codec, std::uint64_t first, std::uint32_t count = 1,
                   std::string_view after = "") {
  std::string out(count * (codec.size_max() + after.size()), '\0');
  out.resize(codec.Encode(first, count, after, out.data()).bytes);
  return out;
}

void ExpectRefused(const Recipe& recipe, std::string_view message) {
  const Status status = Codec::Validate(recipe);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << message;
  EXPECT_THAT(status.message(), HasSubstr(message));
}

// Keys that are out in the world. Add to them; never change one.
TEST(CodecTest, SequencesAreWhatTheyAlwaysWere) {
  const Codec base62 = MakeCodec(Sequence("base62"));
  EXPECT_EQ(Encode(base62, 0), "0");
  EXPECT_EQ(Encode(base62, 61), "z");
  EXPECT_EQ(Encode(base62, 62), "10");
  EXPECT_EQ(Encode(base62, 3844), "100");
  EXPECT_EQ(Encode(base62, 3521614606207), "zzzzzzz");  // 62^7 - 1
  EXPECT_EQ(Encode(base62, (std::uint64_t{1} << 53) - 1), "fFgnDxSe7");
  EXPECT_EQ(Encode(base62, kNumberEnd - 1), "AzL8n0Y58m6");
  EXPECT_EQ(Encode(MakeCodec(Sequence("base62", 7)), 3844), "0000100");

  Recipe crockford = Sequence("base32");
  crockford.check = CheckSymbol::kAppended;
  const Codec base32 = MakeCodec(crockford);
  EXPECT_EQ(Encode(base32, 32), "10*");
  EXPECT_EQ(Encode(base32, 1234), "16JD");
  EXPECT_EQ(Encode(base32, 1'000'000'000), "XSNJG01");
}

// Two orders of the 62 symbols are in use; both are published with these numbers.
TEST(CodecTest, WritesNumbersAsOthersDo) {
  const Codec upper_first = MakeCodec(Sequence("base62"));
  const Codec lower_first =
      MakeCodec(Sequence("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"));
  // 2^63 - 1 itself is no number here: "AzL8n0Y58m7" and "aZl8N0y58M7" would follow.
  EXPECT_EQ(Encode(upper_first, kNumberEnd - 1), "AzL8n0Y58m6");
  EXPECT_EQ(Encode(lower_first, kNumberEnd - 1), "aZl8N0y58M6");
  EXPECT_EQ(Encode(upper_first, (std::uint64_t{1} << 53) - 1), "fFgnDxSe7");
  EXPECT_EQ(Encode(lower_first, (std::uint64_t{1} << 53) - 1), "FfGNdXsE7");
  EXPECT_EQ(Encode(MakeCodec(Sequence("base32")), 1'000'000'000), "XSNJG0");
}

// The permutation of a secret, fixed for ever: a change here would repeat keys.
TEST(CodecTest, ShuffledKeysAreWhatTheyAlwaysWere) {
  EXPECT_EQ(Encode(MakeCodec(Shuffled("base62", 7)), 0, 3, "\n"), "9d6UNo0\n83y2n5Z\nv89YTmj\n");
  EXPECT_EQ(Encode(MakeCodec(Shuffled("base58", 11)), 0, 2, "\n"), "uyvVkLeDGbK\nFUGg9xL4bcx\n");
  EXPECT_EQ(Encode(MakeCodec(Shuffled("decimal", 19)), 12345, 1, "\n"), "5492876764111220218\n");
}

// Many at a time are written in another way than one; at the ends of all lengths too.
TEST(CodecTest, ManyKeysAreTheKeysOneByOne) {
  Recipe prefixed = Sequence("decimal", 0);
  prefixed.prefix = "INV-";
  for (const Recipe& recipe : {Sequence("decimal", 0), Sequence("base62", 0), Sequence("hex", 20),
                               Sequence("base62", 7), Sequence("01", 0), prefixed}) {
    const Codec codec = MakeCodec(recipe);
    for (const std::uint64_t first :
         {std::uint64_t{1}, std::uint64_t{99'900}, std::uint64_t{9'999'950}, codec.end() - 300}) {
      std::string one_by_one;
      for (std::uint64_t i = 0; i < 300; ++i) one_by_one += Encode(codec, first + i, 1, "\n");
      EXPECT_EQ(Encode(codec, first, 300, "\n"), one_by_one) << recipe.alphabet << " " << first;
    }
  }
}

TEST(CodecTest, BothPathsGiveTheSameKeys) {
  for (const std::uint32_t length : {7U, 8U, 13U, 20U}) {
    const Recipe recipe = Shuffled("base62", length);
    EXPECT_EQ(Encode(MakeCodec(recipe, AesPath::kPortable), 1000, 300, ","),
              Encode(MakeCodec(recipe), 1000, 300, ","));
  }
}

// A well-known service computes mix(counter) % 62^7. The mix is a bijection, the rest is
// not: it gives these two counters the same key.
TEST(CodecTest, CountersThatCollideElsewhereGiveDifferentKeys) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  };
  struct Pair {
    std::uint64_t one;
    std::uint64_t other;
  };
  const Codec codec = MakeCodec(Shuffled("base62", 7));
  for (const Pair& pair : {Pair{329622, 537050}, Pair{1206724, 2308332}, Pair{1007325, 3440279},
                           Pair{1156533, 3735079}, Pair{851088, 3946477}}) {
    ASSERT_EQ(mix(pair.one) % 3521614606208, mix(pair.other) % 3521614606208);
    EXPECT_NE(Encode(codec, pair.one), Encode(codec, pair.other));
    EXPECT_EQ(*codec.Decode(Encode(codec, pair.one)), pair.one);
    EXPECT_EQ(*codec.Decode(Encode(codec, pair.other)), pair.other);
  }
}

TEST(CodecTest, NumbersEndWhereTheAlphabetOrTheStoreDoes) {
  EXPECT_EQ(MakeCodec(Sequence("decimal", 1)).end(), 10U);
  EXPECT_EQ(MakeCodec(Sequence("decimal", 18)).end(), 1'000'000'000'000'000'000U);
  EXPECT_EQ(MakeCodec(Sequence("decimal", 19)).end(), kNumberEnd);
  EXPECT_EQ(MakeCodec(Sequence("decimal", 32)).end(), kNumberEnd);
  EXPECT_EQ(MakeCodec(Sequence("decimal")).end(), kNumberEnd);
  EXPECT_EQ(MakeCodec(Shuffled("base62", 7)).end(), 3521614606208U);
  EXPECT_EQ(MakeCodec(Shuffled("base62", 11)).end(), kNumberEnd);
  EXPECT_EQ(MakeCodec(DefaultRecipe(Kind::kSequence)).begin(), 1U);
}

TEST(CodecTest, TheLongestKeyIsAnnouncedAndReached) {
  Recipe recipe = Sequence("01");
  recipe.prefix = "sixteen.symbols_";
  recipe.check = CheckSymbol::kAppended;
  const Codec codec = MakeCodec(recipe);
  EXPECT_EQ(codec.size_max(), 16U + 63 + 1);
  EXPECT_LE(codec.size_max(), kKeySizeMax);
  EXPECT_EQ(Encode(codec, kNumberEnd - 1).size(), codec.size_max());
  EXPECT_EQ(*codec.Decode(Encode(codec, kNumberEnd - 1)), kNumberEnd - 1);
}

TEST(CodecTest, ABulkEqualsItsKeysOneByOne) {
  Recipe dressed = Shuffled("base36", 9);
  dressed.prefix = "x-";
  dressed.check = CheckSymbol::kAppended;
  for (const Recipe& recipe : {Sequence("decimal"), Sequence("01"), Sequence("hex", 4),
                               Shuffled("base62", 7), Shuffled("base62", 15), dressed}) {
    const Codec codec = MakeCodec(recipe);
    std::string expected;
    for (std::uint64_t number = 0; number < 1111; ++number) {
      expected += Encode(codec, number) + "\r\n";
    }
    EXPECT_EQ(Encode(codec, 0, 1111, "\r\n"), expected);
    EXPECT_EQ(Encode(codec, 0, 1, std::string_view()), Encode(codec, 0));
  }
}

TEST(CodecTest, ABulkReachesTheVeryLastNumber) {
  for (const Recipe& recipe : {Sequence("decimal", 3), Sequence("decimal"), Sequence("01"),
                               Shuffled("decimal", 6), Shuffled("base62", 20)}) {
    const Codec codec = MakeCodec(recipe);
    const std::string keys = Encode(codec, codec.end() - 100, 100, "\n");
    std::uint64_t expected = codec.end() - 100;
    for (std::size_t at = 0; at < keys.size(); at = keys.find('\n', at) + 1) {
      EXPECT_EQ(*codec.Decode(keys.substr(at, keys.find('\n', at) - at)), expected++);
    }
    EXPECT_EQ(expected, codec.end());
    EXPECT_EQ(Encode(codec, codec.end(), 0), "");
  }
}

TEST(CodecDeathTest, ANumberOutOfRangeEndsTheProcess) {
  const Codec codec = MakeCodec(Sequence("decimal", 1));
  std::array<char, 64> out{};
  EXPECT_DEATH(codec.Encode(9, 2, "", out.data()), "invariant broken");
  EXPECT_DEATH(codec.Encode(11, 0, "", out.data()), "invariant broken");
}

TEST(CodecTest, ConsecutiveShuffledNumbersGiveNoDuplicates) {
  const Codec codec = MakeCodec(Shuffled("decimal", 6));
  const std::string keys = Encode(codec, 0, 1'000'000);
  std::vector<bool> seen(1'000'000);
  for (std::size_t at = 0; at < keys.size(); at += 6) {
    const auto value = static_cast<std::size_t>(std::stoul(keys.substr(at, 6)));
    ASSERT_FALSE(seen[value]);
    seen[value] = true;
  }
}

TEST(CodecTest, SkipsNumbersWhoseKeySpellsABlockedWord) {
  Recipe recipe = Sequence("hex");
  recipe.blocklist = {"BAD", "add"};
  const Codec codec = MakeCodec(recipe);
  std::array<char, 64> out{};
  const Written written = codec.Encode(0xbac, 3, ",", out.data());
  EXPECT_EQ(std::string_view(out.data(), written.bytes), "bac,bae,");
  EXPECT_EQ(written.keys, 2U);
  EXPECT_EQ(codec.Encode(0xbad, 1, ",", out.data()).keys, 0U);
  EXPECT_EQ(codec.Encode(0xbad, 1, ",", out.data()).bytes, 0U);
  EXPECT_THAT(codec.Decode("bad").status().message(), HasSubstr("blocked"));
  EXPECT_THAT(codec.Decode("0add").status().message(), HasSubstr("zero"));
  EXPECT_EQ(*codec.Decode("bae"), 0xbaeU);
}

// A word may be spelt by prefix, body and check symbol together.
TEST(CodecTest, TheWholeKeyCountsForTheBlocklist) {
  Recipe recipe = Sequence("base32");
  recipe.prefix = "ba";
  recipe.check = CheckSymbol::kAppended;
  recipe.blocklist = {"bad", "16jd"};
  const Codec codec = MakeCodec(recipe);
  EXPECT_EQ(Encode(codec, 13), "");    // baD…
  EXPECT_EQ(Encode(codec, 1234), "");  // …16JD
  EXPECT_EQ(Encode(codec, 14), "baEE");
}

TEST(CodecTest, RefusesAPrefixThatIsItselfBlocked) {
  Recipe recipe = Sequence("decimal");
  recipe.prefix = "my_Bad_";
  recipe.blocklist = {"bad"};
  ExpectRefused(recipe, "blocklist: the prefix");
}

TEST(CodecTest, RefusesRecipesThatCannotBe) {
  ExpectRefused(Sequence("decimal", 33), "length: 33 is not in 0 to 32");
  ExpectRefused(Shuffled("base62", 0), "length: 0 is not in 4 to 20");
  ExpectRefused(Shuffled("base62", 3), "length: 3 is not in 4 to 20");
  ExpectRefused(Shuffled("base62", 21), "length: 21 is not in 4 to 20");
  ExpectRefused(Shuffled("decimal", 5), "length: 5 is not in 6 to 32");
  ExpectRefused(Shuffled("01", 19), "length: 19 is not in 20 to 32");
  ExpectRefused(Sequence("base99x"), "alphabet: ");

  Recipe recipe = Sequence("decimal", 2);
  recipe.start = 100;
  ExpectRefused(recipe, "start: 100 is not in 0 to 99");
  recipe = Sequence("decimal");
  recipe.start = kNumberEnd;
  ExpectRefused(recipe, "start: ");
  recipe = Sequence("abc");
  recipe.check = CheckSymbol::kAppended;
  ExpectRefused(recipe, "check: ");
  for (const char* const prefix : {"seventeen.symbols", "a b", "a/b", "\xc3\xa4"}) {
    recipe = Sequence("decimal");
    recipe.prefix = prefix;
    ExpectRefused(recipe, "prefix: ");
  }
  recipe = Sequence("decimal");
  recipe.blocklist = {"no"};
  ExpectRefused(recipe, "blocklist: \"no\"");
  recipe = Sequence("decimal");
  recipe.kind = static_cast<Kind>(77);
  ExpectRefused(recipe, "kind: ");
}

TEST(CodecTest, RefusesSecretsOfTheWrongSize) {
  const Recipe shuffled = DefaultRecipe(Kind::kShuffled);
  EXPECT_EQ(Codec::Make(shuffled, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Codec::Make(shuffled, std::span(kSecret).first(15)).code(), Code::kInvalidArgument);
  EXPECT_EQ(Codec::Make(DefaultRecipe(Kind::kSequence), kSecret).code(), Code::kInvalidArgument);
  EXPECT_EQ(Codec::Validate(shuffled).code(), Code::kOk);
}

TEST(CodecTest, DifferentSecretsGiveDifferentKeys) {
  const std::array<std::uint8_t, kSecretSize> other = {1};
  const Recipe recipe = DefaultRecipe(Kind::kShuffled);
  EXPECT_NE(Encode(MakeCodec(recipe), 0, 10), Encode(*Codec::Make(recipe, other), 0, 10));
}

}  // namespace
}  // namespace keymill::keys
