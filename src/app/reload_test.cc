// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/settings_table.h"

namespace keymill::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

TEST(ReloadTest, NothingChangedIsEmpty) {
  EXPECT_TRUE(CompareSettings(Settings(), Settings()).empty());
}

TEST(ReloadTest, TellsWhatTakesEffectFromWhatNeedsARestart) {
  Settings wanted;
  wanted.log_level = "debug";
  wanted.request_timeout = 500ms;
  wanted.listen_http = "";
  wanted.threads = 3;
  const Reload reload = CompareSettings(Settings(), wanted);
  EXPECT_THAT(reload.now, ElementsAre("request_timeout 2s -> 500ms", "log_level info -> debug"));
  EXPECT_THAT(reload.at_restart,
              ElementsAre("listen.http 127.0.0.1:8080 -> \"\"", "threads 0 -> 3"));
}

TEST(ReloadTest, KeyspacesAreGainedAndDroppedByName) {
  Settings running;
  Settings wanted;
  wanted.keyspaces.clear();
  wanted.keyspaces["orders"] = DefaultRecipe(Kind::kSequence);
  const Reload reload = CompareSettings(running, wanted);
  EXPECT_THAT(reload.keyspaces_gained, ElementsAre("orders"));
  EXPECT_THAT(reload.keyspaces_dropped, ElementsAre("default", "ids"));
  EXPECT_THAT(reload.at_restart, IsEmpty());
}

TEST(ReloadTest, AnotherRecipeIsForTheStoreToRefuse) {
  Settings wanted;
  wanted.keyspaces.at("default").length = 9;
  EXPECT_THAT(CompareSettings(Settings(), wanted).keyspaces_gained, ElementsAre("default"));
}

TEST(ReloadTest, AdoptsExactlyWhatReloads) {
  Settings wanted;
  wanted.listen_http = "127.0.0.1:0";
  wanted.listen_resp = "127.0.0.1:0";
  wanted.listen_grpc = "127.0.0.1:1";
  wanted.listen_links = "127.0.0.1:2";
  wanted.links_keyspace = "short";
  wanted.links_public_url = "https://sho.rt";
  wanted.links_homepage = "https://home.test/";
  wanted.data_dir = "elsewhere";
  wanted.store = "memory:";
  wanted.store_create = "never";
  wanted.accept_unsafe_store = "a test";
  wanted.block_size = 7;
  wanted.block_growth = "off";
  wanted.runway_target = 2s;
  wanted.pool_low = 0;
  wanted.worker_id = "17";
  wanted.accept_clock_ahead = true;
  wanted.request_timeout = 3s;
  wanted.threads = 4;
  wanted.connections_max = 5;
  wanted.drain_delay = 6s;
  wanted.shutdown_timeout = 7s;
  wanted.log_level = "error";
  wanted.log_format = "json";
  wanted.insecure = true;
  wanted.compat = {};
  wanted.keyspaces["more"] = DefaultRecipe(Kind::kSequence);
  Settings running;
  AdoptReloaded(wanted, running);
  for (const SettingRow& row : SettingRows()) {
    const std::string before = row.print(Settings());
    const std::string after = row.print(wanted);
    ASSERT_NE(before, after) << row.info.path << ": give it another value above";
    EXPECT_EQ(row.print(running), row.info.reloads ? after : before) << row.info.path;
  }
}

}  // namespace
}  // namespace keymill::app
