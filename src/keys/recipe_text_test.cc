// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/recipe_text.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "keys/codec.h"

namespace keymill::keys {
namespace {

Recipe FullRecipe() {
  return {.kind = Kind::kSequence,
          .alphabet = "base32",
          .length = 8,
          .prefix = "ord_",
          .check = CheckSymbol::kAppended,
          .start = 1000,
          .blocklist = {"abc", "zzz"}};
}

// Stores hold these lines. Add to them; never change one.
TEST(RecipeTextTest, TextsAreWhatTheyAlwaysWere) {
  EXPECT_EQ(RecipeText(DefaultRecipe(Kind::kShuffled)),
            R"({"kind":"shuffled","alphabet":"base62","length":7,"prefix":"","check":"none",)"
            R"("start":0,"blocklist":[]})");
  EXPECT_EQ(RecipeText(DefaultRecipe(Kind::kSequence)),
            R"({"kind":"sequence","alphabet":"base62","length":0,"prefix":"","check":"none",)"
            R"("start":1,"blocklist":[]})");
  EXPECT_EQ(RecipeText(FullRecipe()),
            R"({"kind":"sequence","alphabet":"base32","length":8,"prefix":"ord_",)"
            R"("check":"appended","start":1000,"blocklist":["abc","zzz"]})");
  EXPECT_EQ(RecipeText(DefaultRecipe(Kind::kPool)),
            R"({"kind":"pool","alphabet":"base62","length":7,"prefix":"","check":"none",)"
            R"("blocklist":[],"audit":"batch","expires_s":0,"recycle":false,)"
            R"("quarantine_s":86400})");
  EXPECT_EQ(RecipeText(DefaultRecipe(Kind::kDerived)),
            R"({"kind":"derived","alphabet":"base62","length":7,"prefix":"","check":"none",)"
            R"("blocklist":[],"hash":"sha256","canonical_url":false,"distinct":false})");
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "<>&'~";
  recipe.start = kNumberEnd - 1;
  EXPECT_EQ(RecipeText(recipe),
            R"({"kind":"sequence","alphabet":"<>&'~","length":0,"prefix":"","check":"none",)"
            R"("start":9223372036854775806,"blocklist":[]})");
}

// A keyspace whose hash changed would be refused by every instance that holds its recipe.
TEST(RecipeTextTest, HashesAreWhatTheyAlwaysWere) {
  const std::string text = RecipeText(DefaultRecipe(Kind::kShuffled));
  const std::array<std::uint8_t, 16> secret = {0, 1, 2,  3,  4,  5,  6,  7,
                                               8, 9, 10, 11, 12, 13, 14, 15};
  EXPECT_EQ(RecipeHash(text, secret),
            "84a37f63dec967705c2ea90d64c2cf15ef8487670e3a29bfa01d7d19ffd59fce");
  EXPECT_EQ(RecipeHash(RecipeText(DefaultRecipe(Kind::kSequence)), {}),
            "4a781e7abbdad217732b153364dfbd4be08110d4814dc5321eec42e0a85fba4f");
}

TEST(RecipeTextTest, HashesDependOnTextAndSecret) {
  const std::array<std::uint8_t, 1> secret = {1};
  EXPECT_NE(RecipeHash("a", {}), RecipeHash("b", {}));
  EXPECT_NE(RecipeHash("a", {}), RecipeHash("a", secret));
}

TEST(RecipeTextTest, EqualRecipesHaveEqualTexts) {
  Recipe recipe = FullRecipe();
  recipe.alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  recipe.blocklist = {"ZZZ", "abc", "Abc"};
  EXPECT_EQ(RecipeText(recipe), RecipeText(FullRecipe()));
  EXPECT_EQ(CanonicalRecipe(recipe), FullRecipe());
}

TEST(RecipeTextTest, ParsesWhatItWrites) {
  Recipe pool = DefaultRecipe(Kind::kPool);
  pool.audit = Audit::kKey;
  pool.recycle = true;
  pool.expires_s = 3600;
  Recipe derived = DefaultRecipe(Kind::kDerived);
  derived.hash = DigestName::kMd5;
  derived.canonical_url = true;
  derived.distinct = true;
  for (const Recipe& recipe : {DefaultRecipe(Kind::kShuffled), DefaultRecipe(Kind::kSequence),
                               FullRecipe(), pool, derived}) {
    const Result<Recipe> parsed = ParseRecipeText(RecipeText(recipe));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, recipe);
  }
}

RC_GTEST_PROP(RecipeTextProperty, ParsesWhatItWrites, ()) {
  Recipe recipe = DefaultRecipe(*rc::gen::element(Kind::kSequence, Kind::kShuffled));
  recipe.alphabet =
      *rc::gen::element<std::string>("base62", "base64url", "base58", "base36", "base32", "hex");
  recipe.length = *rc::gen::inRange<std::uint32_t>(5, 19);
  recipe.prefix = *rc::gen::container<std::string>(rc::gen::element('a', 'Z', '0', '_', '.', '-'));
  recipe.check = *rc::gen::element(CheckSymbol::kNone, CheckSymbol::kAppended);
  recipe.start = *rc::gen::inRange<std::uint64_t>(0, 1000);
  RC_PRE(Codec::Validate(recipe).ok());
  const Result<Recipe> parsed = ParseRecipeText(RecipeText(recipe));
  RC_ASSERT(parsed.ok());
  RC_ASSERT(*parsed == recipe);
}

// Anything but the one text of a recipe is refused: cut, extended, reordered, respelt.
TEST(RecipeTextTest, RefusesTextsThatItDoesNotWrite) {
  const std::string text = RecipeText(FullRecipe());
  std::vector<std::string> wrong = {"",   "null",     "[]",       "7",
                                    "{}", text + " ", " " + text, text + text};
  for (std::size_t size = 1; size < text.size(); ++size) wrong.push_back(text.substr(0, size));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    wrong.push_back(changed);
  };
  with(R"("length":8)", R"("length":"8")");
  with(R"("length":8)", R"("length":-8)");
  with(R"("length":8)", R"("length":8.0)");
  with(R"("length":8)", R"("length":4294967304)");  // 2^32 + 8
  with(R"("length":8)", R"("length":33)");
  with(R"("length":8,)", "");
  with(R"("length":8,)", R"("length":8,"length":8,)");
  with(R"("length":8,)", R"("length":8,"shape":"round",)");
  with(R"("kind":"sequence")", R"("kind":"uuid9")");
  with(R"("check":"appended")", R"("check":"true")");
  with(R"("alphabet":"base32")", R"("alphabet":"0123456789ABCDEFGHJKMNPQRSTVWXYZ")");
  with(R"(["abc","zzz"])", R"(["zzz","abc"])");
  with(R"(["abc","zzz"])", R"(["ABC","zzz"])");
  with(R"(["abc","zzz"])", R"(["abc",7])");
  with(R"(["abc","zzz"])", R"("abc")");
  for (const std::string& changed : wrong) {
    EXPECT_EQ(ParseRecipeText(changed).code(), Code::kInvalidArgument) << changed;
  }
}

TEST(RecipeTextTest, DescribesWhatDiffers) {
  Recipe here = DefaultRecipe(Kind::kShuffled);
  EXPECT_EQ(DescribeDifference(here, here), "");
  here.length = 8;
  here.prefix = "x_";
  EXPECT_EQ(DescribeDifference(DefaultRecipe(Kind::kShuffled), here),
            R"(length is 7 in the store, 8 here; prefix is "" in the store, "x_" here)");
  EXPECT_EQ(DescribeDifference(DefaultRecipe(Kind::kShuffled), FullRecipe()),
            "kind is shuffled in the store, sequence here; "
            "alphabet is base62 in the store, base32 here; "
            "length is 7 in the store, 8 here; "
            R"(prefix is "" in the store, "ord_" here; )"
            "check is none in the store, appended here; "
            "start is 0 in the store, 1000 here; "
            "blocklist has 0 words in the store, 2 here (0 only in the store, 2 only here)");
}

TEST(RecipeTextTest, SpellingsOfOneRecipeDoNotDiffer) {
  Recipe respelt = FullRecipe();
  respelt.alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  respelt.blocklist = {"ZZZ", "abc"};
  EXPECT_EQ(DescribeDifference(FullRecipe(), respelt), "");
}

}  // namespace
}  // namespace keymill::keys
