// Copyright (c) 2026 The Keymill Authors. See LICENSE.

#include "app/setting_flags.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace keymill::app {

void SettingFlags::Add(CLI::App& verb, const SettingInfo& info) {
  Flag& flag = flags_.emplace_back();
  flag.path = info.path;
  std::string names(info.flag);
  if (!info.flag_alias.empty()) names += fmt::format(",{}", info.flag_alias);
  if (info.value == "BOOL") {
    flag.value = "true";
    flag.option = verb.add_flag(names)->description(std::string(info.summary));
    return;
  }
  const std::string preset = SettingValue(Settings(), info.path);
  flag.option = verb.add_option(names, flag.value, fmt::format("{} ({})", info.summary, preset))
                    ->type_name(std::string(info.value));
}

void SettingFlags::AddTo(CLI::App& verb, const std::vector<std::string_view>& paths) {
  verb.add_option("--config", config_file_, "Configuration file (keymill.yml)")->type_name("FILE");
  for (const SettingInfo& info : SettingTable()) {
    if (info.flag.empty()) continue;
    if (!paths.empty() && std::find(paths.begin(), paths.end(), info.path) == paths.end()) continue;
    Add(verb, info);
  }
}

void SettingFlags::AddStoreTo(CLI::App& verb, const std::vector<std::string_view>& more) {
  std::vector<std::string_view> paths = {
      "data_dir", "store", "store_create", "accept_unsafe_store", "log_level", "log_format"};
  paths.insert(paths.end(), more.begin(), more.end());
  AddTo(verb, paths);
}

void SettingFlags::AddStoreOrServerTo(CLI::App& verb, std::string& server,
                                      const std::vector<std::string_view>& more) {
  CLI::Option* const option =
      verb.add_option("--server", server, "Ask a running server, e.g. http://HOST:PORT")
          ->type_name("URL");
  const std::size_t before = flags_.size();
  AddStoreTo(verb, more);
  for (std::size_t i = before; i < flags_.size(); ++i) {
    const std::string& path = flags_[i].path;
    const bool servers_own = std::find(more.begin(), more.end(), path) != more.end();
    if (path == "store" || servers_own) flags_[i].option->excludes(option);
  }
}

CommonFlags SettingFlags::Common() const {
  CommonFlags common;
  if (!config_file_.empty()) common.config_file = config_file_;
  for (const Flag& flag : flags_) {
    if (flag.option->count() > 0) common.settings.emplace_back(flag.path, flag.value);
  }
  return common;
}

void AddOutput(CLI::App& verb, std::string& output, const std::vector<std::string>& formats) {
  const std::string last = formats.size() > 1 ? " or " + formats.back() : "";
  const std::vector<std::string> first(formats.begin(), formats.end() - 1);
  verb.add_option("-o,--output", output, fmt::format("{}{}", fmt::join(first, ", "), last))
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
}

}  // namespace keymill::app
