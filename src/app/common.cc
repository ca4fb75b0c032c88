// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// From flags to a configuration, and from a configuration to an open store.

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/config/listen_address.h"
#include "app/output.h"
#include "app/store_obstacle.h"
#include "base/log.h"
#include "base/suggest.h"

extern char** environ;

namespace keymill::app {

namespace {

constexpr std::string_view kMemory =
    "the store is in memory, for tests only: its keys repeat after a restart";

void Remark(const ConfigInputs& inputs, const Settings& settings, bool serving) {
  if (serving) {
    if (settings.store == "memory:") Log(LogLevel::kWarn, "serve", "{}", kMemory);
    return;
  }
  if (settings.store == "memory:") Say("keymill: {}\n", kMemory);
  const std::vector<std::string> names = DotEnvNames(inputs.working_directory);
  if (names.empty()) return;
  Say("keymill: .env is read by serve only; this verb does not see its {}. Export what it needs\n",
      fmt::join(names, ", "));
}

// What this process was told, .env aside.
ConfigInputs ProcessInputs(const CommonFlags& flags) {
  ConfigInputs inputs;
  inputs.flags = flags.settings;
  inputs.config_file = flags.config_file;
  inputs.check_host = [](const std::string& host) { return ResolveHost(host).status(); };
  inputs.getenv = [](std::string_view name) -> std::optional<std::string> {
    const char* const value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return {};
    return value;
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    inputs.environment_names.emplace_back(text.substr(0, text.find('=')));
  }
  return inputs;
}

}  // namespace

Result<Config> LoadServeConfig(const CommonFlags& flags) {
  ConfigInputs inputs = ProcessInputs(flags);
  inputs.read_dot_env = true;
  return LoadConfig(inputs);
}

Result<Config> ReadConfig(const CommonFlags& flags, bool serving) {
  ConfigInputs inputs = ProcessInputs(flags);
  inputs.read_dot_env = serving;
  Result<Config> config = LoadConfig(inputs);
  if (!config.ok()) return config;
  const Settings& settings = config->settings;
  const Result<LogLevel> level = ParseLogLevel(settings.log_level);
  const LogFormat format = settings.log_format == "json"   ? LogFormat::kJson
                           : settings.log_format == "text" ? LogFormat::kText
                                                           : LogFormat::kAuto;
  SetUpLog(level.ok() ? *level : LogLevel::kInfo, format);
  Remark(inputs, settings, serving);
  return config;
}

Status CheckStoreExists(const Settings& settings) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (!settings.store.starts_with(kSqlite)) return {};
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path data_dir = fs::absolute(settings.data_dir, ignored);
  const fs::path path = (data_dir / settings.store.substr(kSqlite.size())).lexically_normal();
  // What cannot be looked at is there for all we know.
  const bool absent = fs::status(path, ignored).type() == fs::file_type::not_found &&
                      fs::status(data_dir / "witness", ignored).type() == fs::file_type::not_found;
  if (!absent) return {};
  return {Code::kNotFound, fmt::format("there is no store at {} yet; keymill serve, mint and "
                                       "keyspace create make one",
                                       path.string())};
}

void TellIfCreated(const embed::Opened& opened) {
  if (opened.created && opened.location != "memory:") Say("keymill: created {}\n", opened.location);
}

Status NoSuchKeyspace(mint::Engine& engine, std::string_view name) {
  std::vector<std::string_view> names;
  const Result<std::vector<mint::KeyspaceInfo>> all = engine.List();
  if (all.ok()) {
    for (const mint::KeyspaceInfo& info : *all) names.push_back(info.record.name);
  }
  const std::string_view nearest = Nearest(name, names);
  const std::string meant = nearest.empty()
                                ? "; create it with:"
                                : fmt::format("; did you mean {}? To create it:", nearest);
  return {Code::kNotFound,
          fmt::format("there is no keyspace \"{0}\"{1} keymill keyspace create {0}", name, meant)};
}

namespace {

// Why the store could not be opened; kFailedPrecondition when trying again will not help.
Status Explained(const Settings& settings, const Status& said) {
  std::error_code ignored;
  const bool look =
      said.code() == Code::kUnavailable || (said.code() == Code::kFailedPrecondition &&
                                            std::filesystem::exists(settings.data_dir, ignored));
  if (!look) return said;
  const Status obstacle = FindObstacle(settings.data_dir, settings.store);
  return obstacle.ok() ? said : obstacle;
}

}  // namespace

mint::RefillOptions ConfiguredRefill(const Settings& settings) {
  return {.block_size = settings.block_size,
          .grow = settings.block_growth == "auto",
          .runway_target = settings.runway_target};
}

Result<embed::Opened> OpenConfigured(const Settings& settings, mint::EngineOptions engine) {
  const bool ahead_of_need = engine.refill.ahead_of_need;
  engine.refill = ConfiguredRefill(settings);
  engine.refill.ahead_of_need = ahead_of_need;
  engine.keyspaces = settings.keyspaces;
  Result<embed::Opened> opened = embed::OpenEngine({.data_dir = settings.data_dir,
                                                    .store = settings.store,
                                                    .create = settings.store_create == "auto",
                                                    .engine = std::move(engine)});
  if (!opened.ok()) return Explained(settings, opened.status());
  return opened;
}

}  // namespace keymill::app
