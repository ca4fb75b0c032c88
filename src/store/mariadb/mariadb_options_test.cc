// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/mariadb/mariadb_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<MariadbOptions> Read(std::string_view url) {
  Result<StoreUrl> parsed = ParseStoreUrl(url);
  if (!parsed.ok()) return parsed.status();
  return ReadMariadbOptions(*parsed);
}

TEST(MariadbOptionsTest, HostsHaveTheUsualPortAndTlsIsOffUnlessAskedFor) {
  const auto options = Read("mariadb://mill:secret@db1,db2:3307/keys");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_THAT(options->hosts, ElementsAre(HostPort{"db1", 3306}, HostPort{"db2", 3307}));
  EXPECT_EQ(options->user, "mill");
  EXPECT_EQ(options->password, "secret");
  EXPECT_EQ(options->database, "keys");
  EXPECT_FALSE(options->tls);
}

TEST(MariadbOptionsTest, TlsIsVerifiedUnlessThatIsTurnedOff) {
  const auto with_ca = Read("mysql://db/keys?ssl_ca=/etc/ca.pem");
  ASSERT_TRUE(with_ca.ok()) << with_ca.status().message();
  EXPECT_TRUE(with_ca->tls);
  EXPECT_TRUE(with_ca->tls_verify);
  EXPECT_EQ(with_ca->tls_ca, "/etc/ca.pem");
  const auto blind = Read("mariadb://db/keys?ssl=on&ssl_verify=off");
  ASSERT_TRUE(blind.ok()) << blind.status().message();
  EXPECT_TRUE(blind->tls);
  EXPECT_FALSE(blind->tls_verify);
}

TEST(MariadbOptionsTest, ASocketNeedsNoHost) {
  const auto options = Read("mariadb://mill@/keys?socket=/run/mysqld/mysqld.sock");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_TRUE(options->hosts.empty());
  EXPECT_EQ(options->socket, "/run/mysqld/mysqld.sock");
}

TEST(MariadbOptionsTest, WhatMakesNoSenseIsRefusedWithoutShowingThePassword) {
  for (const char* const url :
       {"mariadb://u:secret@db", "mariadb://u:secret@db/", "mariadb://u:secret@db/a/b",
        "mariadb://u:secret@db/keys?ssl=maybe", "mariadb://u:secret@db/keys?ssl_ca=",
        "mariadb://u:secret@db/keys?ssl=off&ssl_ca=x", "mariadb://u:secret@db/keys?socket=/s"}) {
    const auto options = Read(url);
    EXPECT_EQ(options.code(), Code::kInvalidArgument) << url;
    EXPECT_THAT(options.status().message(), Not(HasSubstr("secret"))) << url;
  }
}

TEST(MariadbOptionsTest, AnUnknownParameterIsRefusedWithThoseThatThereAre) {
  const auto options = Read("mariadb://db/keys?sslmode=require");
  EXPECT_EQ(options.code(), Code::kInvalidArgument);
  EXPECT_THAT(options.status().message(), HasSubstr("sslmode"));
  EXPECT_THAT(options.status().message(), HasSubstr("ssl_verify"));
}

}  // namespace
}  // namespace keymill::store
