// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/listen_address.h"

#include <string>

#include <gtest/gtest.h>

namespace keymill::app {
namespace {

TEST(ListenAddressTest, SplitsHostAndPort) {
  const Result<ListenAddress> v4 = ParseListenAddress("127.0.0.1:8080");
  ASSERT_TRUE(v4.ok());
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 8080);

  const Result<ListenAddress> v6 = ParseListenAddress("[::1]:0");
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 0);

  const Result<ListenAddress> name = ParseListenAddress("keys.example-1.org:65535");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(name->host, "keys.example-1.org");
  EXPECT_EQ(name->port, 65535);
}

TEST(ListenAddressTest, AListenerOnEveryAddressIsReachedAtTheLoopbackOne) {
  EXPECT_EQ(UrlOf({.host = "127.0.0.1", .port = 80}), "http://127.0.0.1:80");
  EXPECT_EQ(UrlOf({.host = "0.0.0.0", .port = 8080}), "http://127.0.0.1:8080");
  EXPECT_EQ(UrlOf({.host = "::", .port = 8080}), "http://[::1]:8080");
  EXPECT_EQ(UrlOf({.host = "keys.example.org", .port = 1}), "http://keys.example.org:1");
}

TEST(ListenAddressTest, RefusesEverythingElse) {
  for (const char* text : {"8080",
                           "127.0.0.1",
                           "127.0.0.1:",
                           "127.0.0.1:65536",
                           "127.0.0.1:-1",
                           "127.0.0.1:+1",
                           "127.0.0.1: 80",
                           "127.0.0.1:http",
                           "::1:8080",
                           "[::1]",
                           "[::1",
                           "[::1]8080",
                           "[]:80",
                           "[127.0.0.1]:80",
                           "[:80",
                           "]:80",
                           "127.1:80",
                           "1.2.3.4.5:80",
                           "999.0.0.1:80",
                           "a b:80",
                           "http://127.0.0.1:80",
                           "127.0.0.1:80/x",
                           "*:80"}) {
    EXPECT_EQ(ParseListenAddress(text).status().message(),
              "expected HOST:PORT or [IPv6]:PORT with a port in [0, 65535], not \"" +
                  std::string(text) + "\"");
  }
  EXPECT_FALSE(ParseListenAddress(std::string("127.0.0.1\0.x:80", 15)).ok());
  EXPECT_FALSE(ParseListenAddress(std::string(300, 'a') + ":80").ok());
}

TEST(ListenAddressTest, AsksForAHostInsteadOfTakingAll) {
  EXPECT_EQ(ParseListenAddress(":8080").status().message(),
            "\":8080\" does not say who may connect; write 127.0.0.1:8080 (this machine) or "
            "0.0.0.0:8080 (everyone)");
}

TEST(IsLoopbackTest, KnowsThisMachineOnly) {
  for (const char* host :
       {"127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "localhost", "LocalHost"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "128.0.0.1", "10.0.0.1", "::ffff:127.0.0.1",
                           "localhost.evil.org", "127.0.0.1.evil.org", "", "local", "fe80::1"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace keymill::app
