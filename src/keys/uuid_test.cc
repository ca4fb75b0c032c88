// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/uuid.h"

#include <algorithm>
#include <array>
#include <set>
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
using testing::SizeIs;

constexpr std::int64_t kNowMs = 1'645'557'742'000;
constexpr std::uint64_t kCounterLast = (std::uint64_t{1} << 42) - 1;

Uuid Parsed(std::string_view text) { return *ParseUuid(text); }

// Where the counter of a version 7 stands, by the RFC's fields.
std::uint64_t CounterOf(const Uuid& uuid) {
  return (uuid.high & 0xFFF) << 30 | (uuid.low >> 32 & 0x3FFFFFFF);
}

Uuid WithCounter(std::int64_t time_ms, std::uint64_t counter) {
  return MakeUuid7(time_ms, static_cast<std::uint32_t>(counter >> 30),
                   (counter & 0x3FFFFFFF) << 32);
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < text.size(); i += kUuidTextSize + 1) {
    lines.push_back(text.substr(i, kUuidTextSize));
    EXPECT_EQ(text[i + kUuidTextSize], '\n');
  }
  return lines;
}

std::vector<std::string> Take(Uuid7Generator& generator, std::int64_t now_ms, std::uint32_t count) {
  std::vector<std::uint8_t> random(Uuid7Generator::RandomSize(count));
  RandomBytes(random);
  std::string out(count * (kUuidTextSize + 1), '\0');
  EXPECT_TRUE(generator.Write(now_ms, count, random, "\n", out.data()).ok());
  return Lines(out);
}

Uuid TakeOne(Uuid7Generator& generator, std::int64_t now_ms) {
  return Parsed(Take(generator, now_ms, 1).front());
}

// The examples of the RFC's appendices.
struct Vector {
  std::string_view text;
  std::uint32_t version;
};
constexpr std::array<Vector, 8> kVectors = {{
    {"C232AB00-9414-11EC-B3C8-9F6BDECED846", 1},
    {"5df41881-3aed-3515-88a7-2f4a814cf09e", 3},
    {"919108f7-52d1-4320-9bac-f847db4148a8", 4},
    {"2ed6657d-e927-568b-95e1-2665a8aea6a2", 5},
    {"1EC9414C-232A-6B00-B3C8-9F6BDECED846", 6},
    {"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", 7},
    {"2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", 8},
    {"5c146b14-3c52-8afd-938a-375d0df1fbf6", 8},
}};

TEST(UuidTest, ReadsTheExamplesOfTheRfc) {
  for (const Vector& vector : kVectors) {
    const Uuid uuid = Parsed(vector.text);
    EXPECT_EQ(VariantOf(uuid), UuidVariant::kRfc9562) << vector.text;
    EXPECT_EQ(VersionOf(uuid), vector.version) << vector.text;
    std::string lower(vector.text);
    std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
    EXPECT_EQ(UuidText(uuid), lower);
  }
}

// All three of the RFC's examples with a time were made at 2022-02-22T19:22:22Z.
TEST(UuidTest, TellsTheTimeOfVersions1And6And7) {
  for (const Vector& vector : kVectors) {
    const auto time_ms = TimeMsOf(Parsed(vector.text));
    const bool timed = vector.version == 1 || vector.version == 6 || vector.version == 7;
    ASSERT_EQ(time_ms.has_value(), timed) << vector.text;
    if (timed) {
      EXPECT_EQ(UtcText(*time_ms), "2022-02-22T19:22:22.000Z") << vector.text;
    }
  }
}

TEST(UuidTest, TimesBefore1970AreNegative) {
  EXPECT_EQ(UtcText(*TimeMsOf(Parsed("00000000-0000-1000-8000-000000000000"))),
            "1582-10-15T00:00:00.000Z");
  EXPECT_EQ(UtcText(*TimeMsOf(Parsed("00000000-0000-6000-8000-000000000000"))),
            "1582-10-15T00:00:00.000Z");
  // One step of 100 ns before 1970 is in the last millisecond of 1969.
  EXPECT_EQ(TimeMsOf(Parsed("13813fff-1dd2-11b2-8000-000000000000")), -1);
  EXPECT_EQ(TimeMsOf(Parsed("13814000-1dd2-11b2-8000-000000000000")), 0);
}

TEST(UuidTest, ComposesTheRfcsVersion7) {
  EXPECT_EQ(UuidText(MakeUuid7(1'645'557'742'000, 0xCC3, 0x18C4DC0C0C07398F)),
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(UuidTest, ComposesTheRfcsVersion4WhateverStandsInItsFixedBits) {
  std::array<std::uint8_t, 16> random = {0x91, 0x91, 0x08, 0xf7, 0x52, 0xd1, 0x03, 0x20,
                                         0x1b, 0xac, 0xf8, 0x47, 0xdb, 0x41, 0x48, 0xa8};
  EXPECT_EQ(UuidText(MakeUuid4(random)), "919108f7-52d1-4320-9bac-f847db4148a8");
  random[6] |= 0xF0;
  random[8] |= 0xC0;
  EXPECT_EQ(UuidText(MakeUuid4(random)), "919108f7-52d1-4320-9bac-f847db4148a8");
}

TEST(UuidTest, NilAndMaxHaveNoVersion) {
  const Uuid nil = Parsed("00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(nil, Uuid{});
  EXPECT_EQ(VariantOf(nil), UuidVariant::kNcs);
  EXPECT_EQ(VersionOf(nil), 0U);
  const Uuid max = Parsed("ffffffff-ffff-ffff-ffff-ffffffffffff");
  EXPECT_EQ(VariantOf(max), UuidVariant::kFuture);
  EXPECT_EQ(VersionOf(max), 0U);
  EXPECT_EQ(TimeMsOf(max), std::nullopt);
  EXPECT_EQ(VariantOf(Parsed("00000000-0000-1000-c000-000000000000")), UuidVariant::kMicrosoft);
}

TEST(UuidTest, RefusesEverythingButTheOneForm) {
  const auto refusal = [](std::string_view text) {
    const Status status = ParseUuid(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
    return status.message();
  };
  EXPECT_THAT(refusal(""), HasSubstr("0 characters, not 36"));
  EXPECT_THAT(refusal("017f22e279b07cc398c4dc0c0c07398f"), HasSubstr("32 characters, not 36"));
  EXPECT_THAT(refusal("{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}"), HasSubstr("38 characters"));
  EXPECT_THAT(refusal("017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n"), HasSubstr("37 characters"));
  EXPECT_THAT(refusal("017f22e2-79b0-7cc3-98c4-dc0c0c07398g"),
              HasSubstr("character 36 is no hexadecimal digit; it looks like"));
  EXPECT_THAT(refusal("017f22e2-79b0-7cc3+98c4-dc0c0c07398f"), HasSubstr("19 is no hyphen"));
  EXPECT_THAT(refusal("017f22e-279b0-7cc3-98c4-dc0c0c07398f"), HasSubstr("character 8 is no hex"));
}

TEST(UuidTest, ParsesWhatItWritesAndKeepsOrder) {
  EXPECT_TRUE(rc::check([](std::uint64_t high, std::uint64_t low, std::uint64_t other) {
    const Uuid uuid{high, low};
    RC_ASSERT(*ParseUuid(UuidText(uuid)) == uuid);
    const Uuid second{high ^ (other & 1), other};
    RC_ASSERT((uuid < second) == (UuidText(uuid) < UuidText(second)));
  }));
}

TEST(UuidTest, WritesVersion4sInBulk) {
  std::array<std::uint8_t, 48> random{};
  RandomBytes(random);
  std::string out(3 * (kUuidTextSize + 2) + 1, '#');
  WriteUuid4s(random, "\r\n", out.data());
  std::string expected;
  for (std::size_t i = 0; i < 3; ++i) {
    expected += UuidText(MakeUuid4(std::span(random).subspan(i * 16).first<16>())) + "\r\n";
  }
  EXPECT_EQ(out, expected + "#");
}

TEST(Uuid7GeneratorTest, KeysAreVersion7OfTheMillisecond) {
  Uuid7Generator generator;
  for (const std::string& text : Take(generator, kNowMs, 100)) {
    EXPECT_EQ(VersionOf(Parsed(text)), 7U);
    EXPECT_EQ(TimeMsOf(Parsed(text)), kNowMs);
  }
}

TEST(Uuid7GeneratorTest, TakesEveryBitFromWhereItSaid) {
  Uuid7Generator generator;
  const std::array<std::uint8_t, 14> random = {0xFF, 0xFF, 0x23, 0x45, 0x67, 0x89, 0xAA,
                                               0xBB, 0xCC, 0xDD, 0x01, 0x02, 0x03, 0x04};
  std::string out(2 * kUuidTextSize, '\0');
  ASSERT_TRUE(generator.Write(kNowMs, 2, random, "", out.data()).ok());
  const Uuid first = Parsed(out.substr(0, kUuidTextSize));
  const Uuid second = Parsed(out.substr(kUuidTextSize));
  EXPECT_EQ(CounterOf(first), 0xFFFF23456789U % (std::uint64_t{1} << 41));
  EXPECT_EQ(CounterOf(second), CounterOf(first) + 1);
  EXPECT_EQ(first.low & 0xFFFFFFFF, 0xAABBCCDDU);
  EXPECT_EQ(second.low & 0xFFFFFFFF, 0x01020304U);
}

TEST(Uuid7GeneratorTest, WritesNothingBehindTheLastKey) {
  Uuid7Generator generator;
  const std::vector<std::uint8_t> random(Uuid7Generator::RandomSize(3));
  std::string out(3 * (kUuidTextSize + 2) + 8, '#');
  ASSERT_TRUE(generator.Write(kNowMs, 3, random, ", ", out.data()).ok());
  EXPECT_EQ(out.substr(3 * (kUuidTextSize + 2)), "########");
  EXPECT_EQ(out.substr(kUuidTextSize, 2), ", ");
}

// A million keys in calls of all sizes, from a clock that stands, runs, leaps and steps back.
TEST(Uuid7GeneratorTest, AMillionKeysIncreaseStrictlyWhateverTheClockDoes) {
  Uuid7Generator generator;
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

TEST(Uuid7GeneratorTest, KeepsTheLastTimeWhenTheClockGoesBack) {
  Uuid7Generator generator;
  const Uuid before = TakeOne(generator, kNowMs);
  for (const std::int64_t now_ms : {kNowMs - 1, kNowMs - 86'400'000, std::int64_t{-5}}) {
    EXPECT_EQ(TimeMsOf(TakeOne(generator, now_ms)), kNowMs);
  }
  EXPECT_EQ(CounterOf(TakeOne(generator, kNowMs)), CounterOf(before) + 4);
  EXPECT_EQ(TimeMsOf(TakeOne(generator, kNowMs + 1)), kNowMs + 1);
}

TEST(Uuid7GeneratorTest, AClockBefore1970CountsAs1970) {
  Uuid7Generator generator;
  EXPECT_EQ(TimeMsOf(TakeOne(generator, -1)), 0);
  EXPECT_EQ(TimeMsOf(TakeOne(generator, INT64_MIN)), 0);
}

TEST(Uuid7GeneratorTest, AFullCounterTakesTheTimeForward) {
  const Uuid last = WithCounter(kNowMs, kCounterLast - 2);
  Uuid7Generator generator(last);
  const std::vector<std::string> keys = Take(generator, kNowMs, 5);
  EXPECT_LT(UuidText(last), keys.front());
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_THAT(std::set<std::string>(keys.begin(), keys.end()), SizeIs(5));
  EXPECT_EQ(CounterOf(Parsed(keys[1])), kCounterLast);
  EXPECT_EQ(TimeMsOf(Parsed(keys[1])), kNowMs);
  EXPECT_EQ(TimeMsOf(Parsed(keys[2])), kNowMs + 1);
  EXPECT_LT(CounterOf(Parsed(keys[4])), kCounterLast / 2 + 3);
  EXPECT_EQ(TimeMsOf(TakeOne(generator, kNowMs)), kNowMs + 1);  // Still ahead of the clock.
}

TEST(Uuid7GeneratorTest, GoesOnAboveAGivenKey) {
  EXPECT_TRUE(rc::check([](std::uint32_t rand_a, std::uint64_t rand_b, std::int64_t step) {
    const Uuid last = MakeUuid7(kNowMs, rand_a & 0xFFF, rand_b >> 2);
    Uuid7Generator generator(last);
    RC_ASSERT(last < TakeOne(generator, kNowMs + step % 10));
  }));
}

// The end of time is an error that changes nothing; what fits before it is still made.
TEST(Uuid7GeneratorTest, NeverWrapsAtTheEndOfTime) {
  Uuid7Generator generator(WithCounter(kUuidTimeEndMs - 1, kCounterLast - 1));
  const std::vector<std::uint8_t> random(Uuid7Generator::RandomSize(2));
  std::string out(2 * kUuidTextSize, '#');
  EXPECT_EQ(generator.Write(kNowMs, 2, random, "", out.data()).code(), Code::kExhausted);
  EXPECT_THAT(out, Each('#'));
  EXPECT_EQ(CounterOf(TakeOne(generator, kNowMs)), kCounterLast);
  EXPECT_EQ(generator.Write(kNowMs, 1, random, "", out.data()).code(), Code::kExhausted);

  Uuid7Generator fresh;
  EXPECT_EQ(fresh.Write(kUuidTimeEndMs, 1, random, "", out.data()).code(), Code::kExhausted);
  EXPECT_EQ(TimeMsOf(TakeOne(fresh, kNowMs)), kNowMs);  // The wrong clock left no trace.
}

}  // namespace
}  // namespace keymill::keys
