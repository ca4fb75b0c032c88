// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/config/settings_table.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace keymill::app {
namespace {

std::string Replaced(std::string_view text, std::string_view what, char with) {
  std::string result(text);
  for (char& c : result) {
    if (what.find(c) != std::string_view::npos) c = with;
  }
  return result;
}

// What `text` for `path` leads to: the printed value, or the error.
std::string Set(std::string_view path, std::string_view text) {
  Settings settings;
  const Status status = SetFromText(*FindSetting(path), text, settings);
  return status.ok() ? SettingValue(settings, path) : "error: " + status.message();
}

TEST(SettingsTableTest, NamesFollowThePath) {
  std::set<std::string_view> seen;
  for (const SettingInfo& info : SettingTable()) {
    std::string env = "KEYMILL_" + Replaced(info.path, ".", '_');
    std::transform(env.begin(), env.end(), env.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    EXPECT_EQ(info.env, env);
    EXPECT_FALSE(info.summary.empty()) << info.path;
    EXPECT_LE(info.summary.size(), 80U) << info.path;
    if (info.path != "keyspaces") {
      const std::string flag = "--" + Replaced(info.path, "._", '-');
      EXPECT_EQ(info.flag_alias.empty() ? info.flag : info.flag_alias, flag);
    }
    EXPECT_TRUE(seen.insert(info.path).second) << info.path;
    // Reserved for secrets.
    EXPECT_FALSE(info.env.ends_with("_FILE")) << info.path;
  }
  EXPECT_EQ(SettingTable().size(), 27U);
  EXPECT_EQ(FindSetting("listen.http")->info.flag, "--listen");
}

TEST(SettingsTableTest, ParsesWhatItPrints) {
  const Settings defaults;
  for (const SettingRow& row : SettingRows()) {
    // From a state in which the value differs, so that a parse that does nothing shows.
    Settings settings;
    settings.listen_links = settings.links_keyspace = settings.links_public_url =
        settings.links_homepage = "other";
    settings.listen_http = settings.listen_resp = settings.listen_grpc = settings.data_dir =
        settings.store = settings.store_create = settings.accept_unsafe_store =
            settings.block_growth = settings.worker_id = settings.log_level = settings.log_format =
                "other";
    settings.block_size = settings.threads = settings.connections_max = settings.pool_low = 7;
    settings.runway_target = settings.request_timeout = settings.drain_delay =
        settings.shutdown_timeout = std::chrono::milliseconds(7);
    settings.insecure = settings.accept_clock_ahead = true;
    settings.compat.clear();
    settings.keyspaces.clear();
    const std::string text = SettingValue(defaults, row.info.path);
    EXPECT_NE(row.print(settings), text) << row.info.path;
    const Status status = SetFromText(row, text, settings);
    EXPECT_TRUE(status.ok()) << row.info.path << ": " << status.message();
    EXPECT_EQ(row.print(settings), text) << row.info.path;
    if (row.info.path == "keyspaces") {
      EXPECT_EQ(settings.keyspaces, defaults.keyspaces);
    }
  }
}

TEST(SettingsTableTest, ChecksRangesAndNamesThem) {
  const auto number = [](std::string_view path, std::uint64_t min, std::uint64_t max) {
    EXPECT_EQ(Set(path, fmt::to_string(min)), fmt::to_string(min));
    EXPECT_EQ(Set(path, fmt::to_string(max)), fmt::to_string(max));
    EXPECT_EQ(
        Set(path, fmt::to_string(max + 1)),
        fmt::format("error: expected a whole number in [{}, {}], not \"{}\"", min, max, max + 1));
    for (const char* text :
         {"-1", "+1", "1_000", "0x10", "1.0", "1e3", " 1", "1 ", "ten", "99999999999999999999"}) {
      EXPECT_EQ(Set(path, text), fmt::format("error: expected a whole number in [{}, {}], not "
                                             "\"{}\"",
                                             min, max, text));
    }
  };
  number("block_size", 1, 16'777'216);
  number("threads", 0, 256);
  number("connections_max", 1, 1'000'000);
  EXPECT_EQ(Set("block_size", "0"), "error: expected a whole number in [1, 16777216], not \"0\"");

  const auto duration = [](std::string_view path, const char* range, const char* below,
                           const char* above) {
    for (const char* text : {below, above, "5", "soon"}) {
      EXPECT_EQ(
          Set(path, text),
          fmt::format("error: expected a duration in {}, such as 250ms, not \"{}\"", range, text));
    }
  };
  duration("runway_target", "[1s, 1h]", "999ms", "3601s");
  duration("request_timeout", "[10ms, 1m]", "9ms", "60001ms");
  duration("drain_delay", "[0s, 10m]", "-1s", "11m");
  duration("shutdown_timeout", "[1s, 1h]", "0", "2h");
  EXPECT_EQ(Set("request_timeout", "1.5s"), "1500ms");
  EXPECT_EQ(Set("drain_delay", "0"), "0s");
}

TEST(SettingsTableTest, SuggestsAWordThatIsNear) {
  EXPECT_EQ(Set("store_create", "nevr"),
            "error: expected one of auto, never, not \"nevr\", did you mean \"never\"?");
  EXPECT_EQ(Set("block_growth", "on"), "error: expected one of auto, off, not \"on\"");
  EXPECT_EQ(Set("log_level", "loud"),
            "error: expected one of trace, debug, info, warn, error, not \"loud\"");
  EXPECT_EQ(Set("log_format", "JSON"), "error: expected one of auto, text, json, not \"JSON\"");
  EXPECT_EQ(Set("insecure", "1"), "error: expected true or false, not \"1\"");
  EXPECT_EQ(Set("insecure", "true"), "true");
}

TEST(SettingsTableTest, SaysThatAValueIsEmpty) {
  for (const SettingRow& row : SettingRows()) {
    static const std::set<std::string_view> kMayBeEmpty = {
        "listen.http",         "listen.resp",      "listen.grpc",    "listen.links", "compat",
        "accept_unsafe_store", "links_public_url", "links_homepage", "worker_id"};
    const bool allowed = kMayBeEmpty.contains(row.info.path);
    EXPECT_EQ(Set(row.info.path, ""), allowed ? "" : "error: is empty; expected " + row.expected);
  }
}

TEST(SettingsTableTest, KnowsTheWordsOfCompat) {
  EXPECT_EQ(Set("compat", "forge"), "forge");
  EXPECT_EQ(Set("compat", " forge , forge"), "forge");
  for (const char* word : {"generate-id", "leaf", "tinyid"}) {
    EXPECT_EQ(Set("compat", word), word);
  }
  EXPECT_EQ(Set("compat", "forge,frog"), "error: unknown word \"frog\", did you mean \"forge\"?");
  EXPECT_EQ(Set("compat", "sonyflake"),
            "error: unknown word \"sonyflake\"; there are: forge, generate-id, leaf, tinyid");
  EXPECT_EQ(Set("compat", "forge,,"),
            "error: unknown word \"\"; there are: forge, generate-id, leaf, tinyid");
}

TEST(SettingsTableTest, ReadsLegacyValues) {
  const auto legacy = [](std::string_view path, std::string_view text) -> std::string {
    Settings settings;
    const Result<bool> changed = SetFromLegacy(*FindSetting(path), text, Origin(), settings);
    if (!changed.ok()) return "error: " + changed.status().message();
    return *changed ? SettingValue(settings, path) : "(nothing)";
  };
  EXPECT_EQ(legacy("listen.http", "9000"), "127.0.0.1:9000");
  EXPECT_EQ(legacy("listen.http", "0"), "127.0.0.1:0");
  EXPECT_EQ(legacy("listen.http", ""), "(nothing)");
  EXPECT_EQ(legacy("listen.http", ":9000"), "error: expected a port in [0, 65535], not \":9000\"");
  EXPECT_EQ(legacy("listen.http", "65536"), "error: expected a port in [0, 65535], not \"65536\"");
  EXPECT_EQ(legacy("block_size", "5000"), "5000");
  EXPECT_EQ(legacy("block_size", "x"),
            "error: expected a whole number in [1, 16777216], not \"x\"");
  EXPECT_EQ(legacy("log_level", "true"), "debug");
  EXPECT_EQ(legacy("log_level", "1"), "debug");
  EXPECT_EQ(legacy("log_level", "false"), "(nothing)");
  EXPECT_EQ(legacy("log_level", "maybe"), "error: expected true or false, not \"maybe\"");
}

}  // namespace
}  // namespace keymill::app
