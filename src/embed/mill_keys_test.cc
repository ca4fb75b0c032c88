// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Aliases, derived keys and pools through the library, in C++ and in C.

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keymill/c.h"
#include "keymill/keymill.h"

#include "support/temp_dir.h"

namespace keymill {
namespace {

using testing::HasSubstr;

class MillKeysTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Mill> Open() const {
    auto mill = Mill::Open({.data_dir = dir_});
    EXPECT_TRUE(mill.ok()) << mill.status().message();
    return mill.ok() ? *std::move(mill) : nullptr;
  }

  TempDir root_;
  std::string dir_ = (root_.path() / "data").string();
};

TEST_F(MillKeysTest, AnAliasHasOneOwnerInEveryProcess) {
  const auto mill = Open();
  EXPECT_TRUE(mill->Claim("default", "my-link", "ada").ok());
  EXPECT_TRUE(mill->Claim("default", "my-link", "ada").ok());
  const auto other = Open();
  EXPECT_EQ(other->Claim("default", "my-link", "bob").code(), Code::kAlreadyExists);
  EXPECT_TRUE(other->Claim("default", "My-link", "bob").ok()) << "case tells them apart";
}

TEST_F(MillKeysTest, AnAliasThatNobodyCanHaveSaysWhy) {
  const auto mill = Open();
  const Status generated = mill->Claim("default", "abcdefg", "ada");
  EXPECT_EQ(generated.code(), Code::kInvalidArgument);
  EXPECT_THAT(generated.message(), HasSubstr("could hand out"));
  EXPECT_EQ(mill->Claim("default", "-x", "ada").code(), Code::kInvalidArgument);
  EXPECT_EQ(mill->Claim("default", "admin", "ada").code(), Code::kInvalidArgument);
  EXPECT_EQ(mill->Claim("nowhere", "my-link", "ada").code(), Code::kNotFound);
}

TEST_F(MillKeysTest, TheSameContentHasTheSameKeyInEveryProcess) {
  std::string key;
  {
    const auto mill = Open();
    ASSERT_TRUE(mill->Create("pages", DefaultRecipe(Kind::kDerived)).ok());
    const auto first = mill->Derive("pages", "https://example.com/");
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_FALSE(first->existing);
    key = first->key;
  }
  const auto mill = Open();
  const auto again = mill->Derive("pages", "https://example.com/");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->existing);
  EXPECT_EQ(again->key, key);
  EXPECT_NE(mill->Derive("pages", "https://example.com/", "ada")->key, key);
  EXPECT_NE(mill->Derive("pages", "ab", "c")->key, mill->Derive("pages", "a", "bc")->key);
}

TEST_F(MillKeysTest, OnlyTheKindThatIsMeantIsDerivedOrFilled) {
  const auto mill = Open();
  EXPECT_EQ(mill->Derive("default", "content").code(), Code::kInvalidArgument);
  EXPECT_EQ(mill->FillPool("default", 10).code(), Code::kInvalidArgument);
  ASSERT_TRUE(mill->Create("pages", DefaultRecipe(Kind::kDerived)).ok());
  EXPECT_EQ(mill->Next("pages").code(), Code::kInvalidArgument);
}

TEST_F(MillKeysTest, APoolTakesNoMoreKeysThanItsFormatHas) {
  const auto mill = Open();
  Recipe codes = DefaultRecipe(Kind::kPool);
  ASSERT_TRUE(mill->Create("codes", codes).ok());
  const auto added = mill->FillPool("codes", 3'000);
  ASSERT_TRUE(added.ok()) << added.status().message();
  EXPECT_EQ(*added, 3'000U);
  codes.alphabet = "decimal";
  codes.length = 2;
  ASSERT_TRUE(mill->Create("few", codes).ok());
  EXPECT_EQ(mill->FillPool("few", 101).code(), Code::kExhausted);
}

class CKeysTest : public MillKeysTest {
 protected:
  void SetUp() override {
    keymill_options options{};
    options.size = sizeof(options);
    options.data_dir = dir_.c_str();
    ASSERT_EQ(keymill_open(&options, &mill_), KEYMILL_OK) << keymill_message();
  }
  void TearDown() override { keymill_close(mill_); }

  keymill_mill* mill_ = nullptr;
};

TEST_F(CKeysTest, ClaimsAliases) {
  EXPECT_EQ(keymill_claim(mill_, "default", "my-link", "ada"), KEYMILL_OK) << keymill_message();
  EXPECT_EQ(keymill_claim(mill_, "default", "my-link", "ada"), KEYMILL_OK);
  EXPECT_EQ(keymill_claim(mill_, "default", "my-link", nullptr), KEYMILL_ALREADY_EXISTS);
  EXPECT_THAT(keymill_message(), HasSubstr("taken"));
  EXPECT_EQ(keymill_claim(mill_, "default", "abcdefg", nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_claim(mill_, "default", nullptr, nullptr), KEYMILL_INVALID_ARGUMENT);
}

TEST_F(CKeysTest, DerivesKeysFromBytes) {
  ASSERT_EQ(keymill_create(mill_, "pages", "kind=derived"), KEYMILL_OK) << keymill_message();
  char first[KEYMILL_KEY_SIZE] = "";
  char other[KEYMILL_KEY_SIZE] = "";
  int existing = 7;
  const char bytes[] = {'a', '\0', 'b'};
  ASSERT_EQ(keymill_derive(mill_, "pages", bytes, 3, nullptr, first, sizeof first, &existing),
            KEYMILL_OK)
      << keymill_message();
  EXPECT_EQ(existing, 0);
  EXPECT_EQ(std::string(first).size(), 7U);
  ASSERT_EQ(keymill_derive(mill_, "pages", bytes, 3, "", other, sizeof other, &existing),
            KEYMILL_OK);
  EXPECT_EQ(existing, 1);
  EXPECT_STREQ(first, other);
  ASSERT_EQ(keymill_derive(mill_, "pages", bytes, 1, nullptr, other, sizeof other, nullptr),
            KEYMILL_OK);
  EXPECT_STRNE(first, other) << "what follows a NUL counts";
  ASSERT_EQ(keymill_derive(mill_, "pages", bytes, 3, "ada", other, sizeof other, nullptr),
            KEYMILL_OK);
  EXPECT_STRNE(first, other);
  EXPECT_EQ(keymill_derive(mill_, "default", bytes, 3, nullptr, other, sizeof other, nullptr),
            KEYMILL_INVALID_ARGUMENT);
  EXPECT_STREQ(other, "");
  EXPECT_EQ(keymill_derive(mill_, "pages", bytes, 3, nullptr, other, 8, nullptr),
            KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_derive(mill_, "pages", nullptr, 3, nullptr, other, sizeof other, nullptr),
            KEYMILL_INVALID_ARGUMENT);
}

TEST_F(CKeysTest, FillsPools) {
  ASSERT_EQ(keymill_create(mill_, "codes", "kind=pool"), KEYMILL_OK) << keymill_message();
  EXPECT_EQ(keymill_fill_pool(mill_, "codes", 100), KEYMILL_OK) << keymill_message();
  EXPECT_EQ(keymill_fill_pool(mill_, "default", 100), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_fill_pool(nullptr, "codes", 100), KEYMILL_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace keymill
