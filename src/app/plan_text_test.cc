// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/plan_text.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace keymill::app {
namespace {

std::string Text(const std::vector<PlanRow>& rows) {
  std::string text;
  for (const auto& [name, value] : rows) text += std::string(name) + ": " + value + "\n";
  return text;
}

TEST(PlanTextTest, ReadsRates) {
  EXPECT_DOUBLE_EQ(*ParseRate("1000/s"), 1000);
  EXPECT_DOUBLE_EQ(*ParseRate("5k/s"), 5000);
  EXPECT_DOUBLE_EQ(*ParseRate("90/m"), 1.5);
  EXPECT_DOUBLE_EQ(*ParseRate("90/min"), 1.5);
  EXPECT_DOUBLE_EQ(*ParseRate("36/h"), 0.01);
  EXPECT_DOUBLE_EQ(*ParseRate("86400/day"), 1);
  for (const char* const bad : {"", "1000", "/s", "0/s", "-1/s", "1000/", "1000/x", "x/s",
                                "1000/s/s", "1e300/s", "9999999999999999/s", "nan/s", "inf/s"}) {
    EXPECT_FALSE(ParseRate(bad)) << bad;
  }
}

TEST(PlanTextTest, SpansHaveTheUnitThatSaysMost) {
  EXPECT_EQ(SpanText(0.5), "0.5 seconds");
  EXPECT_EQ(SpanText(90), "90 seconds");
  EXPECT_EQ(SpanText(5400), "90 minutes");
  EXPECT_EQ(SpanText(3.0 * 86400), "3.0 days");
  EXPECT_EQ(SpanText(40.0 * 86400), "40 days");
  EXPECT_EQ(SpanText(111.6 * keys::kYearSeconds), "112 years");
  EXPECT_EQ(SpanText(1e30), "more than 10,000 years");
}

TEST(PlanTextTest, OddsAreOneInSoMany) {
  EXPECT_EQ(OddsText(1), "certain");
  EXPECT_EQ(OddsText(0), "none");
  EXPECT_EQ(OddsText(0.5), "1 in 2");
  EXPECT_EQ(OddsText(0.55), "1 in 1.8");
  EXPECT_EQ(OddsText(1 / 3522.0), "1 in 3,522");
  EXPECT_EQ(OddsText(1 / 4.1e18), "1 in 4.1e+18");
}

TEST(PlanTextTest, AmountsAreRough) {
  EXPECT_EQ(AmountText(99999), "99,999");
  EXPECT_EQ(AmountText(3'521'614'606'208), "3.5 trillion");
  EXPECT_EQ(AmountText(9.2e18), "9.2 quintillion");
}

TEST(PlanTextTest, TellsAShuffledKeyspace) {
  const Recipe recipe = DefaultRecipe(Kind::kShuffled);
  EXPECT_EQ(Text(PlanRows(recipe, *keys::MakePlan(recipe, 1000), "1000/s")),
            "kind: shuffled\n"
            "key: 7 characters\n"
            "capacity: 3521614606208 (3.5 trillion)\n"
            "lifetime: 112 years at 1000/s\n"
            "guess: 1 in 112 after a year; 1 in 2 when half full\n"
            "collision: none: a permutation (random keys: even odds after 2.2 million)\n"
            "storage: 0 bytes per key: one counter, and a row per block\n");
}

TEST(PlanTextTest, TellsASequenceWithoutARate) {
  const Recipe recipe = DefaultRecipe(Kind::kSequence);
  EXPECT_EQ(Text(PlanRows(recipe, *keys::MakePlan(recipe, 0), "")),
            "kind: sequence\n"
            "key: 1 to 11 characters\n"
            "capacity: 9223372036854775806 (9.2 quintillion)\n"
            "lifetime: more than 10,000 years at 1M/s\n"
            "guess: easy: whoever has one key can count to the others\n"
            "collision: none: each number is used once\n"
            "storage: 0 bytes per key: one counter, and a row per block\n");
}

TEST(PlanTextTest, WithoutARateItTellsAFew) {
  const Recipe recipe = DefaultRecipe(Kind::kShuffled);
  EXPECT_EQ(PlanRows(recipe, *keys::MakePlan(recipe, 0), "").at(3).second,
            "more than 10,000 years at 1/s, 112 years at 1000/s, 41 days at 1M/s");
}

TEST(PlanTextTest, OddsOfTodayComeFirst) {
  const keys::Plan plan = *keys::MakePlan(DefaultRecipe(Kind::kShuffled), 0);
  EXPECT_EQ(PlanNature(plan, "", 1e9).at(1).second, "1 in 3,522 now; 1 in 2 when half full");
  EXPECT_EQ(PlanNature(plan, "", 0).at(1).second, "none now; 1 in 2 when half full");
}

TEST(PlanTextTest, TellsRandomKeysWithoutACapacityThatMeansNothing) {
  const Recipe recipe = DefaultRecipe(Kind::kUuid4);
  const keys::Plan plan = *keys::MakePlan(recipe, 1000);
  const std::vector<PlanRow> rows = PlanRows(recipe, plan, "1000/s");
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_EQ(rows[2].second, "2^122 (5.3e+36)");
  EXPECT_EQ(rows[3].second, "no end");
  EXPECT_EQ(rows[5].second, "any two keys: 1 in 5.3e+36; in a year at 1000/s: 1 in 1.1e+16");
  const auto json = nlohmann::json::parse(PlanJson(recipe, plan, 1000));
  EXPECT_EQ(json["capacity"], "5316911983139663491615228241121378304");  // 2^122
  EXPECT_TRUE(json["lifetime_seconds"].is_null());
  EXPECT_GT(json["collision_odds"], 0);
  EXPECT_EQ(json["time_ordered"], false);
}

TEST(PlanTextTest, TellsASnowflakeByItsTimeAndItsWorkers) {
  const Recipe recipe = DefaultRecipe(Kind::kSnowflake);
  EXPECT_EQ(Text(PlanRows(recipe, *keys::MakePlan(recipe, 0), "")),
            "kind: snowflake\n"
            "key: 1 to 19 characters\n"
            "capacity: 9223372036854775807 (9.2 quintillion)\n"
            "lifetime: 70 years, from 2025-01-01T00:00:00.000Z to 2094-09-07T15:47:35.552Z\n"
            "speed: 4,096,000 ids a second for each of 1,024 workers\n"
            "guess: easy: an id is its time, and the ids of a time follow one another\n"
            "collision: none: each worker reserves its time before it uses it\n"
            "order: by time, as far as the clocks agree\n"
            "storage: 0 bytes per key: a row per worker\n");
}

TEST(PlanTextTest, TellsWhatDerivedKeysAndPoolsCost) {
  const Recipe derived = DefaultRecipe(Kind::kDerived);
  const keys::Plan plan = *keys::MakePlan(derived, 0);
  const std::string text = Text(PlanRows(derived, plan, ""));
  EXPECT_THAT(text, testing::HasSubstr("even odds of the first after 2.2 million"));
  EXPECT_THAT(text, testing::HasSubstr("2.0 when half full, 10 at 90 %, 100 at 99 %"));
  EXPECT_THAT(text, testing::HasSubstr("bytes per key: a row that the store keeps"));
  const auto json = nlohmann::json::parse(PlanJson(derived, plan, 0));
  EXPECT_EQ(json["attempts"]["half_full"], 2);
  EXPECT_GT(json["storage_bytes_per_key"], 0);
  Recipe pool = DefaultRecipe(Kind::kPool);
  pool.recycle = true;
  pool.expires_s = 86'400;
  const std::string cycling = Text(PlanRows(pool, *keys::MakePlan(pool, 1000), "1000/s"));
  EXPECT_THAT(cycling, testing::HasSubstr("no end: at 1000/s 173 million keys are in use or"));
  EXPECT_THAT(cycling, testing::HasSubstr("at about 75 % of all, later in a small pool"));
}

TEST(PlanTextTest, JsonHasEverything) {
  Recipe recipe = DefaultRecipe(Kind::kShuffled);
  recipe.length = 6;
  const auto json = nlohmann::json::parse(PlanJson(recipe, *keys::MakePlan(recipe, 0), 0));
  EXPECT_EQ(json["capacity"], "56800235584");
  EXPECT_EQ(json["recipe"]["length"], 6);
  EXPECT_EQ(json["recipe"]["start"], "0");
  EXPECT_TRUE(json["rate_per_second"].is_null());
  EXPECT_TRUE(json["lifetime_seconds"].is_null());
  EXPECT_TRUE(json["guess_odds"]["after_a_year"].is_null());
  EXPECT_EQ(json["guess_odds"]["half_full"], 0.5);
  EXPECT_EQ(json["collision_odds"], 0);
  EXPECT_EQ(json["storage_bytes_per_key"], 0);
  ASSERT_EQ(json["warnings"].size(), 1U);
  EXPECT_EQ(json["warnings"][0]["kind"], "guessable");
}

}  // namespace
}  // namespace keymill::app
