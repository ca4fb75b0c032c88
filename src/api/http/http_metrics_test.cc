// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/http_metrics.h"

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/http/http_test_support.h"

namespace keymill::api::http {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGetKey = "GET /get-key HTTP/1.1\r\nHost: a\r\n\r\n";

double Requests(TestServer& server, const char* method, const char* status) {
  MetricFamilies families;
  server.service().metrics().Collect(families);
  return families.Value("keymill_requests_total",
                        {{"frontend", "http"}, {"method", method}, {"status", status}});
}

TimeCounts Times(TestServer& server) {
  MetricFamilies families;
  server.service().metrics().Collect(families);
  for (const MetricFamily* const family : families.all()) {
    if (family->type == MetricType::kTimes) return family->samples.front().times;
  }
  return {};
}

TEST(HttpMetricsTest, EveryAnswerIsCountedOnce) {
  TestServer server;
  Client client(server);
  client.Ask("POST", "/v1/keyspaces/default/keys?count=5");  // Waits for the first block.
  client.Ask("POST", "/v1/keyspaces/nowhere/keys");          // Asks the store.
  client.Ask("GET", "/v1/keyspaces/default/keys");           // 405
  client.Ask("GET", "/v1/keyspaces");
  client.Ask("HEAD", "/livez");
  client.Ask("OPTIONS", "*");
  client.Ask("DELETE", "/v1/keyspaces/orders");
  client.Ask("POST", "/v1/keyspaces/orders/keys");  // 410
  client.Ask("PATCH", "/");
  EXPECT_EQ(Requests(server, "POST", "2xx"), 1);
  EXPECT_EQ(Requests(server, "POST", "4xx"), 2);
  EXPECT_EQ(Requests(server, "GET", "4xx"), 1);
  EXPECT_EQ(Requests(server, "GET", "2xx"), 1);
  EXPECT_EQ(Requests(server, "HEAD", "2xx"), 1);
  EXPECT_EQ(Requests(server, "OPTIONS", "2xx"), 1);
  EXPECT_EQ(Requests(server, "DELETE", "2xx"), 1);
  EXPECT_EQ(Requests(server, "other", "4xx"), 1);
  EXPECT_EQ(Requests(server, "GET", "5xx"), 0);
  EXPECT_EQ(Times(server).count(), 9U);
}

TEST(HttpMetricsTest, BytesThatAreNoRequestAreCountedWithoutAMethod) {
  TestServer server;
  Client client(server);
  client.Send("nonsense\r\n\r\n");
  EXPECT_EQ(client.Take().status, 400);
  EXPECT_EQ(Requests(server, "other", "4xx"), 1);
}

TEST(HttpMetricsTest, RepeatsThatAreAnsweredTogetherAllCount) {
  TestServer server;
  Client client(server);
  client.Send(kGetKey);
  std::string many;
  for (int i = 0; i < 300; ++i) many += kGetKey;
  client.Send(many);
  EXPECT_EQ(Requests(server, "GET", "2xx"), 301);
  EXPECT_EQ(Times(server).count(), 301U);
  client.Ask("POST", "/v1/keyspaces/default/keys");
  client.Ask("POST", "/v1/keyspaces/default/keys");
  EXPECT_EQ(Requests(server, "POST", "2xx"), 2);
  EXPECT_EQ(Requests(server, "GET", "2xx"), 301);
}

TEST(HttpMetricsTest, ARequestThatWaitsTakesAsLongAsItWaits) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Feed(kGetKey);  // No block yet.
  ASSERT_TRUE(client.parked());
  EXPECT_EQ(Times(server).count(), 0U) << "not answered yet";
  clock.Advance(30ms);
  client.Poke();
  clock.Advance(30ms);
  client.Unpark();
  EXPECT_EQ(client.Take().status, 200);
  EXPECT_EQ(Times(server).count(), 1U);
  EXPECT_EQ(Times(server).sum_ns, 60'000'000U);
  client.Send(kGetKey);
  EXPECT_EQ(Times(server).count(), 2U);
  EXPECT_EQ(Times(server).sum_ns, 60'000'000U) << "the clock stands still";
}

TEST(HttpMetricsTest, WhatIsBehindARequestThatWaitedBeginsLater) {
  FakeClock clock;
  TestServer server(clock);
  Client client(server);
  client.Feed("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
  client.Feed(kGetKey);
  ASSERT_TRUE(client.parked());
  clock.Advance(40ms);
  client.Feed("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
  client.Send({});
  EXPECT_EQ(Times(server).count(), 3U);
  EXPECT_EQ(Times(server).sum_ns, 40'000'000U);
}

TEST(HttpMetricsTest, ADeadlineIsAServerError) {
  FakeClock clock;
  TestServer server(clock);
  server.store().down = true;
  Client client(server);
  client.Feed(kGetKey);
  ASSERT_TRUE(client.parked());
  clock.Advance(3s);
  client.Poke();
  EXPECT_EQ(client.Take().status, 503);
  EXPECT_EQ(Requests(server, "GET", "5xx"), 1);
  EXPECT_EQ(Requests(server, "GET", "2xx"), 0);
}

TEST(HttpMetricsTest, ThreadsAreAddedUp) {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  TestServer server;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&server] {
      Client client(server);
      for (int n = 0; n < kEach; ++n) client.Ask("GET", "/get-key");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Requests(server, "GET", "2xx"), kThreads * kEach);
  EXPECT_EQ(server.engine().Find("default")->stats().keys, kThreads * kEach);
}

TEST(HttpMetricsTest, ThePageIsServedWhenThereIsOne) {
  TestServer without;
  Client client(without);
  EXPECT_EQ(client.Ask("GET", "/metrics").status, 404);
  Backend backend;
  Service service({.version = "1", .metrics_page = [] { return "a 1\n"; }}, backend);
  std::promise<void> written;
  HttpSession session(service, [&written] { written.set_value(); });
  std::string output;
  session.Advance("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", output);
  EXPECT_EQ(output, "") << "another thread writes it";
  written.get_future().wait();
  session.Advance("", output);
  std::string_view rest = output;
  const Response response = TakeResponse(rest);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response.header("cache-control"), "no-store");
  EXPECT_EQ(response.body, "a 1\n");
}

}  // namespace
}  // namespace keymill::api::http
