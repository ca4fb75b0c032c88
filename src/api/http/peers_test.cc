// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What is not a matter of bytes: which requests reach a peer's endpoint, and what becomes of their
// errors. The bytes are in tests/golden/peers.jsonl.

#include "api/http/peers.h"

#include <algorithm>
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
  for (const char* const target : {"/api/segment/get/orders", "/api/snowflake/get/ids",
                                   "/tinyid/id/nextIdSimple?bizType=orders&token=t",
                                   "/tinyid/id/nextSegmentId?bizType=orders&token=t"}) {
    EXPECT_EQ(client_.Ask("GET", target, "Sec-Fetch-Site: cross-site\r\n").status, 403) << target;
    EXPECT_EQ(client_.Ask("POST", target, "Origin: http://b\r\n").status, 403) << target;
    EXPECT_EQ(client_.Ask("GET", target, "Origin: http://b\r\n").status, 403) << target;
    EXPECT_EQ(client_.Ask("GET", target, "Origin: http://a\r\n").status, 200) << target;
  }
}

void ExpectCors(const Response& response) {
  EXPECT_EQ(response.header("access-control-allow-origin"), "*");
  EXPECT_EQ(response.header("access-control-allow-credentials"), "true");
  EXPECT_EQ(response.header("access-control-allow-methods"), "*");
  EXPECT_EQ(response.header("access-control-allow-headers"), "*");
}

TEST_F(PeersTest, APreflightOfGenerateIdIsAnsweredAsThere) {
  const std::string fields =
      "Origin: http://b\r\nSec-Fetch-Site: cross-site\r\nAccess-Control-Request-Method: GET\r\n";
  for (const char* const target : {"/generate-id", "/health"}) {
    const Response preflight = client_.Ask("OPTIONS", target, fields);
    EXPECT_EQ(preflight.status, 204) << target;
    ExpectCors(preflight);
  }
  for (const char* const target : {"/get-key", "/livez", "/api/segment/get/orders",
                                   "/v1/keyspaces/orders/keys", "/decodeSnowflakeId"}) {
    const Response preflight = client_.Ask("OPTIONS", target, fields);
    EXPECT_EQ(preflight.header("access-control-allow-origin"), "") << target;
  }
}

// Of another site: it may look at /health, and is told why it gets no id.
TEST_F(PeersTest, APageCanReadEveryAnswerOfGenerateId) {
  const Response health = client_.Ask("GET", "/health", "Origin: http://b\r\n");
  EXPECT_EQ(health.status, 200);
  ExpectCors(health);
  const std::string foreign = "Origin: http://b\r\nSec-Fetch-Site: cross-site\r\n";
  const Response id = client_.Ask("GET", "/generate-id", foreign);
  EXPECT_EQ(id.status, 200);
  ExpectCors(id);
  const Response refused = client_.Ask("POST", "/generate-id", foreign);
  EXPECT_EQ(refused.status, 403);
  ExpectCors(refused);
  ExpectCors(client_.Ask("HEAD", "/generate-id"));
  EXPECT_EQ(
      client_.Ask("GET", "/get-key", "Origin: http://b\r\n").header("access-control-allow-origin"),
      "");
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

TEST_F(PeersTest, TheLastNumbersAreGivenAlsoWhenMoreWereAskedFor) {
  Recipe ten = DefaultRecipe(Kind::kSequence);
  ten.alphabet = "decimal";
  ten.length = 1;
  ten.start = 0;
  server_.Create("ten", ten);
  server_.Create("digits", ten);
  const std::string one = "/tinyid/id/nextId?bizType=ten&token=t";
  EXPECT_EQ(Body(one), R"({"data":[0],"code":200,"message":""})");
  EXPECT_EQ(Body(one + "&batchSize=100"),
            R"({"data":[1,2,3,4,5,6,7,8,9],"code":200,"message":""})");
  EXPECT_THAT(Body(one + "&batchSize=100"), HasSubstr(R"("data":null,"code":6)"));
  EXPECT_THAT(Body(one), HasSubstr(R"("data":null,"code":6)"));
  const std::string simple = "/tinyid/id/nextIdSimple?bizType=digits&token=t&batchSize=11";
  EXPECT_EQ(Body(simple), "0,1,2,3,4,5,6,7,8,9");
  EXPECT_EQ(Body(simple), "");
}

TEST_F(PeersTest, WhatWasTakenBeforeTheStoreFailedIsGiven) {
  ASSERT_EQ(Body("/tinyid/id/nextIdSimple?bizType=orders&token=t"), "1");
  server_.store().down = true;
  const PeerRequest request{
      .operation = Operation::kTinyIdsSimple, .keyspace = "orders", .count = 100'000, .path = "/"};
  constexpr MonotonicTime kPast;  // Waits for nothing.
  const std::string rest = ServePeer(server_.service(), request, kPast).body;
  EXPECT_TRUE(rest.starts_with("2,3,4,")) << rest.substr(0, 40);
  EXPECT_LT(std::count(rest.begin(), rest.end(), ','), 99'999);
  EXPECT_EQ(ServePeer(server_.service(), request, kPast).body, "");
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
