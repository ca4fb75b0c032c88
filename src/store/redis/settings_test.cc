// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/redis/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::store::redis {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<RedisSettings> Read(std::string_view text) {
  Result<StoreUrl> url = ParseStoreUrl(text);
  EXPECT_TRUE(url.ok()) << text;
  return ReadSettings(*url);
}

TEST(RedisSettingsTest, EverythingHasADefaultButTheScheme) {
  const auto settings = Read("redis://");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->host, "127.0.0.1");
  EXPECT_EQ(settings->port, 6379);
  EXPECT_EQ(settings->database, 0U);
  EXPECT_EQ(settings->prefix, "keymill");
  EXPECT_FALSE(settings->tls);
}

TEST(RedisSettingsTest, ReadsAllThatThereIs) {
  const auto settings = Read(
      "rediss://mill:p%40ss@db.example:7000/3?prefix=a:b&tls_ca=/ca.pem&tls_cert=/c.pem"
      "&tls_key=/k.pem&tls_verify=no");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->user, "mill");
  EXPECT_EQ(settings->password, "p@ss");
  EXPECT_EQ(settings->Place(), "redis db.example:7000");
  EXPECT_EQ(settings->database, 3U);
  EXPECT_EQ(settings->prefix, "a:b");
  EXPECT_TRUE(settings->tls);
  EXPECT_FALSE(settings->tls_verify);
  EXPECT_EQ(settings->tls_ca, "/ca.pem");
  EXPECT_TRUE(Read("rediss://h")->tls_verify) << "unless somebody says no";
}

TEST(RedisSettingsTest, WhatIsNotKnownIsRefusedWithWhatIs) {
  const auto unknown = Read("redis://:secret@h/0?prefx=a");
  EXPECT_EQ(unknown.code(), Code::kInvalidArgument);
  EXPECT_THAT(unknown.status().message(), HasSubstr("prefix, tls_ca"));
  EXPECT_THAT(unknown.status().message(), Not(HasSubstr("secret")));
  EXPECT_THAT(Read("redis://a,b").status().message(), HasSubstr("one host"));
  EXPECT_THAT(Read("redis://h/zero").status().message(), HasSubstr("number of the database"));
  EXPECT_THAT(Read("redis://h/0?prefix={}").status().message(), HasSubstr("prefix must be"));
  EXPECT_THAT(Read("redis://h/0?tls_ca=x").status().message(), HasSubstr("needs rediss://"));
  EXPECT_THAT(Read("rediss://h/0?tls_cert=x").status().message(), HasSubstr("go together"));
  EXPECT_THAT(Read("rediss://h/0?tls_verify=maybe").status().message(), HasSubstr("yes or no"));
  EXPECT_THAT(Read("redis://user@h").status().message(), HasSubstr("without a password"));
}

}  // namespace
}  // namespace keymill::store::redis
