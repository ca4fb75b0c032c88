// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// From flags to a configuration, and from a configuration to an open store.

#include <charconv>
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
#include "embed/worker_ordinal.h"

extern char** environ;

namespace keymill::app {

namespace {

constexpr std::string_view kMemory =
    "the store is in memory, for tests only: its keys repeat after a restart";

void Remark(const ConfigInputs& inputs, const Config& config, bool serving) {
  std::vector<std::string> remarks = config.warnings;
  if (config.settings.store == "memory:") remarks.emplace_back(kMemory);
  for (const std::string& remark : remarks) {
    if (serving) {
      Log(LogLevel::kWarn, "serve", "{}", remark);
    } else {
      Say("keymill: {}\n", remark);
    }
  }
  if (serving) return;
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
  Remark(inputs, *config, serving);
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

Status NoSuchKeyspace(mint::Engine& engine, std::string_view name, std::string_view words) {
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
          fmt::format("there is no keyspace \"{0}\"{1} keymill keyspace create {0}{2}{3}", name,
                      meant, words.empty() ? "" : " ", words)};
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
  engine.accept_unsafe_store = settings.accept_unsafe_store;
  engine.pool.low = settings.pool_low;
  engine.snowflake.accept_clock_ahead = settings.accept_clock_ahead;
  engine.snowflake.choice.preferred = embed::PreferredWorker();
  if (!settings.worker_id.empty()) {
    std::uint32_t fixed = 0;
    std::from_chars(settings.worker_id.data(),
                    settings.worker_id.data() + settings.worker_id.size(), fixed);
    engine.snowflake.choice.fixed = fixed;
  }
  Result<embed::Opened> opened = embed::OpenEngine({.data_dir = settings.data_dir,
                                                    .store = settings.store,
                                                    .create = settings.store_create == "auto",
                                                    .engine = std::move(engine)});
  if (!opened.ok()) return Explained(settings, opened.status());
  return opened;
}

Result<embed::Opened> OpenToLook(const CommonFlags& common, Absent absent) {
  Result<Config> config = ReadConfig(common, /*serving=*/false);
  if (!config.ok()) return config.status();
  Settings settings = config->settings;
  settings.keyspaces.clear();
  if (absent == Absent::kRefuse) {
    if (Status there = CheckStoreExists(settings); !there.ok()) return there;
  }
  mint::EngineOptions engine;
  engine.inspect = absent == Absent::kCreate;  // Looking and mending are for every store.
  engine.refill.ahead_of_need = false;
  Result<embed::Opened> opened = OpenConfigured(settings, std::move(engine));
  if (opened.ok()) TellIfCreated(*opened);
  return opened;
}

Result<embed::Opened> OpenToUse(const CommonFlags& common) {
  Result<Config> config = ReadConfig(common, /*serving=*/false);
  if (!config.ok()) return config.status();
  mint::EngineOptions engine;
  engine.refill.ahead_of_need = false;
  Result<embed::Opened> opened = OpenConfigured(config->settings, std::move(engine));
  if (!opened.ok()) return opened;
  TellIfCreated(*opened);
  opened->engine->AwaitSettled();  // Or a process that gives up sooner would never get anything.
  return opened;
}

}  // namespace keymill::app
