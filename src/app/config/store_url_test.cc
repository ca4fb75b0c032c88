// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/store_url.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::app {
namespace {

TEST(StoreUrlTest, AcceptsWhatThisVersionHas) {
  for (const char* url : {"sqlite:keymill.db", "sqlite:/var/lib/keymill/k.db", "memory:"}) {
    EXPECT_TRUE(CheckStoreUrl(url).ok()) << url;
  }
}

TEST(StoreUrlTest, SaysThatAStoreIsNotInThisVersion) {
  EXPECT_EQ(CheckStoreUrl("postgres://bob:hunter2@db/keys").message(),
            "this version has no PostgreSQL store, which \"postgres://***@db/keys\" asks for; "
            "use sqlite:PATH or memory:");
  const auto says = [](const char* url, const char* name) {
    const std::string message = CheckStoreUrl(url).message();
    EXPECT_TRUE(message.starts_with(std::string("this version has no ") + name + " store"))
        << message;
  };
  says("postgresql://db", "PostgreSQL");
  says("mariadb://db", "MariaDB");
  says("mysql://db", "MySQL");
  says("redis://db", "Redis");
  says("rediss://db", "Redis");
  says("etcd://a:2379,b:2379/keymill", "etcd");
}

TEST(StoreUrlTest, ListsTheFormsForAnythingElse) {
  for (const char* url : {"sqlite:", "sqlite://k.db", "sqlite", "memory", "memory:x", "k.db",
                          "SQLITE:k.db", "mongodb://db"}) {
    EXPECT_EQ(CheckStoreUrl(url).message(),
              "expected sqlite:PATH or memory:, not \"" + std::string(url) + "\"");
  }
  EXPECT_EQ(CheckStoreUrl("mongodb://bob:hunter2@db").message(),
            "expected sqlite:PATH or memory:, not \"mongodb://***@db\"");
}

}  // namespace
}  // namespace keymill::app
