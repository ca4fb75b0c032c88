// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// Minting over HTTP when keys have to be waited for, run out, or cannot be had.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"
#include "api/http/mint_job.h"
#include "api/http/mint_job_test_support.h"

namespace keymill::api::http {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

// H22
TEST(MintWaitingTest, TheStoreIsAway) {
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

TEST(MintWaitingTest, NoBlockInTimeIsADeadline) {
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

TEST(MintWaitingTest, AParkedRequestIsWokenByItsBlock) {
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

TEST(MintWaitingTest, ASessionMayEndWhileItIsParked) {
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

TEST(MintWaitingTest, AnExhaustedKeyspaceGivesItsLastKeysAndSaysSo) {
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

TEST(MintWaitingTest, AStreamThatRunsDryIsCutWithoutItsLastChunk) {
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

TEST(MintWaitingTest, LinesThatAreAtHandHaveALength) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Ask("GET", "/get-key");
  client.Feed(AskForLines(500));
  const Response response = client.Take();
  EXPECT_EQ(response.header("content-length"), "4000");
  EXPECT_EQ(Lines(response.body).size(), 500U);
}

TEST(MintWaitingTest, LinesThatHaveToBeWaitedForAreStreamed) {
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

TEST(MintWaitingTest, FewLinesAreCutOffTooWhenTheDeadlineStrikes) {
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

TEST(MintWaitingTest, FewLinesAreCutOffTooWhenTheKeyspaceEnds) {
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
TEST(MintWaitingTest, LinesForHttp10AreWholeOrAProblem) {
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

TEST(MintWaitingTest, JsonHoldsWhatThereIsWhenTheDeadlineStrikes) {
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
  std::string keys(1000 * keyspace.key_size_max(), '\0');
  while (keyspace.TakeKeys(1000, "", keys.data()).keys > 0) {
  }
}

// Whoever wants more than a block has must not be first in line for the next one, too.
TEST(MintWaitingTest, WhoTookAllThatThereIsQueuesBehindTheOthers) {
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

TEST(MintWaitingTest, TheTimeThatAReaderTakesDoesNotCountAgainstItsStream) {
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
  clock.Advance(server.service().Deadline() - clock.Monotonic());
  client.Step();
  EXPECT_TRUE(client.closed()) << "but standing still is limited";
}

TEST(MintWaitingTest, AStreamIsCutWhenTheStoreStaysAway) {
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

TEST(MintWaitingTest, AQuarantinedKeyspaceStops) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);
  const std::string id = server.engine().Find("default")->id();
  ASSERT_TRUE(server.store().inner().Quarantine(id, "testing", {}, clock.Monotonic() + 1s).ok());
  clock.Advance(10s);
  server.Refill();
  const Response response = client.Ask("GET", "/get-key");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(Json::parse(response.body).at("type"), "keyspace-quarantined");
  EXPECT_NE(response.header("retry-after"), "");
}

TEST(MintWaitingTest, ARetiredKeyspaceIsGone) {
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

TEST(MintWaitingTest, OfAMovedStoreItIsSaidThatItWasMoved) {
  const FakeClock clock;
  TestServer server(clock);
  Client client(server);
  EXPECT_EQ(client.Ask("GET", "/get-key").status, 200);
  ASSERT_TRUE(
      server.store().inner().Seal("etcd://inner.example", false, clock.Monotonic() + 1s).ok());
  Response response;
  for (int i = 0; i < 1000 && response.status != 503; ++i) {
    server.Refill();
    response = client.Ask("POST", WithCount("10000"));
  }
  const auto expect_moved = [](const Response& answer, const std::string& name) {
    EXPECT_EQ(answer.status, 503);
    const Json problem = Json::parse(answer.body);
    EXPECT_EQ(problem.at("type"), "store-unavailable");
    EXPECT_EQ(problem.at("detail"),
              "keyspace " + name +
                  " was moved to another store, with which this instance has to be started; its "
                  "log says which");
    EXPECT_EQ(answer.header("retry-after"), "60");
  };
  expect_moved(response, "default");
  expect_moved(client.Ask("GET", "/get-key"), "default");
  expect_moved(client.Ask("DELETE", "/v1/keyspaces/orders"), "orders");
  expect_moved(client.AskJson("PUT", "/v1/keyspaces/fresh", R"({"kind":"shuffled"})"), "fresh");
  for (const char* const path :
       {"/v1/keyspaces/default", "/v1/keyspaces", "/readyz?verbose", "/readyz"}) {
    EXPECT_EQ(client.Ask("GET", path).body.find("inner.example"), std::string::npos) << path;
  }
  EXPECT_NE(client.Ask("GET", "/readyz?verbose").body.find("was moved to another store"),
            std::string::npos);
}

}  // namespace
}  // namespace keymill::api::http
