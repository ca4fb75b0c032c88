// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/plan.h"

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys/alphabet.h"
#include "keys/codec.h"

namespace keymill::keys {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Recipe Make(Kind kind, std::string alphabet, std::uint32_t length) {
  Recipe recipe = DefaultRecipe(kind);
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  return recipe;
}

Plan PlanOf(const Recipe& recipe, double rate = 0) {
  Result<Plan> plan = MakePlan(recipe, rate);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *std::move(plan) : Plan();
}

std::vector<std::string_view> Warnings(const Plan& plan) {
  std::vector<std::string_view> names;
  for (const PlanWarning& warning : plan.warnings) names.push_back(PlanWarningName(warning.kind));
  return names;
}

TEST(PlanTest, SevenSymbolsOfBase62AtAThousandASecond) {
  const Plan plan = PlanOf(DefaultRecipe(Kind::kShuffled), 1000);
  EXPECT_EQ(plan.capacity, 3'521'614'606'208U);
  EXPECT_EQ(plan.texts, 3'521'614'606'208.0);
  EXPECT_EQ(plan.size_min, 7U);
  EXPECT_EQ(plan.size_max, 7U);
  EXPECT_NEAR(*plan.lifetime_seconds / kYearSeconds, 111.6, 0.1);
  EXPECT_NEAR(1 / *plan.guess_after_year, 111.6, 0.1);
  EXPECT_DOUBLE_EQ(*plan.guess_half_full, 0.5);
  EXPECT_NEAR(plan.random_collision_at, 2'209'532, 1'000);
  EXPECT_THAT(Warnings(plan), ElementsAre("guessable"));
  EXPECT_THAT(plan.warnings.front().text, HasSubstr("--length 10 would do"));
}

// 10^9 keys in use: the figure that the README promises.
TEST(PlanTest, OddsAreThoseOfTheReadme) {
  EXPECT_NEAR(1 / GuessOdds(PlanOf(DefaultRecipe(Kind::kShuffled)), 1e9), 3522, 1);
}

TEST(PlanTest, OddsNeverPassThoseOfAFullKeyspace) {
  const Plan plan = PlanOf(DefaultRecipe(Kind::kShuffled), 1e12);
  EXPECT_DOUBLE_EQ(*plan.guess_after_year, 1);
  EXPECT_DOUBLE_EQ(GuessOdds(plan, 1e30), 1);
}

TEST(PlanTest, WithoutARateNothingIsSaidOfTime) {
  const Plan plan = PlanOf(DefaultRecipe(Kind::kShuffled));
  EXPECT_FALSE(plan.lifetime_seconds);
  EXPECT_FALSE(plan.guess_after_year);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(PlanTest, ASequenceCanBeCountedAndHasNoOdds) {
  const Plan plan = PlanOf(DefaultRecipe(Kind::kSequence), 1000);
  EXPECT_TRUE(plan.countable);
  EXPECT_EQ(plan.capacity, kNumberEnd - 1);
  EXPECT_EQ(plan.size_min, 1U);
  EXPECT_EQ(plan.size_max, 11U);
  EXPECT_FALSE(plan.guess_after_year);
  EXPECT_FALSE(plan.guess_half_full);
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(PlanTest, SizesCountPrefixAndCheckSymbol) {
  Recipe recipe = Make(Kind::kSequence, "base32", 6);
  recipe.prefix = "ord_";
  recipe.check = CheckSymbol::kAppended;
  EXPECT_EQ(PlanOf(recipe).size_max, 11U);
  recipe.length = 0;
  recipe.start = 1000;
  EXPECT_EQ(PlanOf(recipe).size_min, 7U);
}

TEST(PlanTest, ShortCodesAreGuessable) {
  EXPECT_THAT(Warnings(PlanOf(Make(Kind::kShuffled, "base62", 6))), ElementsAre("guessable"));
  EXPECT_THAT(Warnings(PlanOf(Make(Kind::kShuffled, "decimal", 6))), ElementsAre("guessable"));
  EXPECT_THAT(PlanOf(Make(Kind::kShuffled, "decimal", 6)).warnings.front().text,
              HasSubstr("--length 12 would do"));
}

TEST(PlanTest, WarnsOfWhatIsUsedUpInFiveYears) {
  const Plan soon = PlanOf(Make(Kind::kSequence, "decimal", 6), 1);
  EXPECT_THAT(Warnings(soon), ElementsAre("short-lived"));
  EXPECT_THAT(soon.warnings.front().text, HasSubstr("--length 9 would do"));
  // 5 years at 1/s are 157,788,000 keys.
  Recipe recipe = Make(Kind::kSequence, "decimal", 9);
  recipe.start = 1'000'000'000 - 157'788'000;
  EXPECT_THAT(PlanOf(recipe, 1).warnings, IsEmpty());
  ++recipe.start;
  EXPECT_THAT(Warnings(PlanOf(recipe, 1)), ElementsAre("short-lived"));
}

TEST(PlanTest, NoLengthIsAdvisedWhereNoneHelps) {
  const Plan plan = PlanOf(DefaultRecipe(Kind::kSequence), 1e12);
  EXPECT_THAT(Warnings(plan), ElementsAre("short-lived"));
  EXPECT_THAT(plan.warnings.front().text, testing::Not(HasSubstr("--length")));
}

TEST(PlanTest, WarnsOfFewKeysWhenNobodySaysHowManyAreNeeded) {
  EXPECT_THAT(Warnings(PlanOf(Make(Kind::kSequence, "decimal", 5))), ElementsAre("few-keys"));
  EXPECT_THAT(PlanOf(Make(Kind::kSequence, "decimal", 7)).warnings, IsEmpty());
}

TEST(PlanTest, WarnsOfKeysThatAreFarTooLong) {
  const Plan plan = PlanOf(Make(Kind::kShuffled, "base62", 16), 1000);
  EXPECT_THAT(Warnings(plan), ElementsAre("long"));
  EXPECT_THAT(plan.warnings.front().text, HasSubstr("--length 10 lasts"));
  EXPECT_THAT(PlanOf(Make(Kind::kShuffled, "base62", 11), 1000).warnings, IsEmpty());
  EXPECT_THAT(Warnings(PlanOf(Make(Kind::kSequence, "decimal", 18), 1)), ElementsAre("long"));
}

TEST(PlanTest, WhatCannotBeIsRefusedAsByTheCodec) {
  const Recipe recipe = Make(Kind::kShuffled, "base62", 2);
  EXPECT_EQ(MakePlan(recipe, 1).status().message(), Codec::Validate(recipe).message());
  EXPECT_EQ(MakePlan(recipe, 1).code(), Code::kInvalidArgument);
}

TEST(PlanTest, TicketsHaveTheirShare) {
  Recipe recipe = Make(Kind::kTicket, "decimal", 3);
  recipe.stride = 4;
  recipe.offset = 3;
  EXPECT_EQ(PlanOf(recipe).capacity, 250U);  // 3 to 999
  EXPECT_TRUE(PlanOf(recipe).countable);
  recipe.length = 0;
  recipe.start = 5;
  EXPECT_EQ(PlanOf(recipe).size_min, 2U);  // 23
  Recipe shuffled = Make(Kind::kTicket, "decimal", 8);
  shuffled.counter = Kind::kShuffled;
  shuffled.stride = 3;
  EXPECT_EQ(PlanOf(shuffled).capacity, 33'330'000U);
  EXPECT_NEAR(*PlanOf(shuffled).guess_half_full, 0.5, 0.001);
  EXPECT_FALSE(PlanOf(shuffled).countable);
}

TEST(PlanTest, RandomKeysRestOnTheirBits) {
  const Plan uuid4 = PlanOf(DefaultRecipe(Kind::kUuid4), 1e6);
  ASSERT_TRUE(uuid4.random);
  EXPECT_EQ(uuid4.random->bits, 122U);
  EXPECT_FALSE(uuid4.random->timed);
  // n^2 / 2^123, n keys in a year.
  EXPECT_NEAR(*uuid4.random->collision_in_year / 9.36e-11, 1, 0.01);
  EXPECT_FALSE(uuid4.lifetime_seconds);
  EXPECT_FALSE(PlanOf(DefaultRecipe(Kind::kUuid4)).random->collision_in_year);
  Recipe ulid = DefaultRecipe(Kind::kUlid);
  ulid.prefix = "x_";
  const Plan plan = PlanOf(ulid, 1000);
  EXPECT_EQ(plan.size_max, 28U);
  EXPECT_TRUE(plan.random->timed);
  // Half a pair in each of 3.2e10 milliseconds, each the same once in 2^80.
  EXPECT_NEAR(*plan.random->collision_in_year / 1.305e-14, 1, 0.01);
  EXPECT_EQ(PlanOf(DefaultRecipe(Kind::kUuid7)).random->random_bits, 73U);
  EXPECT_THAT(Warnings(plan), IsEmpty());
}

TEST(PlanTest, CapacityIsTheCodecs) {
  constexpr std::array<std::uint8_t, kSecretSize> kSecret = {};
  for (const std::string_view alphabet : Alphabet::Names()) {
    for (const Kind kind : {Kind::kSequence, Kind::kShuffled}) {
      for (std::uint32_t length = 0; length <= 32; ++length) {
        Recipe recipe = Make(kind, std::string(alphabet), length);
        if (!Codec::Validate(recipe).ok()) continue;
        const auto secret = std::span(kSecret).first(kind == Kind::kShuffled ? kSecretSize : 0);
        const Result<Codec> codec = Codec::Make(recipe, secret);
        ASSERT_TRUE(codec.ok());
        const Plan plan = PlanOf(recipe);
        EXPECT_EQ(plan.capacity, codec->end() - codec->begin()) << alphabet << " " << length;
        EXPECT_EQ(plan.size_max, codec->size_max()) << alphabet << " " << length;
        EXPECT_GE(plan.texts, static_cast<double>(plan.capacity)) << alphabet << " " << length;
      }
    }
  }
}

TEST(PlanTest, ASnowflakeLastsAsLongAsItsBitsWhateverTheRate) {
  for (const double rate : {0.0, 1e6}) {
    const Plan plan = *MakePlan(DefaultRecipe(Kind::kSnowflake), rate);
    EXPECT_NEAR(*plan.lifetime_seconds / kYearSeconds, 69.7, 0.1);
    EXPECT_TRUE(plan.countable);
    EXPECT_EQ(plan.size_max, 19U);
  }
}

TEST(PlanTest, ASnowflakeTellsWhatAWorkerMakes) {
  Recipe recipe = DefaultRecipe(Kind::kSnowflake);
  Plan plan = PlanOf(recipe);
  ASSERT_TRUE(plan.timed);
  EXPECT_EQ(plan.timed->per_second, 4'096'000);
  EXPECT_EQ(plan.timed->workers, 1024U);
  EXPECT_THAT(Warnings(PlanOf(recipe, 1e6)), IsEmpty());
  recipe.layout.unit_ms = 10;
  plan = PlanOf(recipe);
  EXPECT_EQ(plan.timed->per_second, 409'600);
}

TEST(PlanTest, DerivedKeysTryOftenerTheFullerItGets) {
  const Plan plan = PlanOf(Make(Kind::kDerived, "base36", 2));
  ASSERT_TRUE(plan.stored);
  EXPECT_TRUE(plan.stored->derived);
  EXPECT_EQ(plan.capacity, 1296U);
  EXPECT_NEAR(plan.random_collision_at, 42.4, 0.1);
  EXPECT_DOUBLE_EQ(AttemptsAt(0), 1);
  EXPECT_DOUBLE_EQ(AttemptsAt(0.5), 2);
  EXPECT_NEAR(AttemptsAt(1200.0 / 1296), 13.5, 0.01);
}

// A fill gives up before a pool is full.
TEST(PlanTest, APoolEndsWhereItsFillGivesUp) {
  const Recipe recipe = Make(Kind::kPool, "decimal", 8);
  const Plan plan = PlanOf(recipe, 1);
  ASSERT_TRUE(plan.stored);
  EXPECT_FALSE(plan.stored->derived);
  EXPECT_DOUBLE_EQ(*plan.lifetime_seconds, 0.75e8);
  EXPECT_FALSE(plan.stored->cycling);
}

TEST(PlanTest, APoolThatRecyclesHasNoEndWhileItsKeysComeBackInTime) {
  Recipe recipe = Make(Kind::kPool, "decimal", 8);
  recipe.recycle = true;
  recipe.quarantine_s = 1'000;
  recipe.expires_s = 9'000;
  const Plan plan = PlanOf(recipe, 1'000);
  EXPECT_DOUBLE_EQ(*plan.stored->cycling, 1e7);
  EXPECT_FALSE(plan.lifetime_seconds);
  EXPECT_THAT(Warnings(plan), ElementsAre("guessable"));
  // Ten times as many do not fit.
  const Plan full = PlanOf(recipe, 10'000);
  EXPECT_DOUBLE_EQ(*full.lifetime_seconds, 7'500);
  EXPECT_THAT(Warnings(full), ElementsAre("short-lived", "guessable"));
  // Keys that never expire do not come back by themselves.
  recipe.expires_s = 0;
  EXPECT_TRUE(PlanOf(recipe, 1'000).lifetime_seconds);
}

}  // namespace
}  // namespace keymill::keys
