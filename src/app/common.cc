// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// From flags to a configuration, and from a configuration to an open store.

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "app/commands.h"
#include "base/log.h"

extern char** environ;

namespace keymill::app {

Result<Config> ReadConfig(const CommonFlags& flags, bool read_dot_env) {
  ConfigInputs inputs;
  inputs.flags = flags.settings;
  inputs.config_file = flags.config_file;
  inputs.read_dot_env = read_dot_env;
  inputs.getenv = [](std::string_view name) -> std::optional<std::string> {
    const char* const value = std::getenv(std::string(name).c_str());
    if (value == nullptr) return {};
    return value;
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    inputs.environment_names.emplace_back(text.substr(0, text.find('=')));
  }
  Result<Config> config = LoadConfig(inputs);
  if (!config.ok()) return config;
  const Settings& settings = config->settings;
  const Result<LogLevel> level = ParseLogLevel(settings.log_level);
  const LogFormat format = settings.log_format == "json"   ? LogFormat::kJson
                           : settings.log_format == "text" ? LogFormat::kText
                                                           : LogFormat::kAuto;
  SetUpLog(level.ok() ? *level : LogLevel::kInfo, format);
  return config;
}

Status EnsureKeyspaces(const Settings& settings, mint::Engine& engine) {
  for (const auto& [name, recipe] : settings.keyspaces) {
    if (Result<mint::Engine::Created> made = engine.Create(name, recipe); !made.ok()) {
      return made.status();
    }
  }
  return {};
}

Result<embed::Opened> OpenConfigured(const Settings& settings, mint::EngineOptions engine) {
  engine.refill.block_size = settings.block_size;
  engine.refill.grow = settings.block_growth == "auto";
  engine.refill.runway_target = settings.runway_target;
  Result<embed::Opened> opened = embed::OpenEngine({.data_dir = settings.data_dir,
                                                    .store = settings.store,
                                                    .create = settings.store_create == "auto",
                                                    .engine = std::move(engine)});
  if (!opened.ok()) return opened;
  if (Status ready = EnsureKeyspaces(settings, *opened->engine); !ready.ok()) return ready;
  return opened;
}

}  // namespace keymill::app
