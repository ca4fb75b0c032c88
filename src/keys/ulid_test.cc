// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/ulid.h"

#include <array>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"
#include "base/utc_text.h"

namespace keymill::keys {
namespace {

using testing::Each;
using testing::HasSubstr;

using Random = std::array<std::uint8_t, UlidGenerator::kRandomSize>;

constexpr std::int64_t kNowMs = 1'469'922'850'259;
constexpr std::uint64_t kLowMax = 0xFFFFFFFFFFFFFFFF;

Ulid Parsed(std::string_view text) { return *ParseUlid(text); }

// The last `left` + 1 values of a millisecond's random part are all that follows.
Ulid NearTheEdge(std::int64_t time_ms, std::uint64_t left) {
  return {.high = static_cast<std::uint64_t>(time_ms) << 16 | 0xFFFF, .low = kLowMax - left};
}

std::vector<std::string> Take(UlidGenerator& generator, std::int64_t now_ms, std::uint32_t count) {
  Random random{};
  RandomBytes(random);
  std::string out(count * (kUlidTextSize + 1), '\0');
  EXPECT_TRUE(generator.Write(now_ms, count, random, "\n", out.data()).ok());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < out.size(); i += kUlidTextSize + 1) {
    lines.push_back(out.substr(i, kUlidTextSize));
    EXPECT_EQ(out[i + kUlidTextSize], '\n');
  }
  return lines;
}

Ulid TakeOne(UlidGenerator& generator, std::int64_t now_ms) {
  return Parsed(Take(generator, now_ms, 1).front());
}

TEST(UlidTest, ReadsThePublishedExamples) {
  const Ulid example = Parsed("01ARZ3NDEKTSV4RRFFQ69G5FAV");
  EXPECT_EQ(example, (Ulid{.high = 0x01563e3ab5d3d676, .low = 0x4c61efb99302bd5b}));
  EXPECT_EQ(example.time_ms(), 1'469'922'850'259);
  EXPECT_EQ(UlidText(example), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
  EXPECT_EQ(UtcText(Parsed("01ARYZ6S410000000000000000").time_ms()), "2016-07-30T22:36:16.385Z");
  EXPECT_EQ(UlidText(Parsed("0000XSNJG0MQJHBF4QX1EFD6Y3")), "0000XSNJG0MQJHBF4QX1EFD6Y3");
  EXPECT_EQ(Parsed("0000XSNJG0MQJHBF4QX1EFD6Y3").time_ms(), 1'000'000'000);
}

TEST(UlidTest, TheLargestIsAllOnes) {
  const Ulid max = Parsed("7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  EXPECT_EQ(max, (Ulid{.high = kLowMax, .low = kLowMax}));
  EXPECT_EQ(max.time_ms(), kUlidTimeEndMs - 1);
  EXPECT_EQ(UlidText(max), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  EXPECT_EQ(UlidText({}), "00000000000000000000000000");
}

TEST(UlidTest, RefusesMoreThan128Bits) {
  for (const std::string_view text :
       {"8ZZZZZZZZZZZZZZZZZZZZZZZZZ", "80000000000000000000000000", "ZZZZZZZZZZZZZZZZZZZZZZZZZZ"}) {
    const Status status = ParseUlid(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("the first character is above 7"));
  }
}

TEST(UlidTest, TakesEitherCaseAndWritesUpper) {
  EXPECT_EQ(UlidText(Parsed("01arz3ndektsv4rrffq69g5fav")), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
}

TEST(UlidTest, RefusesWhatIsNoSymbol) {
  const std::string good = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  for (int c = 0; c < 256; ++c) {
    std::string text = good;
    text[10] = static_cast<char>(c);
    const bool symbol = std::string_view("0123456789ABCDEFGHJKMNPQRSTVWXYZabcdefghjkmnpqrstvwxyz")
                            .find(static_cast<char>(c)) != std::string_view::npos;
    EXPECT_EQ(ParseUlid(text).ok(), symbol) << c;
  }
  EXPECT_THAT(ParseUlid("01ARZ3NDEKTSV4RRFFQ69G5FAU").status().message(),
              HasSubstr("character 26 is none of 0123456789ABCDEFGHJKMNPQRSTVWXYZ; it looks"));
  EXPECT_THAT(ParseUlid("01ARZ3").status().message(), HasSubstr("6 characters, not 26"));
  EXPECT_FALSE(ParseUlid(good + "0").ok());
}

TEST(UlidTest, ParsesWhatItWritesAndKeepsOrder) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low, std::uint64_t other) {
    const Ulid ulid{high, low};
    RC_ASSERT(*ParseUlid(UlidText(ulid)) == ulid);
    const Ulid second{high ^ (other & 1), other};
    RC_ASSERT((ulid < second) == (UlidText(ulid) < UlidText(second)));
  }));
}

TEST(UlidGeneratorTest, StartsAMillisecondWithTheGivenBytes) {
  UlidGenerator generator;
  const Random random = {0xd6, 0x76, 0x4c, 0x61, 0xef, 0xb9, 0x93, 0x02, 0xbd, 0x5b};
  std::string out(kUlidTextSize, '\0');
  ASSERT_TRUE(generator.Write(1'469'922'850'259, 1, random, "", out.data()).ok());
  EXPECT_EQ(out, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
}

// The specification's own example of keys of one millisecond.
TEST(UlidGeneratorTest, AddsOneWithinAMillisecond) {
  UlidGenerator generator(Parsed("01BX5ZZKBKACTAV9WEVGEMMVRY"));
  const std::int64_t now_ms = Parsed("01BX5ZZKBKACTAV9WEVGEMMVRY").time_ms();
  EXPECT_THAT(Take(generator, now_ms, 3),
              testing::ElementsAre("01BX5ZZKBKACTAV9WEVGEMMVRZ", "01BX5ZZKBKACTAV9WEVGEMMVS0",
                                   "01BX5ZZKBKACTAV9WEVGEMMVS1"));
}

TEST(UlidGeneratorTest, CarriesThroughTheWholeRandomPart) {
  UlidGenerator generator(Ulid{.high = 0x01563e3ab5d3'00FF, .low = kLowMax});
  EXPECT_EQ(TakeOne(generator, 0), (Ulid{.high = 0x01563e3ab5d3'0100, .low = 0}));
}

TEST(UlidGeneratorTest, WritesNothingBehindTheLastKey) {
  UlidGenerator generator;
  std::string out(3 * (kUlidTextSize + 2) + 8, '#');
  ASSERT_TRUE(generator.Write(kNowMs, 3, Random{}, ", ", out.data()).ok());
  EXPECT_EQ(out.substr(3 * (kUlidTextSize + 2)), "########");
  EXPECT_EQ(out.substr(kUlidTextSize, 2), ", ");
}

// A million keys in calls of all sizes, from a clock that stands, runs, leaps and steps back.
TEST(UlidGeneratorTest, AMillionKeysIncreaseStrictlyWhateverTheClockDoes) {
  UlidGenerator generator;
  constexpr std::array<std::int64_t, 9> kSteps = {1,         0,           -1,         1, -128,
                                                  3'600'000, -86'400'000, 86'400'001, 0};
  std::int64_t now_ms = kNowMs;
  std::string last;
  std::size_t keys = 0;
  for (std::uint32_t call = 0; keys < 1'000'000; ++call) {
    for (const std::string& text : Take(generator, now_ms, 1 + call % 997)) {
      ASSERT_LT(last, text) << "call " << call;
      last = text;
      ++keys;
    }
    now_ms += kSteps[call % kSteps.size()];
  }
}

TEST(UlidGeneratorTest, KeepsTheLastTimeWhenTheClockGoesBack) {
  UlidGenerator generator;
  const Ulid before = TakeOne(generator, kNowMs);
  for (const std::int64_t now_ms : {kNowMs - 1, kNowMs - 86'400'000, std::int64_t{-5}}) {
    EXPECT_EQ(TakeOne(generator, now_ms).time_ms(), kNowMs);
  }
  EXPECT_EQ(TakeOne(generator, kNowMs).low, before.low + 4);
  EXPECT_EQ(TakeOne(generator, kNowMs + 1).time_ms(), kNowMs + 1);
}

TEST(UlidGeneratorTest, AClockBefore1970CountsAs1970) {
  UlidGenerator generator;
  EXPECT_EQ(TakeOne(generator, INT64_MIN).time_ms(), 0);
}

// As the specification says: 2^80 - 1 is the last one of its millisecond. The refusal uses nothing
// up, and the next millisecond goes on.
TEST(UlidGeneratorTest, RefusesToPassTheEdgeOfTheRandomPart) {
  UlidGenerator generator(NearTheEdge(kNowMs, 2));
  std::string out(3 * kUlidTextSize, '#');
  EXPECT_EQ(generator.Write(kNowMs, 3, Random{}, "", out.data()).code(), Code::kOverloaded);
  EXPECT_THAT(out, Each('#'));
  EXPECT_EQ(Parsed(Take(generator, kNowMs, 2).back()), NearTheEdge(kNowMs, 0));
  EXPECT_EQ(generator.Write(kNowMs, 1, Random{}, "", out.data()).code(), Code::kOverloaded);
  EXPECT_EQ(generator.Write(kNowMs - 1, 1, Random{}, "", out.data()).code(), Code::kOverloaded);
  EXPECT_EQ(TakeOne(generator, kNowMs + 1).time_ms(), kNowMs + 1);
}

TEST(UlidGeneratorTest, TheEdgeCountsForRandomStartsToo) {
  UlidGenerator generator;
  Random ones{};
  ones.fill(0xFF);
  std::string out(2 * kUlidTextSize, '#');
  EXPECT_EQ(generator.Write(kNowMs, 2, ones, "", out.data()).code(), Code::kOverloaded);
  EXPECT_TRUE(generator.Write(kNowMs, 1, ones, "", out.data()).ok());
  EXPECT_EQ(Parsed(out.substr(0, kUlidTextSize)), NearTheEdge(kNowMs, 0));
}

TEST(UlidGeneratorTest, NeverWrapsAtTheEndOfTime) {
  UlidGenerator generator(NearTheEdge(kUlidTimeEndMs - 1, 1));
  EXPECT_EQ(Take(generator, kNowMs, 1).front(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  std::string out(kUlidTextSize, '#');
  EXPECT_EQ(generator.Write(kNowMs, 1, Random{}, "", out.data()).code(), Code::kExhausted);

  UlidGenerator fresh;
  EXPECT_EQ(fresh.Write(kUlidTimeEndMs, 1, Random{}, "", out.data()).code(), Code::kExhausted);
  EXPECT_THAT(out, Each('#'));
  EXPECT_EQ(TakeOne(fresh, kNowMs).time_ms(), kNowMs);  // The wrong clock left no trace.
}

}  // namespace
}  // namespace keymill::keys
