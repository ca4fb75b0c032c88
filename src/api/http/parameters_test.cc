// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/parameters.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/http_test_support.h"
#include "api/http/link_operations.h"

namespace keymill::api::http {
namespace {

using testing::HasSubstr;

template <typename Parsed>
void ExpectTwice(const Result<Parsed>& parsed, const std::string& name) {
  EXPECT_EQ(parsed.code(), Code::kInvalidArgument);
  EXPECT_EQ(parsed.status().message(), name + " is given more than once");
}

// Which of two was meant is not for us to guess.
TEST(ParametersTest, NoneIsTakenTwice) {
  ExpectTwice(ParseListPage("limit=1&limit=2"), "limit");
  ExpectTwice(ParseListPage("after=a&limit=2&after=a"), "after");
  ExpectTwice(ParseListPage("after=&after="), "after");
  ExpectTwice(ParseLinkListPage("limit=1&limit=1"), "limit");
  ExpectTwice(ParseLinkListPage("cursor=a&cursor=b"), "cursor");
  ExpectTwice(ParseTimeRange("from=1&to=2&from=3"), "from");
  ExpectTwice(ParseTimeRange("from=1&to=2&to=2"), "to");
}

TEST(ParametersTest, ARepeatedOneIsABadRequest) {
  TestServer server;
  server.Create("ids", DefaultRecipe(Kind::kSnowflake));
  Client client(server);
  for (const char* const target :
       {"/v1/keyspaces?limit=1&limit=2", "/v1/keyspaces?after=a&after=b",
        "/v1/keyspaces/ids/bounds?from=2026-01-01&to=2026-02-01&to=2026-03-01"}) {
    const Response response = client.Ask("GET", target);
    EXPECT_EQ(response.status, 400) << target;
    EXPECT_THAT(response.body, HasSubstr("is given more than once")) << target;
  }
}

TEST(ParametersTest, LinksAreListedFromACursor) {
  const Result<LinkListPage> unsaid = ParseLinkListPage("");
  ASSERT_TRUE(unsaid.ok());
  EXPECT_EQ(unsaid->limit, 100U);
  EXPECT_EQ(unsaid->cursor, "");
  const Result<LinkListPage> page = ParseLinkListPage("cursor=a%20b&limit=1000");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->limit, 1000U);
  EXPECT_EQ(page->cursor, "a b");
  for (const char* const query : {"limit=0", "limit=1001", "limit=", "limit=x", "limt=1"}) {
    EXPECT_THAT(ParseLinkListPage(query).status().message(), HasSubstr("limit")) << query;
  }
  EXPECT_THAT(ParseLinkListPage("after=a").status().message(), HasSubstr("unknown parameter"));
  EXPECT_THAT(ParseListPage("cursor=a").status().message(), HasSubstr("unknown parameter"));
}

}  // namespace
}  // namespace keymill::api::http
