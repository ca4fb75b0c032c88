// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What is not a matter of bytes: which requests reach a peer's endpoint, and what becomes of their
// errors. The bytes are in tests/golden/peers.jsonl.

#include "api/http/peers.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/http_test_support.h"

namespace keymill::api::http {
namespace {

using testing::HasSubstr;

constexpr RouterOptions kAll{.forge = true, .generate_id = true, .leaf = true, .tinyid = true};

class PeersTest : public testing::Test {
 protected:
  PeersTest() : server_(ServiceOptions{.router = kAll, .version = "1", .pod_name = "pod-\"7"}) {
    server_.Create("ids", DefaultRecipe(Kind::kSnowflake));
    Recipe odd = DefaultRecipe(Kind::kTicket);
    odd.stride = 3;
    odd.offset = 2;
    odd.alphabet = "hex";
    server_.Create("odd", odd);
  }
  std::string Body(const std::string& target) { return client_.Ask("GET", target).body; }

  TestServer server_;
  Client client_{server_};
};

TEST_F(PeersTest, EveryVerbMintsButThoseThatOnlyLook) {
  for (const char* const target :
       {"/generate-id", "/api/segment/get/orders", "/api/snowflake/get/ids",
        "/tinyid/id/nextId?bizType=orders&token=t",
        "/tinyid/id/nextSegmentIdSimple?bizType=orders&token=t"}) {
    for (const char* const method : {"GET", "POST", "PUT", "DELETE", "PATCH"}) {
      EXPECT_EQ(client_.Ask(method, target).status, 200) << method << target;
    }
    const Response head = client_.Ask("HEAD", target);
    EXPECT_EQ(head.status, 405) << target;
    EXPECT_EQ(head.header("allow"), "GET, POST");
    EXPECT_EQ(client_.Ask("OPTIONS", target).status, 204) << target;
  }
  EXPECT_EQ(client_.Ask("HEAD", "/health").status, 200);
}

// They mint on GET, which any page could have a browser send.
TEST_F(PeersTest, PagesOfOtherSitesMintNothing) {
  for (const char* const target :
       {"/generate-id", "/api/segment/get/orders", "/api/snowflake/get/ids",
        "/tinyid/id/nextIdSimple?bizType=orders&token=t",
        "/tinyid/id/nextSegmentId?bizType=orders&token=t"}) {
    EXPECT_EQ(client_.Ask("GET", target, "Sec-Fetch-Site: cross-site\r\n").status, 403) << target;
    EXPECT_EQ(client_.Ask("POST", target, "Origin: http://b\r\n").status, 403) << target;
  }
}

TEST_F(PeersTest, NumbersAreGivenWhateverTheKeysLookLike) {
  EXPECT_EQ(Body("/api/segment/get/odd"), "2");
  EXPECT_EQ(Body("/tinyid/id/nextIdSimple?bizType=odd&token=t&batchSize=4"), "5,8,11,14");
  EXPECT_EQ(Body("/tinyid/id/nextId?bizType=odd&token=t&batchSize=2"),
            R"({"data":[17,20],"code":200,"message":""})");
}

// The client adds delta to currentId before each number, up to and with maxId.
TEST_F(PeersTest, ASegmentIsCountedAsTinyidsClientDoes) {
  const std::string csv = Body("/tinyid/id/nextSegmentIdSimple?bizType=odd&token=t");
  std::vector<long long> parts;
  for (std::size_t at = 0; at < csv.size(); at = csv.find_first_of(",", at) + 1) {
    parts.push_back(std::stoll(csv.substr(at)));
    if (csv.find(',', at) == std::string::npos) break;
  }
  ASSERT_EQ(parts.size(), 5U) << csv;
  const auto [current, loading, max, delta, remainder] =
      std::tuple(parts[0], parts[1], parts[2], parts[3], parts[4]);
  EXPECT_EQ(delta, 3);
  EXPECT_EQ(remainder, 2);
  EXPECT_EQ((current + delta) % delta, remainder);
  EXPECT_EQ(max - current, 300'000);
  EXPECT_EQ(loading, current + 60'000);
  const std::string next = Body("/tinyid/id/nextIdSimple?bizType=odd&token=t");
  const long long number = std::stoll(next);
  EXPECT_TRUE(number <= current || number > max) << "a segment's numbers are its client's";
}

TEST_F(PeersTest, WhatIsNoNumberForThemIsUnknown) {
  for (const char* const name : {"default", "ids", "nothing", "a%20b", "-"}) {
    EXPECT_THAT(Body(std::string("/api/segment/get/") + name), HasSubstr("id=-2")) << name;
    EXPECT_THAT(Body(std::string("/tinyid/id/nextId?token=t&bizType=") + name),
                HasSubstr("error query segmentId: can not find biztype:"))
        << name;
    EXPECT_THAT(Body(std::string("/tinyid/id/nextSegmentId?token=t&bizType=") + name),
                HasSubstr(R"("message":"can not find biztype:)"))
        << name;
  }
  EXPECT_THAT(Body("/api/snowflake/get/orders"), HasSubstr("id=-2"));
  EXPECT_THAT(Body("/api/segment/get/a%22b"), HasSubstr(R"("path":"/api/segment/get/a%22b")"));
}

TEST_F(PeersTest, AnEmptyReservoirIsWaitedFor) {
  std::string ids = Body("/tinyid/id/nextIdSimple?bizType=orders&token=t&batchSize=100000");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), ','), 99'999);
  ids = Body("/tinyid/id/nextIdSimple?bizType=orders&token=t&batchSize=100001");
  EXPECT_EQ(std::count(ids.begin(), ids.end(), ','), 99'999) << "no more, and no word of it";
}

TEST_F(PeersTest, AStoreThatIsAwayIsAnErrorInTheirWords) {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  server_.Create("fresh", recipe);
  server_.store().down = true;
  EXPECT_THAT(Body("/api/segment/get/fresh"), HasSubstr("Result{id=-3, status=EXCEPTION}"));
  EXPECT_THAT(Body("/tinyid/id/nextId?bizType=fresh&token=t"), HasSubstr(R"("code":6)"));
  EXPECT_EQ(Body("/tinyid/id/nextSegmentIdSimple?bizType=fresh&token=t"), "");
  EXPECT_THAT(Body("/tinyid/id/nextSegmentId?bizType=fresh&token=t"),
              HasSubstr("the store cannot be reached"));
}

TEST_F(PeersTest, HealthTellsTheWorkerOnceThereIsOne) {
  EXPECT_EQ(Body("/health"),
            R"({"language":"C++","machine_id":null,"node_name":"","pod_name":"pod-\"7",)"
            R"("pod_uid":"","status":"OK"})"
            "\n");
  ASSERT_EQ(client_.Ask("GET", "/generate-id").status, 200);
  EXPECT_THAT(Body("/health"), testing::ContainsRegex(R"("machine_id":[0-9]+,)"));
}

TEST_F(PeersTest, IdsThatAreNoNumbersAreRefused) {
  TestServer server(ServiceOptions{.router = kAll, .ids_keyspace = "default"});
  Client client(server);
  const Response wrong = client.Ask("GET", "/generate-id");
  EXPECT_EQ(wrong.status, 409);
  EXPECT_EQ(wrong.header("access-control-allow-origin"), "*");
  TestServer none(ServiceOptions{.router = kAll, .ids_keyspace = "none"});
  Client stranger(none);
  EXPECT_EQ(stranger.Ask("GET", "/generate-id").status, 404);
}

TEST(PeersOffTest, WhatIsNotServedIsNotThere) {
  TestServer server(ServiceOptions{.router = {.forge = false}});
  Client client(server);
  for (const char* const target :
       {"/get-key", "/generate-id", "/health", "/api/segment/get/orders",
        "/api/snowflake/get/orders", "/decodeSnowflakeId?snowflakeId=1", "/tinyid/id/nextId",
        "/tinyid/id/nextIdSimple", "/tinyid/id/nextSegmentId", "/tinyid/id/nextSegmentIdSimple"}) {
    EXPECT_EQ(client.Ask("GET", target).status, 404) << target;
    EXPECT_EQ(client.Ask("POST", target).status, 404) << target;
  }
}

}  // namespace
}  // namespace keymill::api::http
