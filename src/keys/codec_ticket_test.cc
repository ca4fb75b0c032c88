// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Tickets: authorities that never talk to each other must never give the same key.

#include <array>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "keys/codec.h"
#include "keys/recipe_fields.h"

namespace keymill::keys {
namespace {

using testing::HasSubstr;

using Secret = std::array<std::uint8_t, kSecretSize>;

Secret RandomSecret() {
  Secret secret{};
  RandomBytes(secret);
  return secret;
}

Recipe Ticket(Kind counter, std::string alphabet, std::uint32_t length, std::uint32_t stride,
              std::uint32_t offset) {
  Recipe recipe = DefaultRecipe(Kind::kTicket);
  recipe.counter = counter;
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  recipe.stride = stride;
  recipe.offset = offset;
  return recipe;
}

Codec MakeCodec(const Recipe& recipe, const Secret& secret = RandomSecret()) {
  const Result<std::uint64_t> end = Codec::EndOf(recipe);
  EXPECT_TRUE(end.ok()) << end.status().message();
  return *Codec::Make(recipe, std::span(secret).first(HasSecret(recipe) ? kSecretSize : 0));
}

std::string Encode(const Codec& codec, std::uint64_t first, std::uint32_t count = 1,
                   std::string_view after = "") {
  std::string out(count * (codec.size_max() + after.size()), '\0');
  out.resize(codec.Encode(first, count, after, out.data()).bytes);
  return out;
}

void ExpectRefused(const Recipe& recipe, std::string_view message) {
  const Status status = ValidateRecipe(recipe);
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << message;
  EXPECT_THAT(status.message(), HasSubstr(message));
}

TEST(CodecTicketTest, ASequenceHasEveryStridethNumber) {
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kSequence, "decimal", 0, 2, 1)), 0, 4, " "), "1 3 5 7 ");
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kSequence, "decimal", 0, 2, 2)), 0, 4, " "), "2 4 6 8 ");
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kSequence, "decimal", 4, 10, 7)), 99, 2, " "),
            "0997 1007 ");
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kSequence, "decimal", 0, 1, 1)), 0, 3, " "), "1 2 3 ");
}

// Keys that are out in the world. Add to them; never change one.
TEST(CodecTicketTest, ShuffledTicketsAreWhatTheyAlwaysWere) {
  const Secret secret = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kShuffled, "base62", 7, 1, 1), secret), 0, 2, " "),
            "9d6UNo0 83y2n5Z ");  // As without a stride.
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kShuffled, "base62", 7, 2, 1), secret), 0, 3, " "),
            "5U2f9to RamWlTw E2aVLeW ");
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kShuffled, "base62", 7, 2, 2), secret), 0, 3, " "),
            "5U2f9tp RamWlTx E2aVLeX ");
  EXPECT_EQ(Encode(MakeCodec(Ticket(Kind::kShuffled, "decimal", 19, 1000, 77), secret), 5, 1, " "),
            "3651226953335901076 ");
}

// Every key of every authority, each with a secret of its own: no key twice, and it decodes with
// its own codec and with no other.
void ExpectApart(Kind counter, const std::string& alphabet, std::uint32_t length,
                 std::uint32_t stride) {
  SCOPED_TRACE(testing::Message() << alphabet << "^" << length << ", stride " << stride);
  constexpr std::uint64_t kDecodeEvery = 7;
  std::uint64_t texts = 1;
  for (std::uint32_t i = 0; i < length; ++i) texts *= alphabet.size();
  std::vector<bool> seen(texts);
  std::vector<Codec> codecs;
  for (std::uint32_t offset = 1; offset <= stride; ++offset) {
    codecs.push_back(MakeCodec(Ticket(counter, alphabet, length, stride, offset)));
  }
  for (std::size_t own = 0; own < codecs.size(); ++own) {
    const Codec& codec = codecs[own];
    const auto count = static_cast<std::uint32_t>(codec.end());
    const std::string keys = Encode(codec, 0, count);
    ASSERT_EQ(keys.size(), count * std::size_t{length});
    for (std::uint64_t index = 0; index < count; ++index) {
      const std::string_view key = std::string_view(keys).substr(index * length, length);
      std::uint64_t value = 0;
      for (const char c : key) value = value * alphabet.size() + alphabet.find(c);
      ASSERT_FALSE(seen[value]) << key;
      seen[value] = true;
      if (index % kDecodeEvery != 0) continue;
      const Result<std::uint64_t> decoded = codec.Decode(key);
      ASSERT_TRUE(decoded.ok()) << key << ": " << decoded.status().message();
      ASSERT_EQ(*decoded, index);
      const std::size_t next = (own + 1) % codecs.size();
      ASSERT_EQ(codecs[next].Decode(key).code(), Code::kInvalidArgument);
    }
  }
}

TEST(CodecTicketTest, AuthoritiesWithDifferentSecretsNeverMeet) {
  ExpectApart(Kind::kSequence, "0123456789", 5, 2);
  ExpectApart(Kind::kSequence, "0123456789", 5, 7);
  ExpectApart(Kind::kSequence, "abcdefgh", 5, 1000);
  // About the smallest domains that are allowed, whole.
  ExpectApart(Kind::kShuffled, "01", 21, 2);
  ExpectApart(Kind::kShuffled, "012", 14, 2);  // 2187 is not a multiple of 2.
}

// Also with strides that differ: what counts is the offset modulo what they have in common.
TEST(CodecTicketTest, StridesWithACommonDivisorStayApart) {
  for (const Kind counter : {Kind::kSequence, Kind::kShuffled}) {
    const Codec every_fourth = MakeCodec(Ticket(counter, "decimal", 8, 4, 3));
    const Codec every_sixth = MakeCodec(Ticket(counter, "decimal", 8, 6, 2));
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < 100'000; ++i) {
      ASSERT_TRUE(seen.insert(Encode(every_fourth, i)).second);
      ASSERT_TRUE(seen.insert(Encode(every_sixth, i)).second);
    }
  }
}

TEST(CodecTicketTest, ManyKeysAreTheKeysOneByOne) {
  Recipe dressed = Ticket(Kind::kSequence, "base32", 0, 1000, 999);
  dressed.prefix = "t-";
  dressed.check = CheckSymbol::kAppended;
  Recipe blocked = Ticket(Kind::kSequence, "decimal", 0, 3, 1);
  blocked.blocklist = {"100"};
  for (const Recipe& recipe :
       {Ticket(Kind::kSequence, "decimal", 0, 2, 2), Ticket(Kind::kSequence, "01", 0, 5, 4),
        Ticket(Kind::kSequence, "base62", 7, 9, 9), Ticket(Kind::kSequence, "hex", 20, 3, 1),
        Ticket(Kind::kSequence, "decimal", 0, 1, 1),
        Ticket(Kind::kSequence, "decimal", 0, 999'983, 5),
        Ticket(Kind::kShuffled, "base62", 7, 12, 5), dressed, blocked}) {
    const Codec codec = MakeCodec(recipe);
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{49'900}, codec.end() - 300}) {
      std::string one_by_one;
      for (std::uint64_t i = 0; i < 300; ++i) one_by_one += Encode(codec, first + i, 1, "\n");
      EXPECT_EQ(Encode(codec, first, 300, "\n"), one_by_one)
          << recipe.alphabet << " " << recipe.stride << " " << first;
    }
  }
}

TEST(CodecTicketTest, IndicesEndWhereNumbersWouldNotFit) {
  const auto end = [](Kind counter, std::uint32_t length, std::uint32_t stride,
                      std::uint32_t offset) {
    return *Codec::EndOf(Ticket(counter, "decimal", length, stride, offset));
  };
  EXPECT_EQ(end(Kind::kSequence, 1, 2, 1), 5U);  // 1 3 5 7 9
  EXPECT_EQ(end(Kind::kSequence, 1, 2, 2), 4U);  // 2 4 6 8
  EXPECT_EQ(end(Kind::kSequence, 1, 9, 9), 1U);
  EXPECT_EQ(end(Kind::kSequence, 0, 1, 1), kNumberEnd - 1);
  EXPECT_EQ(end(Kind::kSequence, 0, 1'000'000, 1'000'000), 9'223'372'036'854U);
  EXPECT_EQ(end(Kind::kShuffled, 8, 3, 3), 10'000U * 3'333);
  EXPECT_EQ(end(Kind::kShuffled, 20, 2, 1), (kNumberEnd - 2) / 2 + 1);
  for (const Kind counter : {Kind::kSequence, Kind::kShuffled}) {
    const Codec codec = MakeCodec(Ticket(counter, "decimal", 20, 999'999, 3));
    EXPECT_LT(codec.NumberOf(codec.end() - 1), kNumberEnd);
    EXPECT_GE(codec.NumberOf(codec.end()), kNumberEnd);
    EXPECT_EQ(*codec.Decode(Encode(codec, codec.end() - 1)), codec.end() - 1);
  }
}

TEST(CodecTicketTest, RefusesWhatItCannotKeepApart) {
  ExpectRefused(Ticket(Kind::kSequence, "decimal", 0, 0, 1), "stride: 0 is not in 1 to 1000000");
  ExpectRefused(Ticket(Kind::kSequence, "decimal", 0, 1'000'001, 1), "stride: 1000001");
  ExpectRefused(Ticket(Kind::kSequence, "decimal", 0, 2, 0), "offset: 0 is not in 1 to 2");
  ExpectRefused(Ticket(Kind::kSequence, "decimal", 0, 2, 3), "offset: 3 is not in 1 to 2");
  ExpectRefused(Ticket(Kind::kSequence, "decimal", 1, 20, 10), "offset: 10 does not fit 1 symbols");
  ExpectRefused(Ticket(Kind::kShuffled, "decimal", 5, 2, 1), "length: 5 is not in 6 to");
  ExpectRefused(Ticket(Kind::kShuffled, "decimal", 6, 2, 1),
                "use length 7, or a stride of at most 1");
  ExpectRefused(Ticket(Kind::kShuffled, "base62", 7, 20'000, 1),
                "use length 9, or a stride of at most 14776");
  ExpectRefused(Ticket(Kind::kUuid4, "decimal", 0, 2, 1), "counter: neither");
  Recipe late = Ticket(Kind::kSequence, "decimal", 1, 2, 2);
  late.start = 4;
  ExpectRefused(late, "start: 4 is not in 0 to 3");
}

TEST(CodecTicketTest, DecodeSaysWhoseKeyItIs) {
  const auto why = [](const Codec& codec, std::string_view key) {
    const Result<std::uint64_t> index = codec.Decode(key);
    EXPECT_EQ(index.code(), Code::kInvalidArgument) << key;
    return index.status().message();
  };
  const Codec even = MakeCodec(Ticket(Kind::kSequence, "decimal", 0, 2, 2));
  EXPECT_EQ(*even.Decode("2"), 0U);
  EXPECT_EQ(*even.Decode("1000"), 499U);
  EXPECT_EQ(why(even, "7"), "key: is of offset 1, and this keyspace has offset 2 of 2");
  EXPECT_THAT(why(even, "0"), HasSubstr("outside this keyspace"));
  const Codec third = MakeCodec(Ticket(Kind::kShuffled, "decimal", 8, 3, 3));
  EXPECT_EQ(why(third, "12340001"), "key: is of offset 2, and this keyspace has offset 3 of 3");
  EXPECT_EQ(why(third, "12349999"), "key: is of offset 1, and this keyspace has offset 3 of 3");
  // 9999 = 3333 * 3 is what the division leaves over.
  const Codec first = MakeCodec(Ticket(Kind::kShuffled, "decimal", 8, 3, 1));
  EXPECT_THAT(why(first, "12349999"), HasSubstr("outside this keyspace"));
}

RC_GTEST_PROP(CodecTicketProperty, DecodesWhatItEncodes, ()) {
  const Kind counter = *rc::gen::element(Kind::kSequence, Kind::kShuffled);
  const auto stride = *rc::gen::inRange<std::uint32_t>(1, 10'000);
  const auto offset = *rc::gen::inRange<std::uint32_t>(1, stride + 1);
  const auto length = *rc::gen::inRange<std::uint32_t>(8, 15);
  const Codec codec = MakeCodec(Ticket(counter, "base62", length, stride, offset));
  const auto index = *rc::gen::inRange<std::uint64_t>(0, codec.end());
  RC_ASSERT(*codec.Decode(Encode(codec, index)) == index);
}

}  // namespace
}  // namespace keymill::keys
