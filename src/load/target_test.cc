// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "load/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::load {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string RequestOf(std::string_view url, const TargetRequest& request = {}) {
  const auto target = ParseTarget(url, request);
  if (!target.ok()) return target.status().message();
  std::string text;
  target->protocol->AppendRequest(text);
  return text;
}

TEST(TargetTest, AUrlNamesHostPortAndPath) {
  const auto target = ParseTarget("http://example.org:8081/a/b?c=d", {});
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->host, "example.org");
  EXPECT_EQ(target->port, "8081");
  EXPECT_THAT(RequestOf("http://example.org:8081/a/b?c=d"),
              StartsWith("GET /a/b?c=d HTTP/1.1\r\nHost: example.org:8081\r\n"));
  EXPECT_EQ(ParseTarget("http://[::1]:9", {})->host, "::1");
  EXPECT_EQ(ParseTarget("http://h", {})->port, "80");
}

TEST(TargetTest, WithoutAPathItIsGetKey) {
  for (const char* url : {"http://h:1", "http://h:1/", "h:1"}) {
    EXPECT_THAT(RequestOf(url), StartsWith("GET /get-key HTTP/1.1\r\nHost: h:1\r\n")) << url;
  }
}

TEST(TargetTest, AKeyspaceIsAskedByPost) {
  EXPECT_THAT(RequestOf("http://h", {.keyspace = "orders", .count = 7}),
              StartsWith("POST /v1/keyspaces/orders/keys?count=7 HTTP/1.1\r\n"));
}

TEST(TargetTest, RedisIsAskedOverResp) {
  EXPECT_EQ(ParseTarget("redis://h", {})->port, "6380");
  EXPECT_EQ(RequestOf("redis://h:1"), "*2\r\n$12\r\nKEYMILL.MINT\r\n$7\r\ndefault\r\n");
  EXPECT_THAT(RequestOf("redis://h:1", {.keyspace = "orders", .count = 7}),
              HasSubstr("$6\r\norders\r\n$5\r\nCOUNT\r\n$1\r\n7\r\n"));
}

TEST(TargetTest, WhatIsNoUrlIsNamed) {
  for (const char* wrong :
       {"", "http://", "http://:80", "http://h:", "http://h:0", "http://h:65536", "http://h:x",
        "http://[::1", "http://h/a b", "https://h", "redis://h/0", "http://h/x\r\ny"}) {
    const auto target = ParseTarget(wrong, {});
    ASSERT_FALSE(target.ok()) << wrong;
    EXPECT_EQ(target.code(), Code::kInvalidArgument);
    EXPECT_THAT(target.status().message(), HasSubstr(wrong));
  }
  EXPECT_FALSE(ParseTarget("http://h/x", {.keyspace = "k"}).ok());
  EXPECT_FALSE(ParseTarget("http://h", {.keyspace = "a/b"}).ok());
}

TEST(TargetTest, NobodyThereIsSaidWithTheUrl) {
  auto target = ParseTarget("http://127.0.0.1:1", {});
  ASSERT_TRUE(target.ok());
  const Status status = Reach(*target);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("http://127.0.0.1:1: Connection refused"));
}

}  // namespace
}  // namespace keymill::load
