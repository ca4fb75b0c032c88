// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "store/etcd/etcd_options.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::store::etcd {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<EtcdOptions> Read(const char* text) {
  Result<StoreUrl> url = ParseStoreUrl(text);
  if (!url.ok()) return url.status();
  return ReadOptions(*url);
}

TEST(EtcdOptionsTest, ReadsMembersPrefixAndUser) {
  const auto options = Read("etcd://mill:p%40ss@a,b:1,[::1]:2/some/prefix/");
  ASSERT_TRUE(options.ok()) << options.status().message();
  ASSERT_EQ(options->members.size(), 3U);
  EXPECT_EQ(MemberText(options->members[0]), "a:2379");
  EXPECT_EQ(MemberText(options->members[1]), "b:1");
  EXPECT_EQ(MemberText(options->members[2]), "[::1]:2");
  EXPECT_EQ(options->prefix, "some/prefix");
  EXPECT_EQ(options->user, "mill");
  EXPECT_EQ(options->password, "p@ss");
  EXPECT_FALSE(options->tls.on);
}

TEST(EtcdOptionsTest, HasDefaults) {
  const auto options = Read("etcd://");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ(MemberText(options->members.at(0)), "127.0.0.1:2379");
  EXPECT_EQ(options->prefix, "keymill");
}

TEST(EtcdOptionsTest, AFileOfCertificatesMeansTls) {
  for (const char* url : {"etcd://a/?tls=on", "etcd://a/?cacert=ca.pem",
                          "etcd://a/?cert=c.pem&key=k.pem", "etcd://a/?tls=on&cacert=ca.pem"}) {
    const auto options = Read(url);
    ASSERT_TRUE(options.ok()) << url << ": " << options.status().message();
    EXPECT_TRUE(options->tls.on) << url;
    EXPECT_TRUE(options->tls.verify) << url;
  }
  EXPECT_FALSE(Read("etcd://a/?tls=on&verify=off")->tls.verify);
}

TEST(EtcdOptionsTest, RefusesWhatMakesNoSenseAndNamesNoPassword) {
  for (const char* url : {"etcd://u:hunter2@a/?tls=yes", "etcd://u:hunter2@a/?cert=c.pem",
                          "etcd://:hunter2@a/", "etcd://u:hunter2@a/?tls=off&cacert=x",
                          "etcd://u:hunter2@a/?verify=off", "etcd://u:hunter2@a/?timeout=3"}) {
    const auto options = Read(url);
    EXPECT_EQ(options.code(), Code::kInvalidArgument) << url;
    EXPECT_THAT(options.status().message(), Not(HasSubstr("hunter2")));
  }
  EXPECT_THAT(Read("etcd://a/?timeout=3").status().message(),
              HasSubstr("there are tls, verify, cacert, cert and key"));
}

}  // namespace
}  // namespace keymill::store::etcd
