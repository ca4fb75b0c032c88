// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/listeners.h"

#include <gtest/gtest.h>

namespace keymill::app {
namespace {

// Nothing but RESP, which is on by default.
Config Bare() {
  Config config;
  for (const SettingInfo& info : SettingTable()) config.origins[std::string(info.path)] = {};
  config.settings.listen_http = "";
  return config;
}

TEST(ListenersTest, WhatMayBeSkippedIsNothingToListenOn) {
  Config config = Bare();
  EXPECT_EQ(CheckListening(config).code(), Code::kFailedPrecondition);
  config.origins["listen.resp"].layer = Origin::Layer::kFile;
  EXPECT_TRUE(CheckListening(config).ok());
  config.settings.listen_resp = "";
  EXPECT_EQ(CheckListening(config).message(),
            "nothing to listen on: set listen.http, for example to 127.0.0.1:8080");
}

TEST(ListenersTest, AnyOtherFrontEndIsEnough) {
  for (std::string Settings::*const member :
       {&Settings::listen_http, &Settings::listen_grpc, &Settings::listen_links}) {
    Config config = Bare();
    config.settings.*member = "127.0.0.1:0";
    EXPECT_TRUE(CheckListening(config).ok());
  }
}

}  // namespace
}  // namespace keymill::app
