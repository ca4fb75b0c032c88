// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Minting over HTTP: what is asked for, what comes back, and that nothing bad costs a key.

#include "api/http/mint_job.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::string_view kKeys = "/v1/keyspaces/default/keys";
constexpr std::string_view kText = "Accept: text/plain\r\n";

std::string WithCount(std::string_view count) { return fmt::format("{}?count={}", kKeys, count); }

std::vector<std::string> KeysOf(const Response& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.header("content-type"), "application/json");
  EXPECT_EQ(response.header("cache-control"), "no-store");
  const Json json = Json::parse(response.body);
  EXPECT_EQ(json.size(), 2U);
  return json.at("keys").get<std::vector<std::string>>();
}

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

// H22
TEST(MintTest, TheStoreIsAway) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  server.store().down = true;
  client.Feed("GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(client.parked());
  ASSERT_TRUE(client.step().wake_at.has_value());
  EXPECT_EQ(*client.step().wake_at, clock.Monotonic() + 2s);
  server.Refill();
  clock.Advance(1999ms);
  client.Poke();
  ASSERT_TRUE(client.parked());
  EXPECT_EQ(client.output(), "");
  clock.Advance(1ms);
  client.Poke();
  ASSERT_FALSE(client.parked());
  const Response response = client.Take();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(Json::parse(response.body).at("type"), "store-unavailable");
  EXPECT_EQ(response.header("retry-after"), "1");
  EXPECT_EQ(client.Ask("GET", "/readyz").status, 503);
  EXPECT_EQ(client.Ask("GET", "/livez").status, 200);

  server.store().down = false;  // And it recovers.
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);
  EXPECT_EQ(client.Ask("GET", "/readyz").status, 200);
}

TEST(MintTest, NoBlockInTimeIsADeadline) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Feed("GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n");
  clock.Advance(2s);
  client.Poke();
  const Response response = client.Take();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(Json::parse(response.body).at("type"), "deadline");
  EXPECT_EQ(response.header("retry-after"), "1");
  EXPECT_EQ(server.engine().Find("default")->stats().waiting, 0U);
}

TEST(MintTest, AParkedRequestIsWokenByItsBlock) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Feed("GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(client.parked());
  EXPECT_FALSE(client.signal()->Lower());
  server.Refill();
  EXPECT_TRUE(client.signal()->Lower());
  client.Poke();
  EXPECT_EQ(client.Take().body.size(), 7U);
}

TEST(MintTest, ASessionMayEndWhileItIsParked) {
  FakeClock clock;
  TestServer server(clock);
  {
    Client client(server);
    client.Feed("GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(client.parked());
    EXPECT_EQ(server.engine().Find("default")->stats().waiting, 1U);
  }
  EXPECT_EQ(server.engine().Find("default")->stats().waiting, 0U);
  server.Refill();
  EXPECT_EQ(server.issued(), 0U);
}

// Four symbols of 32 are just enough for a shuffled keyspace; a short sequence ends sooner.
Recipe TenKeys() {
  Recipe recipe = DefaultRecipe(Kind::kSequence);
  recipe.alphabet = "decimal";
  recipe.length = 1;
  recipe.start = 0;
  return recipe;
}

TEST(MintTest, AnExhaustedKeyspaceGivesItsLastKeysAndSaysSo) {
  TestServer server;
  server.Create("ten", TenKeys());
  Client client(server);
  EXPECT_EQ(KeysOf(client.Ask("POST", "/v1/keyspaces/ten/keys?count=4")).size(), 4U);
  EXPECT_EQ(KeysOf(client.Ask("POST", "/v1/keyspaces/ten/keys?count=100")).size(), 6U);
  const Response response = client.Ask("POST", "/v1/keyspaces/ten/keys");
  EXPECT_EQ(response.status, 507);
  EXPECT_EQ(Json::parse(response.body).at("type"), "keyspace-exhausted");
  EXPECT_EQ(response.header("retry-after"), "");
}

TEST(MintTest, AStreamThatRunsDryIsCutWithoutItsLastChunk) {
  TestServer server;
  server.Create("ten", TenKeys());
  Client client(server);
  client.Send(
      "POST /v1/keyspaces/ten/keys?count=20000 HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n");
  EXPECT_TRUE(client.closed());
  const Response response = client.Take();
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(response.whole);
  EXPECT_EQ(response.body, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
}

std::string AskForLines(int count, std::string_view version = "1.1") {
  return fmt::format(
      "POST /v1/keyspaces/default/keys?count={} HTTP/{}\r\nHost: a\r\nAccept: text/plain\r\n\r\n",
      count, version);
}

TEST(MintTest, LinesThatAreAtHandHaveALength) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Ask("GET", "/get-key");
  client.Feed(AskForLines(500));
  const Response response = client.Take();
  EXPECT_EQ(response.header("content-length"), "4000");
  EXPECT_EQ(Lines(response.body).size(), 500U);
}

TEST(MintTest, LinesThatHaveToBeWaitedForAreStreamed) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Ask("GET", "/get-key");
  client.Feed(AskForLines(5000));
  ASSERT_TRUE(client.parked());
  EXPECT_NE(client.output().find("Transfer-Encoding: chunked"), std::string::npos);
  client.Send("");
  const Response response = client.Take();
  EXPECT_TRUE(response.whole);
  EXPECT_EQ(Lines(response.body).size(), 5000U);
  EXPECT_TRUE(AllDistinct(Lines(response.body)));
  EXPECT_EQ(client.Ask("GET", "/livez").status, 200);  // The connection lives on.
}

TEST(MintTest, FewLinesAreCutOffTooWhenTheDeadlineStrikes) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Ask("GET", "/get-key");
  server.store().down = true;
  client.Feed(AskForLines(5000));
  ASSERT_TRUE(client.parked());
  clock.Advance(2s);
  client.Poke();
  EXPECT_TRUE(client.closed());
  const Response response = client.Take();
  EXPECT_EQ(response.status, 200);
  EXPECT_FALSE(response.whole);
  EXPECT_EQ(Lines(response.body).size() + 1, server.issued());  // Nothing that was taken is lost.
}

TEST(MintTest, FewLinesAreCutOffTooWhenTheKeyspaceEnds) {
  TestServer server;
  server.Create("ten", TenKeys());
  Client client(server);
  client.Send(
      "POST /v1/keyspaces/ten/keys?count=11 HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n");
  EXPECT_TRUE(client.closed());
  const Response response = client.Take();
  EXPECT_FALSE(response.whole);
  EXPECT_EQ(response.body, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  Client next(server);
  EXPECT_EQ(next.Ask("POST", "/v1/keyspaces/ten/keys", kText).status, 507);
}

// HTTP/1.0 has no chunks, and an answer that just ends looks whole.
TEST(MintTest, LinesForHttp10AreWholeOrAProblem) {
  FakeClock clock;
  TestServer server(clock);
  Client whole(server);
  whole.Send(AskForLines(5000, "1.0"));
  EXPECT_EQ(Lines(whole.Take().body).size(), 5000U);
  server.Refill();
  ASSERT_GT(server.engine().Find("default")->stats().ahead, 0U);
  server.store().down = true;
  Client cut(server);
  cut.Feed(AskForLines(9999, "1.0"));
  ASSERT_TRUE(cut.parked());
  EXPECT_EQ(cut.output(), "");
  clock.Advance(2s);
  cut.Poke();
  EXPECT_EQ(cut.Take().status, 503);
}

TEST(MintTest, JsonHoldsWhatThereIsWhenTheDeadlineStrikes) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Ask("GET", "/get-key");
  server.store().down = true;
  client.Feed("POST /v1/keyspaces/default/keys?count=5000 HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(client.parked());
  clock.Advance(2s);
  client.Poke();
  EXPECT_EQ(KeysOf(client.Take()).size() + 1, server.issued());
  EXPECT_FALSE(client.closed());
}

constexpr std::string_view kStream =
    "POST /v1/keyspaces/default/keys?count=100000 HTTP/1.1\r\nHost: a\r\n"
    "Accept: text/plain\r\n\r\n";

void Empty(mint::Keyspace& keyspace) {
  while (keyspace.Take(1000).count > 0) {
  }
}

// Whoever wants more than a block has must not be first in line for the next one, too.
TEST(MintTest, WhoTookAllThatThereIsQueuesBehindTheOthers) {
  for (const std::string_view request :
       {kStream, std::string_view("POST /v1/keyspaces/default/keys?count=9000 HTTP/1.1\r\n"
                                  "Host: a\r\n\r\n")}) {
    FakeClock clock;
    TestServer server(clock);
    Client greedy(server);
    Client modest(server);
    Empty(*server.engine().Find("default"));
    greedy.Feed(request);
    ASSERT_TRUE(greedy.parked());
    modest.Feed("GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(modest.parked());
    server.Refill();
    greedy.Step();
    EXPECT_EQ(server.engine().Find("default")->stats().ahead, 0U) << "it took the whole block";
    EXPECT_EQ(greedy.step().want, net::Want::kFlush);
    modest.Poke();
    EXPECT_TRUE(modest.parked());
    greedy.Poke();
    EXPECT_TRUE(greedy.parked());
  }
}

TEST(MintTest, TheTimeThatAReaderTakesDoesNotCountAgainstItsStream) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);  // From now on there is a block.
  client.Step(kStream);
  ASSERT_EQ(client.step().want, net::Want::kFlush);
  clock.Advance(1h);
  Empty(*server.engine().Find("default"));
  client.Step();
  ASSERT_TRUE(client.parked());
  clock.Advance(server.service().options().request_timeout);
  client.Step();
  EXPECT_TRUE(client.closed()) << "but standing still is limited";
}

TEST(MintTest, AStreamIsCutWhenTheStoreStaysAway) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Feed(
      "POST /v1/keyspaces/default/keys?count=100000 HTTP/1.1\r\nHost: a\r\n"
      "Accept: text/plain\r\n\r\n");
  ASSERT_TRUE(client.parked());
  server.Refill();
  clock.Advance(1s);
  server.store().down = true;
  client.Poke();  // Takes what there is, then waits for more.
  ASSERT_TRUE(client.parked());
  EXPECT_EQ(*client.step().wake_at, clock.Monotonic() + 2s);  // From the last key on.
  for (int i = 0; i < 3; ++i) {
    server.Refill();
    clock.Advance(1s);
    client.Poke();
  }
  ASSERT_TRUE(client.closed());
  const Response response = client.Take();
  EXPECT_FALSE(response.whole);
  EXPECT_GT(response.body.size(), 0U);
}

TEST(MintTest, AQuarantinedKeyspaceStops) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);
  const std::string id = server.engine().Find("default")->id();
  ASSERT_TRUE(server.store().inner().Quarantine(id, "testing", clock.Monotonic() + 1s).ok());
  clock.Advance(10s);
  server.Refill();
  const Response response = client.Ask("GET", "/get-key");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(Json::parse(response.body).at("type"), "keyspace-quarantined");
  EXPECT_NE(response.header("retry-after"), "");
}

TEST(MintTest, ARetiredKeyspaceIsGone) {
  TestServer server;
  Client client(server);
  EXPECT_EQ(client.Ask("POST", "/v1/keyspaces/orders/keys").status, 200);
  const Response retired = client.Ask("DELETE", "/v1/keyspaces/orders");
  EXPECT_EQ(retired.status, 200);
  EXPECT_EQ(Json::parse(retired.body).at("state"), "retired");
  const Response response = client.Ask("POST", "/v1/keyspaces/orders/keys");
  EXPECT_EQ(response.status, 410);
  EXPECT_EQ(Json::parse(response.body).at("type"), "keyspace-retired");
  for (const std::string recipe :
       {R"({"kind":"sequence","alphabet":"decimal"})", R"({"kind":"shuffled"})"}) {
    const Response again = client.AskJson("PUT", "/v1/keyspaces/orders", recipe);
    EXPECT_EQ(again.status, 410);
    EXPECT_EQ(Json::parse(again.body).at("type"), "keyspace-retired");
  }
}

}  // namespace
}  // namespace keymill::api::http
