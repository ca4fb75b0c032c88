// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "api/http/cross_site.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"

namespace keymill::api::http {
namespace {

using wire::Method;

bool Refused(Method method, std::string_view host, std::string_view origin, bool mints = false) {
  wire::HttpRequest request;
  request.method = method;
  request.host = host;
  request.origin = origin;
  return IsCrossSite(request, mints);
}

TEST(CrossSiteTest, OnlyTheSameSiteMayChangeAnything) {
  for (const auto& [host, origin] : std::vector<std::pair<std::string, std::string>>{
           {"localhost:8080", ""},
           {"localhost:8080", "http://localhost:8080"},
           {"LocalHost:8080", "http://localHOST:8080"},
           {"keys.example.com", "https://keys.example.com"},
           {"keys.example.com:443", "https://keys.example.com"},
           {"keys.example.com:80", "http://keys.example.com"},
           {"[::1]:8080", "http://[::1]:8080"}}) {
    EXPECT_FALSE(Refused(Method::kPost, host, origin)) << host << ' ' << origin;
  }
  for (const auto& [host, origin] : std::vector<std::pair<std::string, std::string>>{
           {"localhost:8080", "http://evil.example"},
           {"localhost:8080", "http://localhost:8081"},
           {"localhost:8080", "http://localhost"},
           {"localhost:8080", "null"},
           {"localhost:8080", "localhost:8080"},
           {"localhost:8080", "http://localhost:8080.evil.example"},
           {"localhost:8080", "http://evil.example/http://localhost:8080"},
           {"keys.example.com:443", "http://keys.example.com"},
           {"", "http://evil.example"}}) {
    for (const Method method : {Method::kPost, Method::kPut, Method::kDelete, Method::kOther}) {
      EXPECT_TRUE(Refused(method, host, origin)) << host << ' ' << origin;
    }
    for (const Method method : {Method::kGet, Method::kHead, Method::kOptions}) {
      EXPECT_FALSE(Refused(method, host, origin)) << host << ' ' << origin;
    }
  }
}

TEST(CrossSiteTest, NoMethodIsSafeForWhatMints) {
  for (const Method method : {Method::kGet, Method::kPost, Method::kOther}) {
    EXPECT_TRUE(Refused(method, "localhost:8080", "http://evil.example", true));
    EXPECT_TRUE(Refused(method, "localhost:8080", "null", true));
    EXPECT_FALSE(Refused(method, "localhost:8080", "http://localhost:8080", true));
    EXPECT_FALSE(Refused(method, "localhost:8080", "", true));
  }
}

TEST(CrossSiteTest, WhatIsRefusedCostsNoKey) {
  TestServer server;
  Client client(server);
  const auto expect_forbidden = [](const Response& response) {
    EXPECT_EQ(response.status, 403);
    EXPECT_EQ(nlohmann::json::parse(response.body).at("type"), "forbidden");
  };
  const std::string foreign = "Origin: https://evil.example\r\n";
  expect_forbidden(client.Ask("POST", "/v1/keyspaces/default/keys", foreign));
  expect_forbidden(client.Ask("PUT", "/v1/keyspaces/fresh", foreign));
  expect_forbidden(client.Ask("DELETE", "/v1/keyspaces/orders", foreign));
  expect_forbidden(client.Ask("GET", "/get-key", "Sec-Fetch-Site: cross-site\r\n"));
  expect_forbidden(client.Ask("GET", "/get-key", foreign));
  EXPECT_EQ(server.issued(), 0U);
  EXPECT_EQ(client.Ask("GET", "/v1/keyspaces/fresh").status, 404);

  EXPECT_EQ(client.Ask("GET", "/livez", foreign).status, 200);
  EXPECT_EQ(client.Ask("GET", "/get-key", "Origin: http://a\r\n").status, 200);
  EXPECT_EQ(client.Ask("GET", "/livez", "Sec-Fetch-Site: cross-site\r\n").status, 200);
  EXPECT_EQ(client.Ask("GET", "/get-key", "Sec-Fetch-Site: none\r\n").status, 200);
  EXPECT_EQ(client.Ask("GET", "/get-key", "Sec-Fetch-Site: same-origin\r\n").status, 200);
  EXPECT_EQ(client.Ask("POST", "/v1/keyspaces/default/keys", "Origin: http://a\r\n").status, 200);
}

}  // namespace
}  // namespace keymill::api::http
