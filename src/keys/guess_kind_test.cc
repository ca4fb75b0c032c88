// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/guess_kind.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "keys/alphabet.h"
#include "keys/check_symbol.h"
#include "keys/uuid.h"

namespace keymill::keys {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kNowMs = 1'790'000'000'000;  // 2026-09-21

// "likely uuid7" and so on, in order.
std::vector<std::string> Guesses(std::string_view text) {
  std::vector<std::string> guesses;
  for (const KindGuess& guess : GuessKinds(text, kNowMs)) {
    guesses.push_back(std::string(LikelihoodName(guess.likelihood)) + " " + guess.what);
  }
  return guesses;
}

// The reason for `what`, or nothing.
std::string Reason(std::string_view text, std::string_view what) {
  for (const KindGuess& guess : GuessKinds(text, kNowMs)) {
    if (guess.what == what) return guess.reason;
  }
  return "";
}

TEST(GuessKindTest, KnowsUuids) {
  EXPECT_THAT(Guesses("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), ElementsAre("likely uuid7"));
  EXPECT_EQ(Reason("017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "uuid7"),
            "the form of a UUID, version 7, made at 2022-02-22T19:22:22.000Z");
  EXPECT_THAT(Guesses("C232AB00-9414-11EC-B3C8-9F6BDECED846"), ElementsAre("likely uuid1"));
  EXPECT_THAT(Guesses("1EC9414C-232A-6B00-B3C8-9F6BDECED846"), ElementsAre("likely uuid6"));
  EXPECT_EQ(Reason("919108f7-52d1-4320-9bac-f847db4148a8", "uuid4"),
            "the form of a UUID, version 4, which tells no time");
  EXPECT_THAT(Guesses("00000000-0000-0000-0000-000000000000"), ElementsAre("likely uuid"));
  EXPECT_THAT(Guesses("ffffffff-ffff-ffff-ffff-ffffffffffff"), ElementsAre("likely uuid"));
}

TEST(GuessKindTest, AnOddTimeMakesAUuidUnlikely) {
  EXPECT_THAT(Guesses(UuidText(MakeUuid7(1, 0, 0))), ElementsAre("unlikely uuid7"));
  EXPECT_THAT(Reason(UuidText(MakeUuid7(1, 0, 0)), "uuid7"), HasSubstr("which is before 2010"));
}

TEST(GuessKindTest, KnowsUlids) {
  EXPECT_EQ(Guesses("01ARZ3NDEKTSV4RRFFQ69G5FAV").front(), "likely ulid");
  EXPECT_EQ(Guesses("01arz3ndektsv4rrffq69g5fav").front(), "likely ulid");
  EXPECT_THAT(Guesses("01ARZ3NDEKTSV4RRFFQ69G5FAV"), Contains("possible base32"));
  EXPECT_THAT(Reason("01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid"),
              HasSubstr("made at 2016-07-30T23:54:10.259Z"));
  EXPECT_THAT(Guesses("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), Contains("unlikely ulid"));
  EXPECT_THAT(Guesses("8ZZZZZZZZZZZZZZZZZZZZZZZZZ"), Not(Contains(HasSubstr("ulid"))));
}

// Discord's example makes sense as every layout of that shape, so each is told with its time.
TEST(GuessKindTest, TellsWhatANumberMeansInEachLayout) {
  const std::string_view id = "175928847299117063";
  EXPECT_THAT(Reason(id, "snowflake (discord)"),
              HasSubstr("by worker 1, process 0, increment 7, at 2016-04-30T11:18:25.796Z"));
  EXPECT_THAT(Reason(id, "snowflake (default)"),
              HasSubstr("as 41/10/12 was made by worker 32, sequence 7, at 2026-05-01"));
  EXPECT_THAT(Reason(id, "snowflake (twitter)"), HasSubstr("at 2012-03-"));
  EXPECT_THAT(Reason(id, "snowflake (instagram)"), HasSubstr("at 2012-04-"));
  EXPECT_EQ(Reason(id, "snowflake (javascript)"), "");  // More than 53 bits.
}

// Leaf's example of 2019: in our layout it would be made years from now.
TEST(GuessKindTest, PutsTimesThatMakeSenseFirst) {
  const auto guesses = Guesses("1169786042799259000");
  EXPECT_EQ(guesses.front(), "likely snowflake (twitter)");
  EXPECT_THAT(guesses, Contains("unlikely snowflake (default)"));
  EXPECT_THAT(Reason("1169786042799259000", "snowflake (default)"),
              HasSubstr("which is more than a year ahead"));
  EXPECT_LT(std::find(guesses.begin(), guesses.end(), "likely snowflake (discord)"),
            std::find(guesses.begin(), guesses.end(), "possible decimal"));
  EXPECT_LT(std::find(guesses.begin(), guesses.end(), "possible decimal"),
            std::find(guesses.begin(), guesses.end(), "unlikely snowflake (default)"));
}

TEST(GuessKindTest, TheBordersOfSenseAreThoseOfTheHeader) {
  const auto likelihood = [](std::int64_t time_ms) {
    return GuessKinds(UuidText(MakeUuid7(time_ms, 0, 0)), kNowMs).front().likelihood;
  };
  EXPECT_EQ(likelihood(1'262'304'000'000), Likelihood::kLikely);  // 2010-01-01
  EXPECT_EQ(likelihood(1'262'303'999'999), Likelihood::kUnlikely);
  EXPECT_EQ(likelihood(kNowMs + 31'557'600'000), Likelihood::kLikely);
  EXPECT_EQ(likelihood(kNowMs + 31'557'600'001), Likelihood::kUnlikely);
}

TEST(GuessKindTest, SmallNumbersAreRatherCounters) {
  EXPECT_EQ(Guesses("12345").front(), "possible decimal");
  EXPECT_THAT(Guesses("12345"), Contains("unlikely snowflake (twitter)"));
  EXPECT_THAT(Reason("12345", "snowflake (twitter)"), HasSubstr("rather a plain number"));
}

TEST(GuessKindTest, NumbersThatAreNoIdsAreNoSnowflakes) {
  for (const std::string_view text :
       {"0175928847299117063", "99999999999999999999", "-5", "+5", "5.", " 5"}) {
    EXPECT_THAT(Guesses(text), Not(Contains(HasSubstr("snowflake")))) << text;
  }
  // The sign bit is Discord's alone.
  EXPECT_THAT(Guesses("18446744073709551615"), Contains(HasSubstr("(discord)")));
  EXPECT_THAT(Guesses("18446744073709551615"), Not(Contains(HasSubstr("(twitter)"))));
}

TEST(GuessKindTest, ListsTheAlphabetsThatFitNarrowestFirst) {
  EXPECT_THAT(Guesses("0LxIBrE"), ElementsAre("possible base62", "possible base64url"));
  EXPECT_THAT(Guesses("a0l"),
              ElementsAre("possible base36", "possible base62", "possible base64url"));
  EXPECT_THAT(Guesses("-aB"), ElementsAre("possible base64url"));
}

TEST(GuessKindTest, AWideAlphabetIsUnlikelyWhereANarrowOneDoes) {
  EXPECT_THAT(Guesses("c0ffee00c0ffee00"), ElementsAre("possible hex", "unlikely base36",
                                                       "unlikely base62", "unlikely base64url"));
  EXPECT_THAT(Reason("c0ffee00c0ffee00", "base62"), HasSubstr("has symbols of hex only"));
}

// The published values of Crockford's check symbol: 1234 is 16J with D, 32 is 10 with *.
TEST(GuessKindTest, LooksAtTheCheckSymbol) {
  EXPECT_EQ(Reason("16JD", "base32"),
            "4 symbols of base32, the last one right as a check symbol (by chance 1 in 32)");
  EXPECT_EQ(Reason("16JE", "base32"), "4 symbols of base32, the last one wrong as a check symbol");
  EXPECT_EQ(Reason("10*", "base32"), "2 symbols of base32 and a check symbol that is right");
  EXPECT_EQ(Reason("10~", "base32"), "");
  EXPECT_THAT(Reason("07945", "decimal"), HasSubstr("right as a check symbol (by chance 1 in 10)"));
}

TEST(GuessKindTest, KeysHaveAtMost32SymbolsAndACheckSymbol) {
  const std::string body(32, '0');
  EXPECT_THAT(Guesses(body), Contains("possible decimal"));
  const char right = ComputeCheckSymbol(*Alphabet::Parse("decimal"), body);
  EXPECT_THAT(Guesses(body + right), Contains("possible decimal"));
  EXPECT_THAT(Guesses(body + (right == '0' ? '1' : '0')), Not(Contains("possible decimal")));
  EXPECT_THAT(Guesses(std::string(97, '0')), IsEmpty());
}

TEST(GuessKindTest, LooksBehindAPrefix) {
  const auto guesses = GuessKinds("ord_0LxIBrE", kNowMs);
  EXPECT_EQ(guesses.front().what, "base62");
  EXPECT_THAT(guesses.front().reason, StartsWith("after the prefix ord_: 7 symbols of base62"));
  EXPECT_EQ(guesses.back().what, "base64url");  // As a whole it is that.
  EXPECT_EQ(Guesses("usr_017f22e2-79b0-7cc3-98c4-dc0c0c07398f").front(), "likely uuid7");
  EXPECT_THAT(Reason("eu-ord_16JD", "base32"), StartsWith("after the prefix eu-ord_: 4 symbols"));
  EXPECT_THAT(Guesses("a.prefix.of.18.char_16JD"), Not(Contains(HasSubstr("base32"))));
}

TEST(GuessKindTest, GuessesNothingWhereNothingFits) {
  for (const std::string_view text : {"", "a b", "\xC3\xBC", "!", "ord_!"}) {
    EXPECT_THAT(GuessKinds(text, kNowMs), IsEmpty()) << text;
  }
}

// Whatever the bytes and the clock: one line each, likely ones first.
TEST(GuessKindTest, GivesAReasonForEachAndKeepsTheOrder) {
  EXPECT_TRUE(rc::check([](std::int64_t now_ms) {
    const auto text = *rc::gen::container<std::string>(
        rc::gen::oneOf(rc::gen::inRange<char>('0', '9'), rc::gen::inRange<char>('a', 'z'),
                       rc::gen::just('_'), rc::gen::arbitrary<char>()));
    const auto guesses = GuessKinds(text, now_ms);
    RC_ASSERT(std::is_sorted(
        guesses.begin(), guesses.end(),
        [](const KindGuess& a, const KindGuess& b) { return a.likelihood < b.likelihood; }));
    for (const KindGuess& guess : guesses) {
      RC_ASSERT(!guess.what.empty() && !guess.reason.empty());
      RC_ASSERT(guess.reason.find('\n') == std::string::npos);
    }
  }));
}

}  // namespace
}  // namespace keymill::keys
