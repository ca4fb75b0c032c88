// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Aliases, derived keys and pools through the library, in C++ and in C.

#include <cstdint>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keymill/c.h"
#include "keymill/keymill.h"

#include "support/temp_dir.h"

namespace keymill {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::StartsWith;

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

TEST_F(MillKeysTest, APoolIsToppedUpUnlessThatIsForbidden) {
  MillOptions options{.data_dir = dir_};
  options.pool_low = 0;
  {
    const auto mill = Mill::Open(options);
    ASSERT_TRUE(mill.ok()) << mill.status().message();
    ASSERT_TRUE((*mill)->Create("codes", DefaultRecipe(Kind::kPool)).ok());
    EXPECT_EQ((*mill)->Next("codes").code(), Code::kExhausted);
  }
  options.pool_low = 5;
  const auto mill = Mill::Open(options);
  ASSERT_TRUE(mill.ok()) << mill.status().message();
  EXPECT_TRUE((*mill)->Next("codes").ok());
}

TEST_F(MillKeysTest, KeysByNameAreExplainedFromTheirRecord) {
  using State = Mill::Explanation::State;
  const auto mill = Open();
  ASSERT_TRUE(mill->Claim("default", "my-link", "ada").ok());
  const auto alias = mill->Explain("default", "my-link");
  ASSERT_TRUE(alias.ok()) << alias.status().message();
  EXPECT_EQ(alias->state, State::kAlias);
  EXPECT_EQ(alias->kind, Kind::kShuffled);
  EXPECT_FALSE(alias->number);
  EXPECT_EQ(alias->owner, "ada");
  EXPECT_GT(alias->since_ms.value_or(0), kSnowflakeEpochMs);
  EXPECT_FALSE(alias->expires_at_ms);
  ASSERT_TRUE(mill->Create("pages", DefaultRecipe(Kind::kDerived)).ok());
  const auto derived = mill->Explain("pages", mill->Derive("pages", "content")->key);
  ASSERT_TRUE(derived.ok()) << derived.status().message();
  EXPECT_EQ(derived->state, State::kIssued);
  EXPECT_EQ(derived->kind, Kind::kDerived);
  EXPECT_NE(derived->instance, "");
  EXPECT_EQ(derived->owner, "");
  Recipe codes = DefaultRecipe(Kind::kPool);
  codes.expires_s = 3'600;
  ASSERT_TRUE(mill->Create("codes", codes).ok());
  const auto key = mill->Next("codes");
  ASSERT_TRUE(key.ok()) << key.status().message();
  const auto pooled = mill->Explain("codes", *key);
  ASSERT_TRUE(pooled.ok()) << pooled.status().message();
  EXPECT_EQ(pooled->kind, Kind::kPool);
  EXPECT_EQ(pooled->generation, 0U);
  ASSERT_TRUE(pooled->since_ms && pooled->expires_at_ms);
  // The clock was read for each of the two.
  EXPECT_THAT(*pooled->expires_at_ms - *pooled->since_ms,
              AllOf(Ge(3'600'000 - 60'000), Le(3'600'000 + 60'000)));
}

TEST_F(MillKeysTest, AKeyOfAPoolIsReleasedOnce) {
  const auto mill = Open();
  Recipe codes = DefaultRecipe(Kind::kPool);
  codes.recycle = true;
  ASSERT_TRUE(mill->Create("codes", codes).ok());
  const auto key = mill->Next("codes");
  ASSERT_TRUE(key.ok()) << key.status().message();
  const Status other = mill->Release("codes", *key, 1);
  EXPECT_EQ(other.code(), Code::kAlreadyExists);
  EXPECT_THAT(other.message(), HasSubstr("generation 0, not 1"));
  const Status released = mill->Release("codes", *key, mill->Explain("codes", *key)->generation);
  EXPECT_TRUE(released.ok()) << released.message();
  const Status again = mill->Release("codes", *key);
  EXPECT_EQ(again.code(), Code::kAlreadyExists);
  EXPECT_THAT(again.message(), HasSubstr("the key is released"));
}

TEST_F(MillKeysTest, WhatCannotBeReleasedSaysWhy) {
  const auto mill = Open();
  ASSERT_TRUE(mill->Create("codes", DefaultRecipe(Kind::kPool)).ok());
  const auto key = mill->Next("codes");
  ASSERT_TRUE(key.ok()) << key.status().message();
  const Status kept = mill->Release("codes", *key);
  EXPECT_EQ(kept.code(), Code::kInvalidArgument);
  EXPECT_THAT(kept.message(), HasSubstr("does not take keys back"));
  EXPECT_EQ(mill->Release("default", *mill->Next("default")).code(), Code::kInvalidArgument);
  Recipe recycling = DefaultRecipe(Kind::kPool);
  recycling.recycle = true;
  ASSERT_TRUE(mill->Create("again", recycling).ok());
  EXPECT_EQ(mill->Release("again", "nobody").code(), Code::kNotFound);
  EXPECT_EQ(mill->Release("nowhere", "nobody").code(), Code::kNotFound);
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

TEST_F(CKeysTest, ReleasesKeysOfPools) {
  ASSERT_EQ(keymill_create(mill_, "codes", "kind=pool recycle=true"), KEYMILL_OK)
      << keymill_message();
  char key[KEYMILL_KEY_SIZE] = "";
  ASSERT_EQ(keymill_next(mill_, "codes", key, sizeof key), KEYMILL_OK) << keymill_message();
  std::uint64_t generation = 1;
  EXPECT_EQ(keymill_release(mill_, "codes", key, &generation), KEYMILL_ALREADY_EXISTS);
  generation = 0;
  EXPECT_EQ(keymill_release(mill_, "codes", key, &generation), KEYMILL_OK) << keymill_message();
  EXPECT_EQ(keymill_release(mill_, "codes", key, nullptr), KEYMILL_ALREADY_EXISTS);
  EXPECT_THAT(keymill_message(), HasSubstr("the key is released"));
  ASSERT_EQ(keymill_next(mill_, "codes", key, sizeof key), KEYMILL_OK) << keymill_message();
  EXPECT_EQ(keymill_release(mill_, "codes", key, nullptr), KEYMILL_OK) << keymill_message();
  EXPECT_EQ(keymill_release(mill_, "codes", "nobody", nullptr), KEYMILL_NOT_FOUND);
  EXPECT_EQ(keymill_release(mill_, "default", key, nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_release(nullptr, "codes", key, nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_release(mill_, nullptr, key, nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_EQ(keymill_release(mill_, "codes", nullptr, nullptr), KEYMILL_INVALID_ARGUMENT);
  EXPECT_STREQ(keymill_message(), "key is NULL");
}

TEST_F(CKeysTest, ExplainsARecordWithItsOwnerLast) {
  std::string owner = "Ada Lovelace owner=";
  owner.resize(200, 'x');
  ASSERT_EQ(keymill_claim(mill_, "default", "my-link", owner.c_str()), KEYMILL_OK)
      << keymill_message();
  char text[KEYMILL_EXPLANATION_SIZE] = "";
  ASSERT_EQ(keymill_explain(mill_, "default", "my-link", text, sizeof text), KEYMILL_OK)
      << keymill_message();
  EXPECT_THAT(text, AllOf(StartsWith("state=alias kind=shuffled since_ms="),
                          HasSubstr(" generation=0 instance="), EndsWith(" owner=" + owner)));
  ASSERT_EQ(keymill_create(mill_, "codes", "kind=pool expires_s=3600"), KEYMILL_OK)
      << keymill_message();
  char key[KEYMILL_KEY_SIZE] = "";
  ASSERT_EQ(keymill_next(mill_, "codes", key, sizeof key), KEYMILL_OK) << keymill_message();
  ASSERT_EQ(keymill_explain(mill_, "codes", key, text, sizeof text), KEYMILL_OK);
  EXPECT_THAT(text,
              AllOf(StartsWith("state=issued kind=pool since_ms="), HasSubstr(" expires_at_ms="),
                    HasSubstr(" generation=0 instance="), Not(HasSubstr("owner="))));
}

}  // namespace
}  // namespace keymill
