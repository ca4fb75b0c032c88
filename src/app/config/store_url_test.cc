// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/store_url.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embed/stores.h"

namespace keymill::app {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(StoreUrlTest, AcceptsWhatThisVersionHas) {
  for (const char* url : {"sqlite:keymill.db", "sqlite:/var/lib/keymill/k.db", "memory:"}) {
    EXPECT_TRUE(CheckStoreUrl(url).ok()) << url;
  }
}

TEST(StoreUrlTest, AcceptsAServerOrSaysThatThisBuildHasNone) {
  const std::vector<std::string_view> schemes = embed::StoreSchemes();
  const auto checks = [&](const std::string& url, std::string_view scheme, const char* name) {
    const Status checked = CheckStoreUrl(url);
    if (std::find(schemes.begin(), schemes.end(), scheme) != schemes.end()) {
      EXPECT_TRUE(checked.ok()) << checked.message();
    } else {
      EXPECT_THAT(checked.message(),
                  HasSubstr(std::string("this build has no ") + name + " store; use sqlite:PATH"));
    }
    EXPECT_THAT(checked.message(), Not(HasSubstr("hunter2")));
  };
  checks("postgres://bob:hunter2@db/keys", "postgres", "PostgreSQL");
  checks("postgresql://db", "postgres", "PostgreSQL");
  checks("mariadb://bob:hunter2@db/keys", "mariadb", "MariaDB");
  checks("mysql://db/keys", "mariadb", "MariaDB");
  checks("redis://:hunter2@db", "redis", "Redis");
  checks("rediss://mill:hunter2@db:6380/0?prefix=mill", "redis", "Redis");
  checks("etcd://a:2379,b:2379/keymill", "etcd", "etcd");
}

TEST(StoreUrlTest, SaysWhatIsWrongWithTheUrlOfAServer) {
  const std::vector<std::string_view> schemes = embed::StoreSchemes();
  if (std::find(schemes.begin(), schemes.end(), "postgres") == schemes.end()) {
    GTEST_SKIP() << "this build has no PostgreSQL store";
  }
  EXPECT_THAT(CheckStoreUrl("postgres://bob:hunter2@db:0/keys").message(),
              AllOf(HasSubstr("a port must be"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(CheckStoreUrl("postgres://bob:hunter2@db/keys?sslmod=require").message(),
              AllOf(HasSubstr("unknown parameter \"sslmod\", did you mean \"sslmode\"?"),
                    Not(HasSubstr("hunter2"))));
}

TEST(StoreUrlTest, ListsTheFormsForAnythingElse) {
  const std::string expected = "expected " + embed::StoreForms() + ", not ";
  EXPECT_THAT(expected, HasSubstr("sqlite:PATH"));
  for (const char* url : {"sqlite:", "sqlite://k.db", "sqlite", "memory", "k.db"}) {
    EXPECT_EQ(CheckStoreUrl(url).message(), expected + "\"" + std::string(url) + "\"");
  }
  // Anything after a scheme may be a password.
  EXPECT_EQ(CheckStoreUrl("memory:x").message(), expected + "\"memory…\"");
  EXPECT_EQ(CheckStoreUrl("SQLITE:k.db").message(), expected + "\"SQLITE…\"");
  EXPECT_EQ(CheckStoreUrl("mongodb://db").message(), expected + "\"mongodb://…\"");
  EXPECT_EQ(CheckStoreUrl("mongodb://bob:hunter2@db").message(), expected + "\"mongodb://…\"");
  EXPECT_EQ(CheckStoreUrl("mongodb://hunter2").message(), expected + "\"mongodb://…\"");
}

}  // namespace
}  // namespace keymill::app
