// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/block_operations.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"

namespace keymill::api::http {
namespace {

using testing::HasSubstr;

class BlockOperationsTest : public testing::Test {
 protected:
  // A block of `orders`.
  nlohmann::json Lend(const std::string& query) {
    const Response response = client_.Ask("POST", "/v1/keyspaces/orders/blocks" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    return nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  }
  Response Return(const nlohmann::json& block, const std::string& query) {
    return client_.Ask("DELETE",
                       "/v1/keyspaces/orders/blocks/" + block["id"].get<std::string>() + query);
  }
  std::string Type(const Response& response) {
    return nlohmann::json::parse(response.body, nullptr, false).value("type", "");
  }

  TestServer server_;
  Client client_{server_};
};

TEST_F(BlockOperationsTest, ABlockIsLentAndTheRestComesBackOnce) {
  const nlohmann::json block = Lend("?count=100");
  EXPECT_EQ(block["keyspace"], "orders");
  EXPECT_TRUE(block["first"].is_string()) << "a 64-bit number loses digits in JavaScript";
  EXPECT_EQ(block["count"], 100);
  EXPECT_EQ(block["stride"], 1);
  EXPECT_EQ(block["first_key"], block["first"]) << "keys of decimal digits are the numbers";
  EXPECT_THAT(block["expires_at"].get<std::string>(), testing::EndsWith("Z"));

  const Response back = Return(block, "?used=40");
  EXPECT_EQ(back.status, 204);
  EXPECT_EQ(back.header("cache-control"), "no-store");
  const Response again = Return(block, "?used=40");
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(Type(again), "block-not-found");
  const nlohmann::json rest = Lend("?count=100");
  EXPECT_EQ(std::stoull(rest["first"].get<std::string>()),
            std::stoull(block["first"].get<std::string>()) + 40);
  EXPECT_EQ(rest["count"], 60) << "at least one number, and not always all";
}

TEST_F(BlockOperationsTest, WordsMayComeAsJson) {
  const Response response =
      client_.AskJson("POST", "/v1/keyspaces/orders/blocks", R"({"count":7,"ttl":60})");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(response.body, HasSubstr(R"("count":7)"));
  EXPECT_EQ(Lend("")["count"], 1000);
}

TEST_F(BlockOperationsTest, WhatIsWrongIsNamed) {
  for (const char* const query : {"?count=0", "?count=1000001", "?count=-1", "?count=a", "?ttl=0",
                                  "?ttl=86401", "?count=1&count=2", "?cuont=1"}) {
    const Response response =
        client_.Ask("POST", std::string("/v1/keyspaces/orders/blocks") + query);
    EXPECT_EQ(response.status, 400) << query;
    EXPECT_EQ(Type(response), "bad-request") << query;
  }
  const nlohmann::json block = Lend("?count=10");
  for (const char* const query : {"", "?used=", "?used=-1", "?used=11", "?used=x", "?usd=1"}) {
    EXPECT_EQ(Return(block, query).status, 400) << query;
  }
  EXPECT_THAT(Return(block, "").body, HasSubstr("used is missing"));
  EXPECT_EQ(Return(block, "?used=10").status, 204) << "none of that was a return";
}

TEST_F(BlockOperationsTest, OnlyPostLendsAndOnlyDeleteReturns) {
  EXPECT_EQ(client_.Ask("GET", "/v1/keyspaces/orders/blocks").status, 405);
  EXPECT_EQ(client_.Ask("HEAD", "/v1/keyspaces/orders/blocks").status, 405);
  const Response response = client_.Ask("GET", "/v1/keyspaces/orders/blocks/x");
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.header("allow"), "DELETE");
  EXPECT_EQ(client_.Ask("POST", "/v1/keyspaces/orders/blocks", "Origin: http://b\r\n").status, 403);
}

TEST_F(BlockOperationsTest, KeyspacesThatCannotBeLentSaySo) {
  const Response shuffled = client_.Ask("POST", "/v1/keyspaces/default/blocks?count=10");
  EXPECT_EQ(shuffled.status, 422);
  EXPECT_EQ(Type(shuffled), "keys-not-lendable");
  EXPECT_THAT(shuffled.body, HasSubstr("POST /v1/keyspaces/default/keys"));
  EXPECT_EQ(client_.Ask("POST", "/v1/keyspaces/nothing/blocks").status, 404);
  EXPECT_EQ(client_.Ask("DELETE", "/v1/keyspaces/nothing/blocks/1-2-3?used=1").status, 404);
}

TEST_F(BlockOperationsTest, RetiredQuarantinedAndAway) {
  const nlohmann::json block = Lend("?count=10");
  server_.store().down = true;
  EXPECT_EQ(client_.Ask("POST", "/v1/keyspaces/orders/blocks").status, 503);
  EXPECT_EQ(Return(block, "?used=1").status, 503);
  server_.store().down = false;
  ASSERT_EQ(client_.Ask("DELETE", "/v1/keyspaces/orders").status, 200);
  const Response retired = client_.Ask("POST", "/v1/keyspaces/orders/blocks");
  EXPECT_EQ(retired.status, 410);
  EXPECT_EQ(Type(retired), "keyspace-retired");
  EXPECT_EQ(Return(block, "?used=1").status, 410);
}

TEST(BlockExpiryTest, AfterItsTimeABlockIsBurned) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  const Response lent = client.Ask("POST", "/v1/keyspaces/orders/blocks?count=10&ttl=60");
  ASSERT_EQ(lent.status, 200) << lent.body;
  clock.StepWall(std::chrono::seconds(60));
  const std::string id = nlohmann::json::parse(lent.body)["id"];
  const Response late = client.Ask("DELETE", "/v1/keyspaces/orders/blocks/" + id + "?used=1");
  EXPECT_EQ(late.status, 410);
  EXPECT_THAT(late.body, HasSubstr(R"("type":"block-expired")"));
  const Response next = client.Ask("POST", "/v1/keyspaces/orders/blocks?count=10");
  EXPECT_THAT(next.body, HasSubstr(R"("first":"11")"));
}

}  // namespace
}  // namespace keymill::api::http
