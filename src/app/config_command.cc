// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// `keymill config`: what `serve` would run with here, whether that is sound, and a file to begin
// with.

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli.h"
#include "app/commands.h"
#include "app/config/config_template.h"
#include "app/config/quote.h"
#include "app/listeners.h"
#include "app/output.h"
#include "app/text_file.h"

namespace keymill::app {
namespace {

constexpr std::size_t kValueSizeMax = 4096;

std::string_view LayerName(Origin::Layer layer) {
  switch (layer) {
    case Origin::Layer::kFile:
      return "file";
    case Origin::Layer::kEnvironment:
      return "environment";
    case Origin::Layer::kFlag:
      return "flag";
    case Origin::Layer::kDefault:
      break;
  }
  return "default";
}

// "default", "file keymill.yml:3", "environment KEYMILL_BLOCK_SIZE", "flag --block-size"
std::string OriginText(const Origin& origin) {
  return fmt::format("{}{}{}", LayerName(origin.layer), origin.detail.empty() ? "" : " ",
                     origin.detail);
}

// A store's URL may hold a password, and whatever stands in a value must not move the cursor.
std::string Shown(const Config& config, std::string_view path) {
  const std::string value = ShownSetting(config.settings, path);
  // A store is shown with its user; an alphabet may have an @ of its own.
  const bool whole = path == "store" || path == "keyspaces";
  return Printable(whole ? value : Redact(value), kValueSizeMax);
}

void PrintTable(const Config& config, bool origins) {
  std::size_t path_width = 0;
  std::size_t value_width = 0;
  constexpr std::size_t kValueWidthMax = 24;  // A longer one pushes only its own origin.
  for (const SettingInfo& info : SettingTable()) {
    path_width = std::max(path_width, info.path.size());
    const std::size_t size = Shown(config, info.path).size();
    if (size <= kValueWidthMax) value_width = std::max(value_width, size);
  }
  for (const SettingInfo& info : SettingTable()) {
    std::string value = Shown(config, info.path);
    if (value.empty()) value = "\"\"";
    if (origins) {
      Print("{:<{}}  {:<{}}  {}\n", info.path, path_width, value, value_width,
            OriginText(config.origins.at(std::string(info.path))));
    } else {
      Print("{:<{}}  {}\n", info.path, path_width, value);
    }
  }
}

void PrintJson(const Config& config) {
  using Json = nlohmann::ordered_json;
  Json json;
  json["file"] = config.file.empty() ? Json(nullptr) : Json(config.file);
  for (const SettingInfo& info : SettingTable()) {
    const Origin& origin = config.origins.at(std::string(info.path));
    json["settings"][std::string(info.path)] = {
        {"value", Shown(config, info.path)},
        {"origin", LayerName(origin.layer)},
        {"where", origin.detail.empty() ? Json(nullptr) : Json(origin.detail)}};
  }
  Print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

int RunConfigShow(const ConfigFlags& flags) {
  const Result<Config> config = LoadServeConfig(flags.common);
  if (!config.ok()) return Fail(config.status());
  if (flags.json) {
    PrintJson(*config);
  } else {
    PrintTable(*config, flags.origin);
  }
  return kExitOk;
}

int RunConfigCheck(const ConfigFlags& flags) {
  CommonFlags common = flags.common;
  if (!flags.file.empty()) common.config_file = flags.file;
  const Result<Config> config = LoadServeConfig(common);
  if (!config.ok()) return Fail(config.status());
  // Other verbs that read what serve reads need no listener.
  if (Status listening = CheckListening(*config); !listening.ok()) return Fail(listening);
  for (const std::string& warning : config->warnings) Say("keymill: {}\n", warning);
  std::size_t set = 0;
  for (const auto& [path, origin] : config->origins) {
    if (origin.layer != Origin::Layer::kDefault) ++set;
  }
  Print("{}: fine; {} of {} settings {} set, the others have their defaults\n",
        config->file.empty() ? "no file" : config->file, set, config->origins.size(),
        set == 1 ? "is" : "are");
  return kExitOk;
}

int RunConfigInit(const ConfigFlags& flags) {
  const std::string text = ConfigTemplate();
  if (flags.file == "-") {
    WriteData(text);
    return kExitOk;
  }
  const std::string path = flags.file.empty() ? "keymill.yml" : flags.file;
  // Never over a file that is there unasked: somebody may have worked on it.
  const Status written = WriteTextFile(path, text, flags.force);
  if (written.code() == Code::kAlreadyExists) {
    return Fail(
        {written.code(),
         fmt::format("{}; --force writes over it, - prints the text instead", written.message())});
  }
  if (!written.ok()) return Fail(written);
  Say("keymill: wrote {}; keymill config check tells whether it is still fine after a change\n",
      path);
  return kExitOk;
}

}  // namespace keymill::app
