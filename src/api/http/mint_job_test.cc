// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Minting over HTTP: what is asked for, what comes back, and that nothing bad costs a key.

#include "api/http/mint_job.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"
#include "api/http/mint_job_test_support.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

TEST(MintTest, OneKey) {
  TestServer server;
  Client client(server);
  const Response response = client.Ask("POST", kKeys);
  const std::vector<std::string> keys = KeysOf(response);
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(response.body,
            fmt::format("{{\"keyspace\":\"default\",\"keys\":[\"{}\"]}}\n", keys.front()));
  EXPECT_EQ(keys.front().size(), 7U);
  EXPECT_EQ(server.issued(), 1U);
}

TEST(MintTest, ManyKeysInEveryForm) {
  TestServer server;
  Client client(server);
  std::vector<std::string> all = KeysOf(client.Ask("POST", WithCount("10000")));
  EXPECT_EQ(all.size(), 10'000U);
  const std::vector<std::string> from_body =
      KeysOf(client.AskJson("POST", kKeys, R"({"count":5})"));
  EXPECT_EQ(from_body.size(), 5U);
  all.insert(all.end(), from_body.begin(), from_body.end());

  const Response text = client.Ask("POST", WithCount("10000"), kText);
  EXPECT_EQ(text.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_TRUE(text.whole);
  const std::vector<std::string> lines = Lines(text.body);
  EXPECT_EQ(lines.size(), 10'000U);
  all.insert(all.end(), lines.begin(), lines.end());
  EXPECT_TRUE(AllDistinct(all));
  EXPECT_EQ(server.issued(), all.size());
}

TEST(MintTest, AcceptsEveryNameOfJson) {
  TestServer server;
  Client client(server);
  for (const std::string type :
       {"application/json", "Application/JSON", "application/json;charset=utf-8",
        "application/json ; charset=utf-8", "application/vnd.api+json"}) {
    const Response response =
        client.Ask("POST", kKeys, "Content-Type: " + type + "\r\n", R"({"count":2})");
    EXPECT_EQ(KeysOf(response).size(), 2U) << type;
  }
  EXPECT_EQ(KeysOf(client.Ask("POST", kKeys, "", R"({"count":2})")).size(), 2U);  // Not named.
  EXPECT_EQ(KeysOf(client.AskJson("POST", kKeys, "{}")).size(), 1U);
  EXPECT_EQ(KeysOf(client.AskJson("POST", kKeys, " {\"count\" : 3 } \n")).size(), 3U);
}

TEST(MintTest, AnswersInTheFormThatIsPreferred) {
  TestServer server;
  Client client(server);
  const auto type = [&](const std::string& accept) {
    return client.Ask("POST", kKeys, "Accept: " + accept + "\r\n").header("content-type");
  };
  for (const std::string accept :
       {"text/plain", "TEXT/Plain", "text/plain;q=0.5", "text/html, text/plain ; q=0.001",
        "text/plain, application/json;q=0.9", "text/plain;charset=utf-8", "text/plain, */*"}) {
    EXPECT_EQ(type(accept), "text/plain; charset=utf-8") << accept;
  }
  for (const std::string accept :
       {"text/plain;q=0", "text/plain; q=0.000, */*", "text/plain;Q=0", "text/plainer", "*/*",
        "application/json", "application/json, text/plain, */*", "x/text/plain", ""}) {
    EXPECT_EQ(type(accept), "application/json") << accept;
  }
}

TEST(MintTest, StreamsInChunksWithBoundedOutput) {
  TestServer server;
  Client client(server);
  const Response response = client.Ask("POST", WithCount("200000"), kText);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("transfer-encoding"), "chunked");
  EXPECT_EQ(response.header("content-length"), "");
  EXPECT_EQ(response.header("cache-control"), "no-store");
  EXPECT_TRUE(response.whole);
  const std::vector<std::string> keys = Lines(response.body);
  EXPECT_EQ(keys.size(), 200'000U);
  EXPECT_TRUE(AllDistinct(keys));
  EXPECT_LE(client.output_max(), 192U * 1024);
  EXPECT_EQ(server.issued(), 200'000U);
  EXPECT_EQ(client.Ask("GET", "/livez").status, 200);  // The connection lives on.
}

TEST(MintTest, StreamsSequencesInOrder) {
  TestServer server;
  Client client(server);
  const Response response = client.Ask("POST", "/v1/keyspaces/orders/keys?count=20000", kText);
  const std::vector<std::string> keys = Lines(response.body);
  ASSERT_EQ(keys.size(), 20'000U);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(keys[i], std::to_string(i + 1));
}

TEST(MintTest, SkipsBlockedWordsWithoutEndingTheStream) {
  TestServer server;
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "decimal";
  recipe.blocklist = {"111", "222"};
  server.Create("blocked", recipe);
  Client client(server);
  const Response response = client.Ask("POST", "/v1/keyspaces/blocked/keys?count=12000", kText);
  EXPECT_TRUE(response.whole);
  const std::vector<std::string> keys = Lines(response.body);
  EXPECT_EQ(keys.size(), 12'000U);
  EXPECT_TRUE(AllDistinct(keys));
  for (const std::string& key : keys) ASSERT_EQ(key.find("111"), std::string::npos);
}

TEST(MintTest, GetKeyAnswersWithTheOlderServicesBytes) {
  TestServer server;
  Client client(server);
  client.Send("GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(client.output().starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(client.output().size() - client.output().find("\r\n\r\n"), 4U + 7U);
  const Response response = client.Take();
  EXPECT_EQ(response.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(response.header("content-length"), "7");
  EXPECT_EQ(response.header("cache-control"), "no-store");
  EXPECT_EQ(response.body.size(), 7U);
  EXPECT_EQ(response.body.find('\n'), std::string::npos);
  EXPECT_EQ(server.issued(), 1U);
}

// H12, H13, H15: the status of each, a detail that helps, and not one key spent.
TEST(MintTest, BadRequestsCostNoKey) {
  TestServer server;
  Client client(server);
  client.Ask("POST", kKeys);
  const std::uint64_t before = server.issued();
  const auto expect = [&](const Response& response, int status, std::string_view word) {
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_EQ(response.header("content-type"), "application/problem+json");
    const Json problem = Json::parse(response.body);
    EXPECT_EQ(problem.at("status"), status);
    EXPECT_NE(problem.at("detail").get<std::string>().find(word), std::string::npos)
        << word << " in " << response.body;
    EXPECT_EQ(server.issued(), before) << response.body;
  };
  for (const std::string count : {"0", "-1", "1e9", "%205", "+5", "5x", "", "0x5", "5.0", "%00",
                                  "%zz", "%ff", "NaN", "1,2", "5%0d%0aX:%20y"}) {
    expect(client.Ask("POST", WithCount(count)), 400, "count");
  }
  expect(client.Ask("POST", WithCount("1&count=2")), 400, "count");
  expect(client.Ask("POST", fmt::format("{}?cuont=1", kKeys)), 400, "count");
  expect(client.Ask("POST", fmt::format("{}?verbose", kKeys)), 400, "verbose");
  expect(client.AskJson("POST", WithCount("1"), R"({"count":1})"), 400, "count");
  expect(client.Ask("POST", WithCount("10001")), 413, "10000");
  for (const std::string count : {"4294967297", "18446744073709551615", "18446744073709551616",
                                  "18446744073709551617", "99999999999999999999999999"}) {
    expect(client.Ask("POST", WithCount(count)), 413, "10000");
    expect(client.AskJson("POST", kKeys, "{\"count\":" + count + "}"), 413, "10000");
  }
  expect(client.Ask("POST", WithCount("100000001"), kText), 413, "100000000");

  const std::string deep(10'000, '[');
  for (const std::string& body : {std::string("{"),
                                  std::string("[]"),
                                  std::string("5"),
                                  std::string("\"count\""),
                                  std::string("null"),
                                  std::string("nonsense"),
                                  std::string(R"({"count":NaN})"),
                                  std::string(R"({"count":1}{})"),
                                  std::string(R"({"count":1} x)"),
                                  std::string(R"({"count":1,"count":1})"),
                                  std::string(R"({"count":null})"),
                                  std::string(R"({"count":{}})"),
                                  std::string(R"({"count":[]})"),
                                  std::string(R"({"count":[1,2]})"),
                                  std::string(R"({"count":0})"),
                                  std::string(R"({"count":-1})"),
                                  std::string(R"({"count":1.5})"),
                                  std::string(R"({"count":1e400})"),
                                  std::string(R"({"count":true})"),
                                  std::string(R"({"other":1})"),
                                  std::string("{\"a\":\"\xff\"}"),
                                  deep,
                                  "{\"count\":" + deep,
                                  "{\"count\":" + std::string(20'000, '1') + "}"}) {
    expect(client.AskJson("POST", kKeys, body), 400, "");
  }
  for (const std::string value :
       {"\"1\"", "[2]", "[\"2\"]", "1.5", "2.0", "1e1", "1e400", "true", "null", "{}", "-1", "0"}) {
    expect(client.AskJson("POST", kKeys, "{\"count\":" + value + "}"), 400, "count");
  }
  using namespace std::string_literals;
  expect(client.AskJson("POST", kKeys, "{\"count\":2}\0garbage"s), 400, "JSON");
  expect(client.AskJson("POST", kKeys, "{\"count\":2}\0"s), 400, "JSON");
  expect(client.AskJson("POST", kKeys, "{\"count\":2} {}"), 400, "JSON");
  expect(client.AskJson("POST", kKeys, R"({"count":10001})"), 413, "10000");
  expect(client.Ask("POST", kKeys, "Content-Type: text/plain\r\n", R"({"count":1})"), 415, "count");
  EXPECT_FALSE(client.closed());
  EXPECT_EQ(client.Ask("POST", kKeys).status, 200);
}

TEST(MintTest, OtherMethodsNeverMint) {
  TestServer server;
  Client client(server);
  for (const std::string method : {"GET", "PUT", "DELETE", "PATCH"}) {
    const Response response = client.Ask(method, kKeys);
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(response.header("allow"), "POST");
    EXPECT_NE(response.body.find("use POST"), std::string::npos);
  }
  const Response head = client.Ask("HEAD", kKeys);
  EXPECT_EQ(head.status, 405);
  EXPECT_EQ(client.output(), "");  // No body behind it.
  const Response options = client.Ask("OPTIONS", kKeys);
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("allow"), "POST, OPTIONS");

  for (const std::string method : {"HEAD", "POST", "PUT", "DELETE"}) {
    const Response response = client.Ask(method, "/get-key");
    EXPECT_EQ(response.status, 405) << method;
    EXPECT_EQ(response.header("allow"), "GET");
  }
  EXPECT_EQ(client.Ask("OPTIONS", "/get-key").header("allow"), "GET, OPTIONS");
  EXPECT_EQ(server.issued(), 0U);
}

// H10, H11, H14, H21
TEST(MintTest, OddPathsFindNothing) {
  TestServer server;
  Client client(server);
  const std::vector<std::pair<std::string, int>> rows = {
      {"/v1/keyspaces/../../admin", 404},
      {"//v1/keyspaces/default/keys", 404},
      {"/v1//keyspaces/default/keys", 404},
      {"/v1/keyspaces/default/keys/", 404},
      {"/v1/keyspaces//keys", 404},
      {"/v1/keyspaces/default/keys/a/b", 404},
      {"/V1/keyspaces/default/keys", 404},
      {"/v1/keyspaces/default/keys;x=y", 404},
      {"/v1/keyspaces/../keys", 400},
      {"/v1/keyspaces/./keys", 400},
      {"/v1/keyspaces/%2e%2e/keys", 400},
      {"/v1/keyspaces/%/keys", 400},
      {"/v1/keyspaces/%G0/keys", 400},
      {"/v1/keyspaces/%2/keys", 400},
      {"/v1/keyspaces/%00/keys", 400},
      {"/v1/keyspaces/a%00/keys", 400},
      {"/v1/keyspaces/%c0%af/keys", 400},
      {"/v1/keyspaces/%252e/keys", 400},
      {"/v1/keyspaces/..%2f/keys", 400},
      {"/v1/keyspaces/a%2Fb/keys", 400},
      {"/v1/keyspaces/%c3%a9/keys", 400},
      {"/v1/keyspaces/\xc3\xa9/keys", 400},
      {"/v1/keyspaces/a%0d%0aX-Evil:%20yes/keys", 400},
      {"/v1/keyspaces/" + std::string(65, 'a') + "/keys", 400},
      {"/v1/keyspaces/" + std::string(64, 'a') + "/keys", 404},
      {"/v1/keyspaces/nobody/keys", 404},
      {"/v1/keyspaces/Default/keys", 404}};
  for (const auto& [path, status] : rows) {
    const Response response = client.Ask("POST", path);
    EXPECT_EQ(response.status, status) << path;
    EXPECT_EQ(response.headers.count("x-evil"), 0U);
    EXPECT_EQ(response.header("content-type"), "application/problem+json") << path;
  }
  for (const std::string target :
       {"/%zz", "/%00", "/%c0%af", "/get-key?%zz", "/get-key?a=%00", "/get-key%", "/livez?%ff"}) {
    const Response response = client.Ask("GET", target);
    EXPECT_EQ(response.status, 400) << target;
    EXPECT_EQ(Json::parse(response.body).at("type"), "bad-request");
  }
  EXPECT_EQ(client.Ask("POST", "/v1/keyspaces/%64efault/keys").status, 200);
  EXPECT_EQ(server.issued(), 1U);
}

TEST(MintTest, AnUnknownKeyspaceSaysHowToCreateIt) {
  TestServer server;
  Client client(server);
  const Response response = client.Ask("POST", "/v1/keyspaces/nobody/keys");
  const Json problem = Json::parse(response.body);
  EXPECT_EQ(problem.at("type"), "keyspace-not-found");
  EXPECT_EQ(problem.at("title"), "No such keyspace");
  EXPECT_EQ(problem.at("status"), 404);
  EXPECT_NE(problem.at("detail").get<std::string>().find("PUT /v1/keyspaces/nobody"),
            std::string::npos);
  // And once it is created it is found, whatever was remembered.
  EXPECT_EQ(client.AskJson("PUT", "/v1/keyspaces/nobody", R"({"kind":"sequence"})").status, 201);
  EXPECT_EQ(KeysOf(client.Ask("POST", "/v1/keyspaces/nobody/keys")).front(), "1");
}

TEST(MintTest, LongStreamsNeedHttp11) {
  TestServer server;
  Client client(server);
  client.Send("POST /v1/keyspaces/default/keys?count=10001 HTTP/1.0\r\nAccept: text/plain\r\n\r\n");
  EXPECT_EQ(client.Take().status, 400);
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server.issued(), 0U);
}

}  // namespace
}  // namespace keymill::api::http
