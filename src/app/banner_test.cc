// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/banner.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace keymill::app {
namespace {

using testing::HasSubstr;
using testing::Not;
using Keyspaces = std::map<std::string, Recipe>;

Banner Of(const Keyspaces& keyspaces, bool get_key = true) {
  return {.version = "1.2.3",
          .store = "sqlite:/d/keymill.db",
          .created = true,
          .url = "http://127.0.0.1:8080",
          .resp = "redis://127.0.0.1:6380",
          .keyspaces = keyspaces,
          .get_key = get_key};
}

TEST(BannerTest, TheCommandToTryFitsWhatIsServed) {
  const Recipe recipe;
  const Keyspaces two = {{"default", recipe}, {"apples", recipe}};
  EXPECT_EQ(TryCommand(Of(two)), "curl http://127.0.0.1:8080/get-key");
  EXPECT_EQ(TryCommand(Of(two, /*get_key=*/false)),
            "curl -X POST http://127.0.0.1:8080/v1/keyspaces/default/keys");
  const Keyspaces named = {{"orders", recipe}, {"zebras", recipe}};
  EXPECT_EQ(TryCommand(Of(named)), "curl -X POST http://127.0.0.1:8080/v1/keyspaces/orders/keys");
  EXPECT_THAT(TryCommand(Of({})), HasSubstr("curl -X PUT http://127.0.0.1:8080/v1/keyspaces/"));
}

TEST(BannerTest, WhatIsOffIsToldAndNotTried) {
  const Keyspaces keyspaces = {{"default", {}}};
  Banner banner = Of(keyspaces);
  EXPECT_THAT(BannerText(banner), HasSubstr("  resp       redis://127.0.0.1:6380\n"));
  banner.resp = "";
  EXPECT_THAT(BannerText(banner), HasSubstr("  resp       off\n"));
  banner.resp = "redis://127.0.0.1:6380";
  banner.url = "";
  EXPECT_EQ(TryCommand(banner), "redis-cli -u redis://127.0.0.1:6380 KEYMILL.MINT default");
  banner.resp = "";
  banner.grpc = "127.0.0.1:9090";
  EXPECT_EQ(TryCommand(banner), R"(grpcurl -plaintext -d '{"keyspace":"default"}' 127.0.0.1:9090 )"
                                "keymill.v1.Keymill/Mint");
}

TEST(BannerTest, TheTextIsShortHoweverManyKeyspacesThereAre) {
  Keyspaces many;
  for (int i = 0; i < 100; ++i) many["k" + std::to_string(i)] = {};
  const std::string text = BannerText(Of(many));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 12);
  EXPECT_THAT(text, HasSubstr(" and 92 more\n"));
}

TEST(BannerTest, TheLineSaysTheSameInOneLine) {
  const Keyspaces keyspaces = {{"default", {}}};
  const std::string line = BannerLine(Of(keyspaces));
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  for (const char* said : {"1.2.3", "resp redis://127.0.0.1:6380", "sqlite:/d/keymill.db",
                           "created", "default (shuffled)", "curl http://127.0.0.1:8080/get-key"}) {
    EXPECT_THAT(line, HasSubstr(said));
  }
}

TEST(BannerTest, NamesGrpcWhereItIsSpoken) {
  const Keyspaces keyspaces = {{"default", {}}};
  Banner banner = Of(keyspaces);
  EXPECT_THAT(BannerText(banner), Not(HasSubstr("grpc")));
  EXPECT_THAT(BannerLine(banner), Not(HasSubstr("grpc")));
  banner.grpc = "127.0.0.1:9090";
  EXPECT_THAT(BannerText(banner), HasSubstr("\n  grpc       127.0.0.1:9090\n"));
  EXPECT_THAT(BannerLine(banner), HasSubstr("; grpc 127.0.0.1:9090;"));
}

}  // namespace
}  // namespace keymill::app
