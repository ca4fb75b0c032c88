// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keys/key_shape.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::keys {
namespace {

using testing::HasSubstr;

Recipe Codes(std::string alphabet, std::uint32_t length) {
  Recipe recipe = DefaultRecipe(Kind::kPool);
  recipe.alphabet = std::move(alphabet);
  recipe.length = length;
  return recipe;
}

KeyShape Make(const Recipe& recipe) {
  Result<KeyShape> shape = KeyShape::Make(recipe);
  EXPECT_TRUE(shape.ok()) << shape.status().message();
  return *std::move(shape);
}

TEST(KeyShapeTest, PutsPrefixAndCheckSymbolAroundDigits) {
  Recipe recipe = Codes("base32", 4);
  EXPECT_EQ(Make(recipe).Dress("01AZ"), "01AZ");
  recipe.prefix = "c-";
  recipe.check = CheckSymbol::kAppended;
  const KeyShape shape = Make(recipe);
  const std::optional<std::string> key = shape.Dress("01AZ");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->size(), shape.size());
  EXPECT_EQ(key->substr(0, 6), "c-01AZ");
  EXPECT_TRUE(shape.Check(*key).ok());
}

TEST(KeyShapeTest, TellsHowManyThereAre) {
  EXPECT_EQ(Make(Codes("base36", 2)).capacity(), 36U * 36U);
  EXPECT_EQ(Make(Codes("hex", 1)).capacity(), 16U);
  EXPECT_EQ(Make(Codes("base62", 10)).capacity(), 839'299'365'868'340'224U);
  EXPECT_EQ(Make(Codes("base62", 11)).capacity(), kNumberEnd);
  EXPECT_EQ(Make(Codes("base62", 32)).capacity(), kNumberEnd);
}

TEST(KeyShapeTest, SaysWhereATextDeparts) {
  Recipe recipe = Codes("base36", 3);
  recipe.prefix = "c-";
  recipe.check = CheckSymbol::kAppended;
  recipe.blocklist = {"bad"};
  const KeyShape shape = Make(recipe);
  const std::string key = *shape.Dress("012");
  EXPECT_THAT(shape.Check("d-" + key.substr(2)).message(), HasSubstr("does not begin with \"c-\""));
  EXPECT_THAT(shape.Check(key + "0").message(), HasSubstr("has 7 symbols, not 6"));
  EXPECT_THAT(shape.Check("c-0A2" + key.substr(5)).message(), HasSubstr("position 4"));
  std::string mistyped = key;
  mistyped[2] = '9';
  EXPECT_THAT(shape.Check(mistyped).message(), HasSubstr("mistyped"));
  EXPECT_EQ(shape.Dress("bad"), std::nullopt);
}

TEST(KeyShapeTest, RefusesWhatCannotBe) {
  EXPECT_THAT(KeyShape::Make(Codes("base62", 0)).status().message(), HasSubstr("length: 0"));
  EXPECT_THAT(KeyShape::Make(Codes("base62", 33)).status().message(), HasSubstr("length: 33"));
  EXPECT_EQ(KeyShape::Make(Codes("aa", 3)).code(), Code::kInvalidArgument);
  Recipe recipe = Codes("base62", 7);
  recipe.prefix = "a b";
  EXPECT_THAT(KeyShape::Make(recipe).status().message(), HasSubstr("prefix"));
  recipe.prefix = "bad";
  recipe.blocklist = {"bad"};
  EXPECT_THAT(KeyShape::Make(recipe).status().message(), HasSubstr("blocklist"));
  recipe = Codes("012", 7);
  recipe.check = CheckSymbol::kAppended;
  EXPECT_EQ(KeyShape::Make(recipe).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace keymill::keys
