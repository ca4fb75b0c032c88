// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// What the tests of minting over HTTP share.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/http/http_test_support.h"

namespace keymill::api::http {

inline constexpr std::string_view kKeys = "/v1/keyspaces/default/keys";
inline constexpr std::string_view kText = "Accept: text/plain\r\n";

inline std::string WithCount(std::string_view count) {
  return fmt::format("{}?count={}", kKeys, count);
}

inline std::vector<std::string> KeysOf(const Response& response) {
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.header("content-type"), "application/json");
  EXPECT_EQ(response.header("cache-control"), "no-store");
  const auto json = nlohmann::json::parse(response.body);
  EXPECT_EQ(json.size(), 2U);
  return json.at("keys").get<std::vector<std::string>>();
}

}  // namespace keymill::api::http
