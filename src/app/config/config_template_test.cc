// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The files that explain the configuration must say what is true: reading them changes nothing.

#include "app/config/config_template.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "app/config/config_test_support.h"

namespace keymill::app {
namespace {

std::string ReadSource(const char* name) {
  const auto path = std::filesystem::path(KEYMILL_SOURCE_DIR) / name;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_NE(text.str(), "") << path;
  return text.str();
}

// The settings that differ from their defaults or do not come from `layer`.
std::string Departures(const ConfigWorld& world, Origin::Layer layer) {
  const Result<Config> config = world.Load();
  if (!config.ok()) return config.status().message();
  std::string found;
  for (const SettingInfo& info : SettingTable()) {
    const std::string value = SettingValue(config->settings, info.path);
    if (value != SettingValue(Settings(), info.path)) {
      found += std::string(info.path) + " is " + value + "\n";
    }
    if (config->origins.at(std::string(info.path)).layer != layer) {
      found += std::string(info.path) + " is not there\n";
    }
  }
  return found;
}

TEST(ConfigTemplateTest, HasEverySettingAtItsDefault) {
  ConfigWorld world;
  world.Write("keymill.yml", ConfigTemplate());
  EXPECT_EQ(Departures(world, Origin::Layer::kFile), "");
}

// The test above must be able to fail.
TEST(ConfigTemplateTest, AChangedOrMissingValueIsNoticed) {
  const std::string text = ConfigTemplate();
  const std::string line = "\nblock_size: 1000\n";
  const std::size_t at = text.find(line);
  ASSERT_NE(at, std::string::npos);
  ConfigWorld world;
  world.Write("keymill.yml", std::string(text).replace(at, line.size(), "\nblock_size: 1001\n"));
  EXPECT_EQ(Departures(world, Origin::Layer::kFile), "block_size is 1001\n");
  world.Write("keymill.yml", std::string(text).erase(at, line.size() - 1));
  EXPECT_EQ(Departures(world, Origin::Layer::kFile), "block_size is not there\n");
}

TEST(ConfigTemplateTest, NamesTheFlagAndTheVariableOfEverySetting) {
  const std::string text = ConfigTemplate();
  for (const SettingInfo& info : SettingTable()) {
    EXPECT_NE(text.find(info.env), std::string::npos) << info.path;
    if (!info.flag.empty()) {
      EXPECT_NE(text.find(std::string("# ") + std::string(info.flag)), std::string::npos);
    }
  }
}

TEST(ConfigTemplateTest, FitsAScreen) {
  std::istringstream lines(ConfigTemplate());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(ConfigTemplateTest, TheFileInTheTreeIsCurrent) {
  EXPECT_EQ(ReadSource("keymill.example.yml"), ConfigTemplate())
      << "write it again: keymill config init keymill.example.yml --force";
}

// Whoever uncomments a line of .env.example gets the default, and finds every setting there.
TEST(ConfigTemplateTest, TheExampleOfDotEnvHasEverySettingAtItsDefault) {
  std::istringstream lines(ReadSource(".env.example"));
  std::string uncommented;
  for (std::string line; std::getline(lines, line);) {
    static constexpr std::string_view kMark = "# KEYMILL_";
    if (!line.starts_with(kMark) || line.starts_with("# KEYMILL_CONFIG=")) continue;
    uncommented += line.substr(2) + "\n";
  }
  ConfigWorld world;
  world.Write(".env", uncommented);
  world.read_dot_env = true;
  EXPECT_EQ(Departures(world, Origin::Layer::kEnvironment), "");
}

}  // namespace
}  // namespace keymill::app
