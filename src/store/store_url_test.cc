// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/store_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(StoreUrlTest, HasUserHostsPathAndParameters) {
  const auto url = ParseStoreUrl(
      "postgres://ann:s%2Fe:c@db1:5433,[::1]:5434,db2/mill%20s?sslmode=verify-full&a=");
  ASSERT_TRUE(url.ok()) << url.status().message();
  EXPECT_EQ(url->scheme, "postgres");
  EXPECT_EQ(url->user, "ann");
  EXPECT_EQ(url->password, "s/e:c");
  EXPECT_THAT(url->hosts,
              ElementsAre(HostPort{"db1", 5433}, HostPort{"::1", 5434}, HostPort{"db2", 0}));
  EXPECT_EQ(url->path, "mill s");
  EXPECT_THAT(url->query, ElementsAre(Pair("a", ""), Pair("sslmode", "verify-full")));
}

TEST(StoreUrlTest, AllButTheSchemeMayBeAbsent) {
  const auto url = ParseStoreUrl("postgres:///?host=/run/postgresql");
  ASSERT_TRUE(url.ok()) << url.status().message();
  EXPECT_TRUE(url->hosts.empty());
  EXPECT_EQ(url->path, "");
  EXPECT_EQ(url->query.at("host"), "/run/postgresql");
}

TEST(StoreUrlTest, WhatCannotBeIsRefusedWithoutShowingThePassword) {
  for (const char* const text :
       {"", "://h", "postgres", "redis://u:secret@h:0", "redis://u:secret@h:65536",
        "redis://u:secret@h:x", "redis://u:secret@h,", "redis://u:secret@,h",
        "redis://u:secret@[::1", "redis://u:secret@[::1]x", "redis://u:secret%2@h",
        "redis://u:secret%zz@h", "redis://u:secret%00@h", "redis://u:secret@h?a=1&a=2",
        "redis://u:12?secret@h", "redis://u:12/secret@h", "redis://u:p@q/secret@h/0",
        "redis://h/0?a=secret@b"}) {
    const auto url = ParseStoreUrl(text);
    EXPECT_EQ(url.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(url.status().message(), Not(HasSubstr("secret"))) << text;
  }
}

TEST(StoreUrlTest, IsShownWithoutItsPassword) {
  EXPECT_EQ(ShownUrl("postgres://ann:secret@db1,db2/mill?sslmode=require&password=p&x=1"),
            "postgres://ann@db1,db2/mill?sslmode=require&x=1");
  EXPECT_EQ(ShownUrl("redis://:secret@h:6379/0"), "redis://@h:6379/0");
  EXPECT_EQ(ShownUrl("etcd://h1:2379,h2:2379/keymill"), "etcd://h1:2379,h2:2379/keymill");
  EXPECT_EQ(ShownUrl("redis://u:se@cret@h"), "redis://u@h");
  EXPECT_EQ(ShownUrl("sqlite:keymill.db"), "sqlite:keymill.db");
  EXPECT_EQ(ShownUrl("postgres//ann:secret@h"), "postgres…");
  EXPECT_EQ(ShownUrl("sqlite:a@b.db"), "sqlite:a@b.db");
}

TEST(StoreUrlTest, OfWhatIsNoUrlOnlyTheSchemeIsShown) {
  EXPECT_EQ(ShownScheme("redis://secret@h"), "redis://…");
  for (const char* const text : {"mariadb://u:secret?x@h", "mariadb://u:12?secret@h",
                                 "mariadb://u:12/secret@h/db", "mariadb://u:secret@h:x"}) {
    EXPECT_EQ(ShownUrl(text), "mariadb://…") << text;
    EXPECT_EQ(ShownScheme(text), "mariadb://…") << text;
  }
  EXPECT_EQ(ShownUrl("secret@h"), "…");
  EXPECT_EQ(ShownUrl("u:secret@h://"), "…://…");
  EXPECT_EQ(ShownUrl("redis:secret"), "redis…");
  EXPECT_EQ(ShownUrl("./keymill.db"), "./keymill.db");
  EXPECT_EQ(ShownUrl("memory:"), "memory:");
}

}  // namespace
}  // namespace keymill::store
