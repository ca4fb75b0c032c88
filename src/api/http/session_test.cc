// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/session.h"

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"
#include "mint/counter_keyspace.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr std::string_view kLive = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kGetKey = "GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kList = "GET /v1/keyspaces HTTP/1.1\r\nHost: a\r\n\r\n";

// H17
TEST(SessionTest, AnswersAThousandPipelinedRequestsInOrder) {
  TestServer server;
  Client client(server);
  std::string requests;
  for (int i = 0; i < 1000; ++i) {
    requests += "POST /v1/keyspaces/orders/keys HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  client.Send(requests);
  for (int i = 1; i <= 1000; ++i) {
    const Response response = client.Take();
    ASSERT_EQ(response.body, fmt::format("{{\"keyspace\":\"orders\",\"keys\":[\"{}\"]}}\n", i));
  }
  EXPECT_EQ(client.output(), "");
  EXPECT_FALSE(client.closed());
}

// The second of two equal requests is answered in another way than the first, with the same
// bytes but for the key.
TEST(SessionTest, ARepeatedRequestIsAnsweredLikeTheFirst) {
  FakeClock clock;  // Nobody refills beside us: what has to be waited for looks different.
  TestServer server(clock);
  constexpr std::uint32_t kEnough = 1U << 20;
  auto& keys = dynamic_cast<mint::CounterKeyspace&>(*server.engine().Find("default"));
  ASSERT_TRUE(keys.AddBlock({"plenty", kEnough, kEnough, {1, 1}}, {}));
  Client client(server);
  for (const std::string_view request :
       {std::string_view("GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string_view("POST /v1/keyspaces/default/keys HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string_view("POST /v1/keyspaces/default/keys?count=1 HTTP/1.1\r\nHost: a\r\n"
                         "Accept: text/plain\r\nContent-Length: 0\r\n\r\n"),
        std::string_view("POST /v1/keyspaces/default/keys?count=100 HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string_view("POST /v1/keyspaces/default/keys?count=100 HTTP/1.1\r\nHost: a\r\n"
                         "Accept: text/plain\r\n\r\n"),
        std::string_view("POST /v1/keyspaces/default/keys?count=20000 HTTP/1.1\r\nHost: a\r\n"
                         "Accept: text/plain\r\n\r\n")}) {
    std::set<std::string> bodies;
    Response first;
    for (int i = 0; i < 20; ++i) {
      if (i < 5) client.Send(request);  // One by one, and then many together.
      if (i == 5) {
        std::string together;
        for (int k = i; k < 20; ++k) together += request;
        client.Send(together);
      }
      Response response = client.Take();
      EXPECT_EQ(response.status, 200);
      EXPECT_TRUE(bodies.insert(response.body).second) << response.body << " twice";
      if (i == 0) first = response;
      EXPECT_EQ(response.body.size(), first.body.size());
      for (const char* const name :
           {"content-type", "content-length", "transfer-encoding", "cache-control"}) {
        EXPECT_EQ(response.header(name), first.header(name)) << request;
      }
      EXPECT_NE(response.header("date"), "");
      EXPECT_EQ(response.header("connection"), "");
    }
  }
  EXPECT_EQ(client.output(), "");
}

// Between two equal requests, one that mints with a body: what it did must not be taken for
// what the first one wants.
TEST(SessionTest, ARequestInBetweenDoesNotChangeWhatAnotherMeans) {
  TestServer server;
  server.Create("other", DefaultRecipe(Kind::kShuffled));
  for (const std::string_view first :
       {"GET /livez", "HEAD /livez", "GET /readyz", "GET /v1/keyspaces/default", "GET /nowhere",
        "POST /v1/keyspaces/default/keys", "POST /v1/keyspaces/default/keys?count=5",
        "DELETE /v1/keyspaces/nobody", "PUT /get-key"}) {
    for (const std::string_view fields : {"", "Origin: https://evil.example\r\n"}) {
      Client client(server);
      const std::string request = fmt::format("{} HTTP/1.1\r\nHost: a\r\n{}\r\n", first, fields);
      const bool head = first.starts_with("HEAD");
      client.Send(request);
      const Response before = client.Take(head);
      client.Ask("POST", "/v1/keyspaces/other/keys", "", "{\"count\":1}");
      client.Send(request);
      const Response after = client.Take(head);
      EXPECT_EQ(after.status, before.status) << request;
      EXPECT_EQ(after.header("content-type"), before.header("content-type")) << request;
      EXPECT_EQ(after.body.size(), before.body.size()) << request;
      EXPECT_EQ(after.body.find("\"other\""), std::string::npos) << request << after.body;
      EXPECT_EQ(client.output(), "") << request;
    }
  }
}

TEST(SessionTest, ARepeatedRequestWaitsForABlockLikeAnyOther) {
  FakeClock clock;  // Without a refiller beside us.
  TestServer server(clock);
  Client client(server);
  client.Send(kGetKey);
  EXPECT_EQ(client.Take().status, 200);
  mint::Keyspace& keyspace = *server.engine().Find("default");
  std::string keys(1000 * keyspace.key_size_max(), '\0');
  while (keyspace.TakeKeys(1000, "", keys.data()).keys > 0) {
  }
  client.Feed(kGetKey);
  EXPECT_TRUE(client.parked());
  client.Unpark();
  EXPECT_EQ(client.Take().status, 200);
  keyspace.RefillFailed({Code::kQuarantined, "the store went back"});
  client.Send(kGetKey);
  EXPECT_EQ(client.Take().status, 503);
}

TEST(SessionTest, ASlowRequestHoldsBackThoseBehindIt) {
  TestServer server;
  Client client(server);
  const std::string key = client.Ask("GET", "/get-key").body;
  client.Send(fmt::format("{0}GET /v1/keyspaces/default/keys/{1} HTTP/1.1\r\nHost: a\r\n\r\n{0}",
                          kLive, key));
  EXPECT_EQ(client.Take().body, "ok\n");
  EXPECT_EQ(Json::parse(client.Take().body).at("key"), key);
  EXPECT_EQ(client.Take().body, "ok\n");
  EXPECT_EQ(client.output(), "");
}

TEST(SessionTest, TakesNoInputWhileItIsParked) {
  TestServer server;
  Client client(server);
  server.store().stuck = true;
  client.Feed(fmt::format("{}{}", kList, kLive));
  ASSERT_TRUE(client.parked());
  EXPECT_EQ(client.step().consumed, kList.size());
  client.Feed(kLive);
  ASSERT_TRUE(client.parked());
  EXPECT_EQ(client.step().consumed, 0U);
  EXPECT_EQ(client.output(), "");
  server.store().stuck = false;
  server.store().released.Raise();
  client.Send("");
  EXPECT_EQ(client.Take().header("content-type"), "application/json");
  EXPECT_EQ(client.Take().body, "ok\n");
  EXPECT_EQ(client.Take().body, "ok\n");
}

TEST(SessionTest, NothingIsReadBehindAnError) {
  TestServer server;
  Client client(server);
  client.Send(fmt::format("{0}BROKEN\r\n\r\n{1}", kLive, kGetKey));
  EXPECT_EQ(client.Take().status, 200);
  const Response error = client.Take();
  EXPECT_EQ(error.status, 400);
  EXPECT_TRUE(error.closes());
  EXPECT_EQ(Json::parse(error.body).at("type"), "bad-request");
  EXPECT_EQ(client.output(), "");
  EXPECT_TRUE(client.closed());
  client.Feed(kGetKey);  // Nor later.
  EXPECT_EQ(client.output(), "");
  EXPECT_EQ(server.issued(), 0U);
}

TEST(SessionTest, EveryUnreadableRequestIsAProblemAndTheEnd) {
  TestServer server;
  const std::vector<std::pair<std::string, std::pair<int, std::string>>> rows = {
      {"GET / HTTP/1.1\r\n\r\n", {400, "bad-request"}},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", {414, "uri-too-long"}},
      {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(33'000, 'a') + "\r\n\r\n",
       {431, "header-too-large"}},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n", {413, "too-large"}},
      {"POST / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", {417, "expectation-failed"}},
      {"BREW / HTTP/1.1\r\nHost: a\r\n\r\n", {501, "not-implemented"}},
      {"GET / HTTP/3.0\r\nHost: a\r\n\r\n", {505, "http-version"}}};
  for (const auto& [bytes, expected] : rows) {
    Client client(server);
    client.Feed(bytes);
    EXPECT_TRUE(client.closed()) << expected.first;
    const Response response = client.Take();
    EXPECT_EQ(response.status, expected.first);
    EXPECT_TRUE(response.closes());
    const Json problem = Json::parse(response.body);
    EXPECT_EQ(problem.at("type"), expected.second);
    EXPECT_EQ(problem.at("status"), expected.first);
    EXPECT_EQ(problem.at("title"), response.reason);
    EXPECT_FALSE(problem.at("detail").get<std::string>().empty());
  }
}

TEST(SessionTest, AnUnfinishedRequestIsWaitedForAndThenTimedOut) {
  TestServer server;
  Client client(server);
  client.Feed(fmt::format("{}GET /liv", kLive));
  EXPECT_EQ(client.step().want, net::Want::kInput);
  EXPECT_TRUE(client.step().in_request);
  EXPECT_EQ(client.step().consumed, kLive.size());
  std::string last_words;
  client.session().OnTimeout(last_words);
  std::string_view rest = last_words;
  const Response response = TakeResponse(rest);
  EXPECT_EQ(response.status, 408);
  EXPECT_TRUE(response.closes());
  client.Take();
  client.Feed("");
  EXPECT_TRUE(client.closed());
}

TEST(SessionTest, AnEmptyLineBeginsNoRequest) {
  TestServer server;
  Client client(server);
  client.Feed(fmt::format("\r\n{}\r\n", kLive));
  EXPECT_EQ(client.Take().status, 200);
  EXPECT_EQ(client.step().consumed, kLive.size() + 4);
  EXPECT_FALSE(client.step().in_request);
  client.Feed("\r");
  EXPECT_TRUE(client.step().in_request);
  client.Feed(fmt::format("\n{}", kLive));
  EXPECT_EQ(client.Take().status, 200);
}

TEST(SessionTest, AnErrorForHeadHasNoBody) {
  TestServer server;
  for (const std::string_view rest : {"/ HTTP/1.1\r\n\r\n", "/ HTTP/3.0\r\nHost: a\r\n\r\n",
                                      "nonsense HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    Client client(server);
    client.Feed(fmt::format("\r\nHEAD {}", rest));
    EXPECT_TRUE(client.closed());
    const Response response = client.Take(/*head=*/true);
    EXPECT_GE(response.status, 400);
    EXPECT_NE(response.header("content-length"), "0");
    EXPECT_EQ(client.output(), "") << rest;
  }
}

TEST(SessionTest, ContinuesWhenTheClientWaitsForIt) {
  TestServer server;
  Client client(server);
  client.Feed(
      "POST /v1/keyspaces/default/keys HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
      "Content-Length: 11\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.output(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(client.Take().status, 100);
  client.Feed("{\"cou");
  EXPECT_EQ(client.output(), "");
  client.Send("nt\":3}");
  EXPECT_EQ(Json::parse(client.Take().body).at("keys").size(), 3U);
}

TEST(SessionTest, ReadsChunkedBodies) {
  TestServer server;
  Client client(server);
  client.Send(
      "POST /v1/keyspaces/default/keys HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n4\r\n{\"co\r\n7\r\nunt\":3}\r\n0\r\n\r\n");
  EXPECT_EQ(Json::parse(client.Take().body).at("keys").size(), 3U);
}

TEST(SessionTest, KeepsTheConnectionAsAsked) {
  TestServer server;
  const auto ask = [&](std::string_view version, std::string_view connection) {
    Client client(server);
    client.Send(fmt::format("GET /livez HTTP/{}\r\nHost: a\r\n{}\r\n", version, connection));
    const Response response = client.Take();
    EXPECT_EQ(response.closes(), client.closed());
    return response.header("connection");
  };
  EXPECT_EQ(ask("1.1", ""), "");
  EXPECT_EQ(ask("1.1", "Connection: close\r\n"), "close");
  EXPECT_EQ(ask("1.0", ""), "close");
  EXPECT_EQ(ask("1.0", "Connection: keep-alive\r\n"), "keep-alive");
}

TEST(SessionTest, AParkedRequestThatAskedToCloseCloses) {
  TestServer server;
  Client client(server);
  client.Send(
      fmt::format("GET /v1/keyspaces HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n{}", kGetKey));
  EXPECT_TRUE(client.Take().closes());
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(client.output(), "");
  EXPECT_EQ(server.issued(), 0U);
}

TEST(SessionTest, ADrainAnswersWhatIsHereAndClosesWithTheLast) {
  TestServer server;
  Client client(server);
  client.Feed(fmt::format("{}GET /li", kLive));
  EXPECT_FALSE(client.Take().closes());
  client.session().OnDrain();
  client.Send(fmt::format("vez HTTP/1.1\r\nHost: a\r\n\r\n{}{}", kLive, kLive));
  EXPECT_FALSE(client.Take().closes());
  EXPECT_FALSE(client.Take().closes());
  const Response last = client.Take();
  EXPECT_EQ(last.status, 200);
  EXPECT_TRUE(last.closes());
  EXPECT_TRUE(client.closed());
}

TEST(SessionTest, ADrainAnswersParkedRequestsAndCloses) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Feed(kGetKey);
  ASSERT_TRUE(client.parked());
  client.session().OnDrain();
  client.Unpark();
  const Response response = client.Take();
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.closes());
  EXPECT_TRUE(client.closed());
}

// Answers are far larger than requests: the session must not pile them up.
TEST(SessionTest, OutputIsBoundedHoweverMuchIsPipelined) {
  TestServer server;
  Client client(server);
  std::string requests;
  for (int i = 0; i < 100; ++i) {
    requests += "POST /v1/keyspaces/default/keys?count=10000 HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  client.Send(requests);
  EXPECT_GT(client.output().size(), 100U * 100'000);
  EXPECT_LE(client.output_max(), 512U * 1024);
}

TEST(SessionTest, AStoreThatHangsIsNotWaitedForBeyondTheDeadline) {
  FakeClock clock;
  TestServer server(clock);
  server.store().stuck = true;
  for (const std::string& request :
       {std::string(kList),
        std::string("POST /v1/keyspaces/nobody/keys HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET /v1/keyspaces/default/keys/0000000 HTTP/1.1\r\nHost: a\r\n\r\n")}) {
    Client client(server);
    client.Feed(request);
    ASSERT_TRUE(client.parked());
    ASSERT_TRUE(client.step().wake_at.has_value());
    EXPECT_EQ(*client.step().wake_at, clock.Monotonic() + 2s);
    clock.Advance(2s);
    client.Poke();
    ASSERT_FALSE(client.parked()) << request;
    const Response response = client.Take();
    EXPECT_EQ(response.status, 503);
    EXPECT_EQ(Json::parse(response.body).at("type"), "deadline");
    EXPECT_EQ(response.header("retry-after"), "1");
    client.Feed(kLive);  // The connection lives on.
    EXPECT_EQ(client.Take().body, "ok\n");
  }
  server.store().stuck = false;
  server.store().released.Raise();
}

// The worker is at it when the connection goes away: it must not touch the session again.
TEST(SessionTest, ASessionMayEndWhileItsErrandRuns) {
  FakeClock clock;
  TestServer server(clock);
  server.store().stuck = true;
  Client running(server);
  Client queued(server);
  running.Feed(kList);
  ASSERT_TRUE(server.store().entered.Await());
  queued.Feed(kList);
  ASSERT_TRUE(running.parked() && queued.parked());
  running.Destroy();
  queued.Destroy();
  server.store().stuck = false;
  server.store().released.Raise();
  EXPECT_TRUE(running.signal()->Await());  // Woken, harmlessly.
  Client next(server);
  EXPECT_EQ(next.Ask("GET", "/v1/keyspaces").status, 200);
  EXPECT_FALSE(queued.signal()->Lower());  // Nobody waits for this one: it was not begun.
}

TEST(SessionTest, WithoutAnEngineEverythingButTheProbesIsUnavailable) {
  TestServer server;
  Backend backend;
  Service service({.version = "1"}, backend);
  const auto signal = std::make_shared<Signal>();
  HttpSession session(service, [signal] { signal->Raise(); });
  for (const auto& [request, status] :
       std::vector<std::pair<std::string, int>>{{std::string(kGetKey), 503},
                                                {std::string(kList), 503},
                                                {std::string(kLive), 200},
                                                {"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n", 503}}) {
    std::string output;
    if (session.Advance(request, output).want == net::Want::kWake) {
      ASSERT_TRUE(signal->Await());
      session.Advance("", output);
    }
    std::string_view rest = output;
    const Response response = TakeResponse(rest);
    EXPECT_EQ(response.status, status) << request;
    EXPECT_EQ(response.header("retry-after").empty(), status == 200);
  }
}

}  // namespace
}  // namespace keymill::api::http
