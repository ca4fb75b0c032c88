// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "links/link.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::links {
namespace {

using testing::HasSubstr;

TEST(LinkTest, IsReadAsItWasWritten) {
  const Link link{.key = "k",
                  .url = "https://a.test/?x=1\n2",
                  .alias = true,
                  .created_at_ms = 5,
                  .expires_at_ms = 9};
  EXPECT_EQ(*LinkOf(RowOf(link, "host/1", "random")), link);
  KeyRow row = RowOf(link, "host/1", std::string(kMintedToken));
  row.generation = 7;
  row.since_ms = 8;
  const Result<Link> followed = LinkOf(row);
  EXPECT_FALSE(followed->alias);
  EXPECT_EQ(followed->hits, 7U);
  EXPECT_EQ(followed->counted_at_ms, 8);
  EXPECT_EQ(followed->created_at_ms, 5);
}

TEST(LinkTest, RowsThatAreNoLinksAreTold) {
  KeyRow row = RowOf({.key = "k", .url = "https://a.test/"}, "host/1", "t");
  row.note = "5 https://a.test/";
  EXPECT_EQ(LinkOf(row).code(), Code::kInternal);
  row.note = "x\nhttps://a.test/";
  EXPECT_EQ(LinkOf(row).code(), Code::kInternal);
  row.note = "5\nhttps://a.test/";
  row.state = KeyState::kNote;
  EXPECT_EQ(LinkOf(row).code(), Code::kInternal);
}

TEST(LinkTest, LeadsToTheWebAsItWasSpelt) {
  for (const char* const url : {"http://a.test", "https://A.test:443/x/../y?q=%41#f",
                                "HTTPS://a.test/", "http://[::1]:8080/"}) {
    const Result<Target> target = CheckTarget(url);
    ASSERT_TRUE(target.ok()) << target.status().message();
    EXPECT_EQ(target->url, url);
  }
  // What cannot stand in a header is encoded.
  EXPECT_EQ(CheckTarget("https://a.test/ü")->url, "https://a.test/%C3%BC");
  EXPECT_EQ(CheckTarget("http%3A%2F%2Fa.test%2Fx")->url, "http://a.test/x");
  EXPECT_EQ(CheckTarget("http://A.test:80")->canonical, CheckTarget("http://a.test/")->canonical);
}

TEST(LinkTest, LeadsNowhereElse) {
  for (const char* const url :
       {"", "javascript:alert(1)", "data:text/html,x", "ftp://a.test/", "file:///etc/passwd",
        "//a.test/", "/x", "a.test", "https://", "https://a.test/\r\nSet-Cookie: x=1",
        "https://a.test/a b", "https://a.test/%", "ws://a.test/"}) {
    EXPECT_EQ(CheckTarget(url).code(), Code::kInvalidArgument) << url;
  }
  const std::string most = "https://a.test/" + std::string(kUrlSizeMax - 15, 'x');
  EXPECT_TRUE(CheckTarget(most).ok());
  EXPECT_THAT(CheckTarget(most + "x").status().message(), HasSubstr("2049 bytes"));
}

}  // namespace
}  // namespace keymill::links
