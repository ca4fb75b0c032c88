// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/config/config.h"
#include "support/temp_dir.h"

namespace keymill::app {

// All that LoadConfig can see, in a directory of its own.
struct ConfigWorld {
  TempDir directory;
  std::map<std::string, std::string, std::less<>> environment;
  std::vector<std::pair<std::string, std::string>> flags;
  std::optional<std::string> config_file;
  bool read_dot_env = false;
  std::function<Status(const std::string&)> check_host;

  void Write(std::string_view name, std::string_view text) const {
    std::ofstream(directory.path() / name, std::ios::binary) << text;
  }

  Result<Config> Load() const {
    ConfigInputs inputs;
    inputs.flags = flags;
    inputs.config_file = config_file;
    inputs.getenv = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    };
    for (const auto& [name, value] : environment) inputs.environment_names.push_back(name);
    inputs.working_directory = directory.path().string();
    inputs.read_dot_env = read_dot_env;
    inputs.check_host = check_host;
    return LoadConfig(inputs);
  }

  // "kFailedPrecondition keymill.yml:1:1: …", or "kOk ".
  std::string Outcome() const {
    const Status status = Load().status();
    return std::string(CodeName(status.code())) + " " + status.message();
  }

  // The same with this text as keymill.yml.
  std::string OutcomeOf(std::string_view yaml) const {
    Write("keymill.yml", yaml);
    return Outcome();
  }
};

}  // namespace keymill::app
