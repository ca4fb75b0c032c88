// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Single keys, as a client sees them: claimed, made from content, given back, and minted such that
// a retry gets the same.

#include "api/http/key_operations.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr std::string_view kOrders = "/v1/keyspaces/orders/keys";

void ExpectProblem(const Response& response, int status, std::string_view type,
                   std::string_view words = "") {
  EXPECT_EQ(response.status, status) << response.body;
  EXPECT_EQ(response.header("content-type"), "application/problem+json");
  const Json json = Json::parse(response.body);
  EXPECT_EQ(json.at("type"), type);
  EXPECT_EQ(json.at("status"), status);
  EXPECT_THAT(json.at("detail").get<std::string>(), HasSubstr(std::string(words)));
}

class KeyOperationsTest : public testing::Test {
 protected:
  // orders has decimal keys that grow; default seven symbols of base62.
  Response Claim(const std::string& alias, const std::string& owner = "",
                 const std::string& keyspace = "orders") {
    const std::string target = fmt::format("/v1/keyspaces/{}/keys/{}", keyspace, alias);
    return owner.empty() ? client_.Ask("PUT", target)
                         : client_.AskJson("PUT", target, Json{{"owner", owner}}.dump());
  }
  Response MintOnce(std::string_view retry, std::string_view query = "",
                    std::string_view fields = "") {
    return client_.Ask("POST", std::string(kOrders) + std::string(query),
                       fmt::format("Idempotency-Key: {}\r\n{}", retry, fields));
  }
  Response Derive(const std::string& content, const std::string& keyspace = "pages") {
    return client_.AskJson("POST", "/v1/keyspaces/" + keyspace + "/derive",
                           Json{{"content", content}}.dump());
  }
  void MakePages() { server_.Create("pages", DefaultRecipe(Kind::kDerived)); }

  TestServer server_;
  Client client_{server_};
};

TEST_F(KeyOperationsTest, AnAliasHasOneOwner) {
  const Response claimed = Claim("summer-sale", "maria");
  EXPECT_EQ(claimed.status, 201) << claimed.body;
  EXPECT_EQ(claimed.header("location"), "/v1/keyspaces/orders/keys/summer-sale");
  EXPECT_EQ(claimed.header("cache-control"), "no-store");
  EXPECT_EQ(claimed.body,
            R"({"keyspace":"orders","key":"summer-sale","state":"alias","owner":"maria"})"
            "\n");
  const Response again = Claim("summer-sale", "maria");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.body, claimed.body);
  EXPECT_EQ(again.header("location"), "");
  ExpectProblem(Claim("summer-sale", "peter"), 409, "alias-taken", "is taken");
  ExpectProblem(Claim("summer-sale"), 409, "alias-taken");
  // Another keyspace has names of its own.
  EXPECT_EQ(Claim("summer-sale", "peter", "default").status, 201);
}

TEST_F(KeyOperationsTest, WithoutAnOwnerNobodyCanClaimTwice) {
  const Response claimed = Claim("nobodys");
  EXPECT_EQ(claimed.status, 201);
  EXPECT_EQ(Json::parse(claimed.body).count("owner"), 0U);
  ExpectProblem(Claim("nobodys"), 409, "alias-taken");
}

TEST_F(KeyOperationsTest, RefusesWhatCannotBeAnAlias) {
  ExpectProblem(Claim("ab"), 422, "alias-invalid", "3 to 16");
  ExpectProblem(Claim("-abc"), 422, "alias-invalid");
  ExpectProblem(Claim("a%20b"), 422, "alias-invalid");
  ExpectProblem(Claim("a%2Fb"), 422, "alias-invalid");
  ExpectProblem(Claim("Admin"), 422, "alias-reserved", "reserved word");
  ExpectProblem(Claim("12345"), 422, "alias-looks-generated", "could hand out");
  ExpectProblem(Claim("Ab3dEf7", "", "default"), 422, "alias-looks-generated");
  ExpectProblem(Claim("abc-def", "", "nowhere"), 404, "keyspace-not-found", "nowhere");
  EXPECT_EQ(Claim("abc-def").status, 201) << "what was refused has left nothing behind";
}

TEST_F(KeyOperationsTest, RefusesBodiesThatAreNoOwner) {
  const std::string target = std::string(kOrders) + "/summer";
  ExpectProblem(client_.AskJson("PUT", target, R"({"owner":5})"), 400, "bad-request",
                "owner must be a string");
  ExpectProblem(client_.AskJson("PUT", target, R"({"owner":["a"]})"), 400, "bad-request",
                "owner must be a string");
  ExpectProblem(client_.AskJson("PUT", target, R"({"ownr":"a"})"), 400, "bad-request", "owner");
  ExpectProblem(client_.AskJson("PUT", target, R"("maria")"), 400, "bad-request");
  ExpectProblem(client_.AskJson("PUT", target, Json{{"owner", std::string(201, 'x')}}.dump()), 400,
                "bad-request");
  ExpectProblem(client_.Ask("PUT", target, "Content-Type: text/plain\r\n", "maria"), 415,
                "unsupported-media-type");
  EXPECT_EQ(Claim("summer").status, 201);
}

// What counts a link's followers is no generation that a DELETE could name.
TEST_F(KeyOperationsTest, ALinkHasNoGeneration) {
  const Status added = AddLink(server_.store().inner(), "orders", "leads");
  ASSERT_TRUE(added.ok()) << added.message();
  const Response response = client_.Ask("GET", std::string(kOrders) + "/leads");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("etag"), "");
  const Json record = Json::parse(response.body).at("record");
  EXPECT_EQ(record.at("state"), "link");
  EXPECT_EQ(record.count("generation"), 0U);
}

TEST_F(KeyOperationsTest, ExplainsAnAliasByItsRecord) {
  Claim("summer", "maria");
  const Response response = client_.Ask("GET", std::string(kOrders) + "/summer");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("etag"), "\"0\"");
  const Json json = Json::parse(response.body);
  EXPECT_EQ(json.at("state"), "alias");
  const Json& record = json.at("record");
  EXPECT_EQ(record.at("state"), "alias");
  EXPECT_EQ(record.at("owner"), "maria");
  EXPECT_EQ(record.at("generation"), "0");
  EXPECT_EQ(record.at("instance"), server_.engine().instance());
  EXPECT_EQ(record.count("expires_at"), 0U);
  EXPECT_THAT(record.at("since").get<std::string>(), testing::EndsWith("Z"));
  client_.Ask("POST", kOrders);
  const Response counted = client_.Ask("GET", std::string(kOrders) + "/1");
  EXPECT_EQ(Json::parse(counted.body).count("record"), 0U);
  EXPECT_EQ(counted.header("etag"), "");
}

TEST_F(KeyOperationsTest, TheSameContentHasTheSameKey) {
  MakePages();
  const Response first = Derive("https://example.com/");
  EXPECT_EQ(first.status, 200) << first.body;
  const Json json = Json::parse(first.body);
  EXPECT_EQ(json.at("keyspace"), "pages");
  EXPECT_EQ(json.at("existing"), false);
  const Json again = Json::parse(Derive("https://example.com/").body);
  EXPECT_EQ(again.at("key"), json.at("key"));
  EXPECT_EQ(again.at("existing"), true);
  const Json salted = Json::parse(client_
                                      .AskJson("POST", "/v1/keyspaces/pages/derive",
                                               R"({"content":"https://example.com/","salt":"7"})")
                                      .body);
  EXPECT_NE(salted.at("key"), json.at("key"));
  const Json shown = Json::parse(client_.Ask("GET", "/v1/keyspaces/pages").body);
  EXPECT_EQ(shown.at("keys"), (Json{{"derived", "2"}, {"alias", "0"}}));
}

TEST_F(KeyOperationsTest, SaysWhatToSendWhenThereIsNoContent) {
  MakePages();
  const std::string target = "/v1/keyspaces/pages/derive";
  ExpectProblem(client_.Ask("POST", target), 400, "bad-request", R"(send {"content":"…"})");
  ExpectProblem(client_.AskJson("POST", target, R"({"salt":"7"})"), 400, "bad-request",
                "content is missing");
  ExpectProblem(client_.AskJson("POST", target, R"({"content":7})"), 400, "bad-request",
                "content must be a string");
  ExpectProblem(client_.AskJson("POST", target, R"({"content":null})"), 400, "bad-request");
  ExpectProblem(client_.AskJson("POST", target, R"({"contents":"a"})"), 400, "bad-request",
                "content");
  ExpectProblem(Derive("a", "orders"), 400, "bad-request", "only keys of kind derived");
  ExpectProblem(Derive("a", "nowhere"), 404, "keyspace-not-found");
  ExpectProblem(client_.Ask("GET", target), 405, "method-not-allowed");
}

// However much the JSON blows it up.
TEST_F(KeyOperationsTest, AContentMayHaveSixtyFourKilobytes) {
  MakePages();
  const std::string plain(64 * 1024, 'a');
  EXPECT_EQ(Derive(plain).status, 200);
  const std::string escaped(64 * 1024, '\x01');  // Each becomes \u0001.
  const Response first = Derive(escaped);
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(Json::parse(Derive(escaped).body).at("key"), Json::parse(first.body).at("key"));
  ExpectProblem(Derive(plain + "a"), 400, "bad-request", "at most 65536");
  // Others have no need for that much.
  ExpectProblem(client_.AskJson("PUT", "/v1/keyspaces/new", Json{{"x", plain}}.dump()), 413,
                "too-large");
}

TEST_F(KeyOperationsTest, AChunkedContentMayBeAsLarge) {
  MakePages();
  const std::string body = Json{{"content", std::string(64 * 1024, '\x01')}}.dump();
  const std::string chunked = fmt::format("{:x}\r\n{}\r\n0\r\n\r\n", body.size(), body);
  const std::string head = "Host: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  client_.Send("POST /v1/keyspaces/pages/derive HTTP/1.1\r\n" + head + chunked);
  EXPECT_EQ(client_.Take().status, 200);
  client_.Send("PUT /v1/keyspaces/new HTTP/1.1\r\n" + head + chunked);
  EXPECT_EQ(client_.Take().status, 413);
}

TEST_F(KeyOperationsTest, AKeyspaceOfContentSaysSoToThoseWhoMint) {
  MakePages();
  ExpectProblem(client_.Ask("POST", "/v1/keyspaces/pages/keys"), 400, "bad-request",
                "/v1/keyspaces/pages/derive");
  ExpectProblem(client_.Ask("POST", "/v1/keyspaces/pages/keys", "Idempotency-Key: a\r\n"), 400,
                "bad-request", "/v1/keyspaces/pages/derive");
  EXPECT_THAT(client_.Ask("GET", "/readyz?verbose").body, testing::Not(HasSubstr("pages")))
      << "it is in no trouble";
}

TEST_F(KeyOperationsTest, ARetryGetsTheSameBytes) {
  const Response first = MintOnce("a", "?count=3");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.body, "{\"keyspace\":\"orders\",\"keys\":[\"1\",\"2\",\"3\"]}\n");
  EXPECT_EQ(first.header("content-type"), "application/json");
  EXPECT_EQ(first.header("cache-control"), "no-store");
  EXPECT_EQ(MintOnce("a", "?count=3").body, first.body);
  EXPECT_EQ(MintOnce("b", "?count=3").body,
            "{\"keyspace\":\"orders\",\"keys\":[\"4\",\"5\",\"6\"]}\n");
  const Response lines = MintOnce("a", "?count=3", "Accept: text/plain\r\n");
  EXPECT_EQ(lines.body, "1\n2\n3\n");
  EXPECT_EQ(lines.header("content-type"), "text/plain; charset=utf-8");
  // The name in any case, the value as it is.
  EXPECT_EQ(client_.Ask("POST", std::string(kOrders) + "?count=3", "iDEMPOTENCY-kEY: a\r\n").body,
            first.body);
  EXPECT_EQ(client_.AskJson("POST", kOrders, R"({"count":1})").body,
            "{\"keyspace\":\"orders\",\"keys\":[\"7\"]}\n");
}

// The bytes of the request before are what the fast path compares; it must not mint anew here.
TEST_F(KeyOperationsTest, PipelinedRetriesGetTheSame) {
  const std::string request =
      fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nIdempotency-Key: x\r\n\r\n", kOrders);
  const std::string other = fmt::format("POST {} HTTP/1.1\r\nHost: a\r\n\r\n", kOrders);
  client_.Send(request + request + other + other + request);
  std::vector<std::string> bodies;
  for (int i = 0; i < 5; ++i) bodies.push_back(client_.Take().body);
  EXPECT_EQ(bodies[1], bodies[0]);
  EXPECT_EQ(bodies[4], bodies[0]);
  EXPECT_EQ(std::set<std::string>(bodies.begin(), bodies.end()).size(), 3U);
}

TEST_F(KeyOperationsTest, ANameOfAnotherRequestIsRefused) {
  MintOnce("a", "?count=3");
  ExpectProblem(MintOnce("a", "?count=4"), 422, "idempotency-key-reused", "for 3 keys, not 4");
  EXPECT_EQ(MintOnce("b", "?count=10000").status, 200);
  ExpectProblem(MintOnce("c", "?count=10001"), 413, "too-many-keys", "10000");
  ExpectProblem(MintOnce("c", "?count=10001", "Accept: text/plain\r\n"), 413, "too-many-keys");
  ExpectProblem(MintOnce("", ""), 400, "bad-request", "Idempotency-Key");
  ExpectProblem(MintOnce(std::string(256, 'a')), 400, "bad-request", "Idempotency-Key");
  ExpectProblem(MintOnce("a", "", "Idempotency-Key: b\r\n"), 400, "bad-request",
                "more than one Idempotency-Key");
}

TEST_F(KeyOperationsTest, OtherRequestsIgnoreTheName) {
  const std::string field = "Idempotency-Key: a\r\n";
  EXPECT_NE(client_.Ask("GET", "/get-key", field).body, client_.Ask("GET", "/get-key", field).body);
}

TEST_F(KeyOperationsTest, OnlyPoolsTakeKeysBack) {
  client_.Ask("POST", kOrders);
  const std::string key = std::string(kOrders) + "/1";
  ExpectProblem(client_.Ask("DELETE", key), 409, "keys-not-recycled", "does not take keys back");
  ExpectProblem(client_.Ask("DELETE", key, "If-Match: \"0\"\r\n"), 409, "keys-not-recycled");
  ExpectProblem(client_.Ask("DELETE", key, "If-Match: *\r\n"), 409, "keys-not-recycled");
  for (const std::string tag : {"0", "\"\"", "\"x\"", "W/\"0\"", "\"0\", \"1\"", "\"-1\"", "\"00\"",
                                "\"18446744073709551616\"", "\"", "\"0", ""}) {
    ExpectProblem(client_.Ask("DELETE", key, "If-Match: " + tag + "\r\n"), 400, "bad-request",
                  "If-Match");
  }
  ExpectProblem(client_.Ask("DELETE", "/v1/keyspaces/nowhere/keys/1"), 404, "keyspace-not-found");
}

TEST_F(KeyOperationsTest, EveryJudgementOfAReleaseHasAnAnswer) {
  using enum mint::ReleaseVerdict;
  EXPECT_EQ(ReleaseReply({kReleased}).status, 204);
  EXPECT_EQ(ReleaseReply({kReleased}).body, "");
  const std::map<mint::ReleaseVerdict, std::pair<int, std::string>> problems = {
      {kUnknown, {404, "key-not-found"}},
      {kNotUsed, {409, "key-not-used"}},
      {kOtherGeneration, {409, "other-generation"}},
      {kNeverRecycled, {409, "keys-not-recycled"}},
  };
  for (const auto& problem : problems) {
    const Reply reply = ReleaseReply({problem.first, "because"});
    const Json json = Json::parse(reply.body);
    EXPECT_EQ(reply.status, problem.second.first);
    EXPECT_EQ(json.at("type"), problem.second.second);
    EXPECT_EQ(json.at("detail"), "because");
  }
}

TEST(KeylessStoreTest, SaysWhichStoresRememberKeys) {
  TestServer server{Keyless()};
  Client client(server);
  const std::string alias = std::string(kOrders) + "/summer";
  ExpectProblem(client.Ask("PUT", alias), 501, "not-supported-by-store", "PostgreSQL");
  ExpectProblem(client.Ask("GET", alias), 404, "key-not-found");
  ExpectProblem(client.Ask("POST", kOrders, "Idempotency-Key: a\r\n"), 501,
                "not-supported-by-store", "Idempotency-Key");
  ExpectProblem(client.AskJson("PUT", "/v1/keyspaces/pages", R"({"kind":"derived"})"), 501,
                "not-supported-by-store");
  EXPECT_EQ(client.Ask("POST", kOrders).status, 200) << "numbers are no trouble";
}

TEST_F(KeyOperationsTest, ARetiredKeyspaceIsGone) {
  MakePages();
  client_.Ask("DELETE", "/v1/keyspaces/orders");
  client_.Ask("DELETE", "/v1/keyspaces/pages");
  ExpectProblem(Claim("summer"), 410, "keyspace-retired");
  ExpectProblem(Derive("a"), 410, "keyspace-retired");
  ExpectProblem(MintOnce("a"), 410, "keyspace-retired");
}

// Retired by another instance: this one has not heard of it.
TEST_F(KeyOperationsTest, AKeyspaceThatSomebodyElseRetiredIsGone) {
  ASSERT_TRUE(server_.store().inner().RetireKeyspace("orders", MonotonicTime::max()).ok());
  ExpectProblem(Claim("summer"), 410, "keyspace-retired");
}

TEST_F(KeyOperationsTest, MethodsAreListedWhereTheyWork) {
  EXPECT_EQ(client_.Ask("OPTIONS", std::string(kOrders) + "/x").header("allow"),
            "GET, HEAD, PUT, DELETE, OPTIONS");
  EXPECT_EQ(client_.Ask("OPTIONS", "/v1/keyspaces/pages/derive").header("allow"), "POST, OPTIONS");
  ExpectProblem(client_.Ask("POST", std::string(kOrders) + "/x"), 405, "method-not-allowed");
  const Response crossed =
      client_.Ask("PUT", std::string(kOrders) + "/summer", "Origin: https://elsewhere.example\r\n");
  ExpectProblem(crossed, 403, "forbidden");
}

// One that hangs must not hold up the others, nor the look-ups of keyspaces. Without a refiller,
// which would hang as well, and hold up all changes.
TEST(KeyThreadsTest, OneThatWaitsDoesNotHoldUpOthers) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  Client hanging(server);
  server.store().stuck = true;
  hanging.Feed("PUT /v1/keyspaces/unknown/keys/summer HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(server.store().entered.Await());
  server.store().stuck = false;
  EXPECT_EQ(client.Ask("PUT", std::string(kOrders) + "/summer").status, 201);
  EXPECT_EQ(client.Ask("GET", "/v1/keyspaces/orders").status, 200);
  EXPECT_TRUE(hanging.parked());
  server.store().released.Raise();
  while (hanging.parked()) hanging.Unpark();
  EXPECT_EQ(hanging.Take().status, 404);
}

}  // namespace
}  // namespace keymill::api::http
