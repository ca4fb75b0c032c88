// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/doctor/recipe_command.h"

#include <gtest/gtest.h>

#include "keys/recipe_fields.h"

namespace keymill::app::doctor {
namespace {

TEST(RecipeCommandTest, HasEveryWordThatIsNotAtItsDefault) {
  EXPECT_EQ(RecipeCommandFlags(DefaultRecipe(Kind::kShuffled)),
            "--kind shuffled --alphabet base62");
  EXPECT_EQ(RecipeCommandFlags(DefaultRecipe(Kind::kUuid7)), "--kind uuid7");
  Recipe ticket = DefaultRecipe(Kind::kTicket);
  ticket.alphabet = "decimal";
  ticket.stride = 4;
  ticket.offset = 3;
  ticket.start = 12;
  ticket.prefix = "o_";
  ticket.check = CheckSymbol::kAppended;
  ticket.blocklist = {"123", "456"};
  EXPECT_EQ(RecipeCommandFlags(ticket),
            "--kind ticket --stride 4 --offset 3 --alphabet decimal --prefix o_ --check appended "
            "--start 12 --blocklist 123,456");
  Recipe snowflake = DefaultRecipe(Kind::kSnowflake);
  snowflake.layout.unit_ms = 10;
  EXPECT_EQ(RecipeCommandFlags(snowflake), "--kind snowflake --alphabet decimal --unit-ms 10");
}

TEST(RecipeCommandTest, ASuccessorIsLongerAndKeepsAllElse) {
  Recipe recipe = DefaultRecipe(Kind::kTicket);
  recipe.length = 3;
  recipe.stride = 4;
  recipe.check = CheckSymbol::kAppended;
  const std::optional<Recipe> next = SuccessorRecipe(recipe);
  ASSERT_TRUE(next);
  EXPECT_EQ(RecipeCommandFlags(*next),
            "--kind ticket --stride 4 --alphabet base62 --length 4 --check appended");
}

TEST(RecipeCommandTest, ASuccessorOfWhatCannotBeLongerHasAPrefixThatNoOldKeyCanSpell) {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.prefix = "ord_";
  EXPECT_EQ(SuccessorRecipe(recipe)->length, 0U);
  EXPECT_EQ(SuccessorRecipe(recipe)->prefix, "ord_2_");
  recipe.alphabet = "base64url";
  EXPECT_EQ(SuccessorRecipe(recipe)->prefix, "ord_2.");
  recipe.alphabet = "decimal";
  recipe.length = 32;
  EXPECT_EQ(SuccessorRecipe(recipe)->prefix, "ord_2_");
}

TEST(RecipeCommandTest, SometimesThereIsNoSuccessor) {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "ab_-.c";
  EXPECT_FALSE(SuccessorRecipe(recipe));
  recipe = DefaultRecipe(Kind::kSequence);
  recipe.prefix = std::string(16, 'p');
  EXPECT_FALSE(SuccessorRecipe(recipe));
}

}  // namespace
}  // namespace keymill::app::doctor
