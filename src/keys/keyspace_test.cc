// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "keymill/keyspace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys/codec.h"

namespace keymill {
namespace {

using testing::HasSubstr;

TEST(KeyspaceTest, DefaultsArePossibleRecipes) {
  for (const Kind kind : {Kind::kSequence, Kind::kShuffled}) {
    EXPECT_EQ(DefaultRecipe(kind).kind, kind);
    EXPECT_TRUE(keys::Codec::Validate(DefaultRecipe(kind)).ok());
  }
}

TEST(KeyspaceTest, AShuffledDefaultHasSevenSymbolsAndStartsAtZero) {
  const Recipe recipe = DefaultRecipe(Kind::kShuffled);
  EXPECT_EQ(recipe.alphabet, "base62");
  EXPECT_EQ(recipe.length, 7U);
  EXPECT_EQ(recipe.start, 0U);
  EXPECT_EQ(recipe.check, CheckSymbol::kNone);
}

TEST(KeyspaceTest, ASequenceGrowsAndStartsAtOne) {
  const Recipe recipe = DefaultRecipe(Kind::kSequence);
  EXPECT_EQ(recipe.length, 0U);
  EXPECT_EQ(recipe.start, 1U);
}

TEST(KeyspaceTest, KindNamesAreInverse) {
  EXPECT_EQ(KindName(Kind::kSequence), "sequence");
  EXPECT_EQ(KindName(Kind::kShuffled), "shuffled");
  EXPECT_EQ(*ParseKind("sequence"), Kind::kSequence);
  EXPECT_EQ(*ParseKind("shuffled"), Kind::kShuffled);
}

TEST(KeyspaceTest, AnUnknownKindIsToldWhichExist) {
  for (const char* const name : {"", "Sequence", "suffled", "uuid9"}) {
    const Result<Kind> kind = ParseKind(name);
    ASSERT_EQ(kind.code(), Code::kInvalidArgument);
    EXPECT_THAT(kind.status().message(), HasSubstr("sequence, shuffled, ticket"));
  }
  EXPECT_THAT(ParseKind("suffled").status().message(), HasSubstr("did you mean \"shuffled\"?"));
}

TEST(KeyspaceTest, NamesAreCheckedByteByByte) {
  for (const char* const name : {"a", "0", "links", "A.b_c-9", "default"}) {
    EXPECT_TRUE(CheckKeyspaceName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckKeyspaceName(std::string(64, 'x')).ok());
  for (const char* const name : {"", "_a", ".a", "-a", "a b", "a/b", "\xc3\xa4", "a\n"}) {
    EXPECT_EQ(CheckKeyspaceName(name).code(), Code::kInvalidArgument) << name;
  }
  EXPECT_FALSE(CheckKeyspaceName(std::string(65, 'x')).ok());
  EXPECT_FALSE(CheckKeyspaceName(std::string_view("a\0b", 3)).ok());
}

}  // namespace
}  // namespace keymill
