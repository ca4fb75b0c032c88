// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "mint/recipe_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::mint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Recipe> From(const std::vector<RecipeWord>& words) { return RecipeFromWords(words); }

void ExpectRefused(const std::vector<RecipeWord>& words, std::string_view message) {
  const Result<Recipe> recipe = From(words);
  ASSERT_EQ(recipe.code(), Code::kInvalidArgument);
  EXPECT_THAT(recipe.status().message(), HasSubstr(message));
}

TEST(RecipeWordsTest, NoWordsMeanTheDefaultShuffledRecipe) {
  EXPECT_EQ(*From({}), DefaultRecipe(Kind::kShuffled));
}

TEST(RecipeWordsTest, TheKindDecidesTheDefaultsWhereverItIsWritten) {
  Recipe expected = DefaultRecipe(Kind::kSequence);
  expected.alphabet = "decimal";
  EXPECT_EQ(*From({{"kind", {"sequence"}}, {"alphabet", {"decimal"}}}), expected);
  EXPECT_EQ(*From({{"alphabet", {"decimal"}}, {"kind", {"sequence"}}}), expected);
}

TEST(RecipeWordsTest, TakesEveryWord) {
  const Result<Recipe> recipe = From({{"kind", {"sequence"}},
                                      {"alphabet", {"base32"}},
                                      {"length", {"8"}},
                                      {"prefix", {"ord_"}},
                                      {"check", {"true"}},
                                      {"start", {"1000"}},
                                      {"blocklist", {"ZZZ", "abc", "zzz"}}});
  ASSERT_TRUE(recipe.ok()) << recipe.status().message();
  EXPECT_EQ(recipe->kind, Kind::kSequence);
  EXPECT_EQ(recipe->alphabet, "base32");
  EXPECT_EQ(recipe->length, 8U);
  EXPECT_EQ(recipe->prefix, "ord_");
  EXPECT_EQ(recipe->check, CheckSymbol::kAppended);
  EXPECT_EQ(recipe->start, 1000U);
  EXPECT_THAT(recipe->blocklist, ElementsAre("abc", "zzz"));
}

TEST(RecipeWordsTest, EveryNameIsUnderstood) {
  EXPECT_EQ(RecipeWordNames().front(), "kind");
  for (const std::string_view name : RecipeWordNames()) {
    const Result<Recipe> recipe = From({{std::string(name), {"?"}}});
    EXPECT_THAT(recipe.status().message(), testing::Not(HasSubstr("recipe: "))) << name;
  }
}

TEST(RecipeWordsTest, SpellsTheAlphabetByNameWhereItHasOne) {
  EXPECT_EQ(From({{"alphabet", {"0123456789abcdef"}}})->alphabet, "hex");
  EXPECT_EQ(From({{"alphabet", {"fedcba9876543210"}}})->alphabet, "fedcba9876543210");
}

TEST(RecipeWordsTest, CheckIsTrueOrFalse) {
  EXPECT_EQ(From({{"check", {"true"}}})->check, CheckSymbol::kAppended);
  EXPECT_EQ(From({{"check", {"appended"}}})->check, CheckSymbol::kAppended);
  EXPECT_EQ(From({{"check", {"false"}}})->check, CheckSymbol::kNone);
  EXPECT_EQ(From({{"check", {"none"}}})->check, CheckSymbol::kNone);
  ExpectRefused({{"check", {"maybe"}}}, "check: \"maybe\"");
}

TEST(RecipeWordsTest, SuggestsTheWordThatWasMeant) {
  ExpectRefused({{"lenght", {"7"}}}, "\"lenght\" is unknown, did you mean \"length\"?");
  ExpectRefused({{"colour", {"red"}}}, "\"colour\" is unknown");
}

TEST(RecipeWordsTest, RefusesAWordGivenTwice) {
  ExpectRefused({{"length", {"7"}}, {"length", {"7"}}}, "length is given twice");
}

TEST(RecipeWordsTest, RefusesNoneOrSeveralValuesWhereOneIsNeeded) {
  ExpectRefused({{"length", {}}}, "length: 0 values");
  ExpectRefused({{"prefix", {"a", "b"}}}, "prefix: 2 values");
  EXPECT_TRUE(From({{"blocklist", {}}}).ok());
  EXPECT_TRUE(From({{"prefix", {""}}}).ok());
}

TEST(RecipeWordsTest, RefusesNumbersThatAreNone) {
  for (const char* const text : {"", "seven", "7x", " 7", "+7", "-1", "7.0", "4294967303"}) {
    ExpectRefused({{"length", {text}}}, "length: ");
  }
  ExpectRefused({{"start", {"18446744073709551616"}}}, "start: ");
}

TEST(RecipeWordsTest, RefusesARecipeThatCannotBe) {
  ExpectRefused({{"length", {"2"}}}, "length: 2 is not in 4 to 20");
  ExpectRefused({{"kind", {"suffled"}}}, "did you mean \"shuffled\"?");
  ExpectRefused({{"alphabet", {"base61"}}}, "alphabet: ");
  ExpectRefused({{"start", {"3521614606208"}}}, "start: 3521614606208 is not in 0 to");
  ExpectRefused({{"alphabet", {"abcdefghijklm"}}, {"check", {"true"}}}, "check: ");
}

}  // namespace
}  // namespace keymill::mint
