// Copyright (c) 2026 The Keymill Authors. See LICENSE.
//
// The layers, lowest first: each one overwrites what the one below it said.

#include "app/config/config.h"

#include <cstddef>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/config/config_file.h"
#include "app/config/duration.h"
#include "app/config/environment.h"
#include "app/config/listen_address.h"
#include "app/config/quote.h"
#include "app/config/settings_table.h"
#include "app/config/small_file.h"
#include "app/config/yaml_file.h"
#include "base/suggest.h"
#include "mint/ticket_overlap.h"

namespace keymill::app {
namespace {

constexpr std::size_t kFileSizeMax = 1024 * 1024;
constexpr std::size_t kSecretSizeMax = 64 * 1024;

Status Refuse(std::string message) { return {Code::kFailedPrecondition, std::move(message)}; }

// Which file to read.
struct FileChoice {
  std::string name;     // As it is told to people; "" for none.
  std::string because;  // " (named by CONFIG_PATH)", or "".
  bool must_exist = true;
};

Result<FileChoice> ChooseFile(const ConfigInputs& inputs, const Environment& environment) {
  if (inputs.config_file) {
    if (inputs.config_file->empty()) {
      return Status(Code::kInvalidArgument, "--config: is empty; expected the path of a file");
    }
    return FileChoice{.name = *inputs.config_file, .because = " (named by --config)"};
  }
  if (const auto own = environment.Find("KEYMILL_CONFIG")) {
    if (own->text.empty()) {
      return Refuse(fmt::format("{}: is empty; expected the path of a file", own->where));
    }
    return FileChoice{.name = own->text, .because = " (named by KEYMILL_CONFIG)"};
  }
  const auto legacy = environment.Find("CONFIG_PATH");
  if (legacy && !legacy->text.empty()) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    fs::path name = legacy->text;
    if (fs::is_directory(fs::path(inputs.working_directory) / name, ignored)) name /= "config.yml";
    return FileChoice{.name = name.string(), .because = " (named by CONFIG_PATH)"};
  }
  return FileChoice{.name = "keymill.yml", .because = "", .must_exist = false};
}

Status LoadFile(const ConfigInputs& inputs, const Environment& environment, Config& config) {
  const Result<FileChoice> choice = ChooseFile(inputs, environment);
  if (!choice.ok()) return choice.status();
  const auto path = std::filesystem::path(inputs.working_directory) / choice->name;
  const Result<std::string> text = ReadSmallFile(path.string(), kFileSizeMax);
  if (text.code() == Code::kNotFound && !choice->must_exist) return {};
  if (!text.ok()) {
    return Refuse(fmt::format("{}: {}{}", choice->name, text.status().message(), choice->because));
  }
  Result<YamlNode> root = ParseYaml(*text, choice->name);
  if (!root.ok()) return Refuse(root.status().message());

  const VariableLookup lookup = [&](std::string_view name) -> std::optional<std::string> {
    const std::optional<EnvironmentValue> value = environment.Find(name);
    return value ? std::optional(value->text) : std::nullopt;
  };
  const Status status = ApplyFile(*std::move(root), choice->name, lookup, config);
  if (!status.ok()) return Refuse(status.message());
  config.file = choice->name;
  return {};
}

// Others who can read the file have the secret as well.
void RemarkOnMode(const std::filesystem::path& path, const EnvironmentValue& variable,
                  Config& config) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::perms mode = fs::status(path, error).permissions();
  if (error || (mode & (fs::perms::others_read | fs::perms::others_write)) == fs::perms::none) {
    return;
  }
  config.warnings.push_back(fmt::format("{}: every user of this machine can read {}; chmod 600 {}",
                                        variable.where, variable.text, variable.text));
}

// The value in the file that `variable` names.
Result<EnvironmentValue> ReadSecretFile(const EnvironmentValue& variable,
                                        const std::string& directory, Config& config) {
  if (variable.text.empty()) {
    return Refuse(fmt::format("{}: is empty; expected the path of a file", variable.where));
  }
  const auto path = std::filesystem::path(directory) / variable.text;
  Result<std::string> text = ReadSmallFile(path.string(), kSecretSizeMax);
  if (!text.ok()) {
    return Refuse(
        fmt::format("{}: {}: {}", variable.where, variable.text, text.status().message()));
  }
  RemarkOnMode(path, variable, config);
  // Editors and `echo` end a line; nobody means that to be part of the secret.
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  return EnvironmentValue{*std::move(text), fmt::format("{}: {}", variable.where, variable.text),
                          variable.origin, variable.from_dot_env};
}

// What the environment says of a setting under our own name, be it in a file.
Result<std::optional<EnvironmentValue>> FindOwn(const SettingRow& row,
                                                const Environment& environment,
                                                const ConfigInputs& inputs, Config& config) {
  auto plain = environment.Find(row.info.env);
  if (row.info.env_file.empty()) return plain;
  const auto file = environment.Find(row.info.env_file);
  if (!file) return plain;
  if (plain && plain->from_dot_env == file->from_dot_env) {
    return Refuse(fmt::format("{} and {} are both there; keep one", row.info.env, file->where));
  }
  // .env never wins over the real environment.
  if (plain && file->from_dot_env) return plain;
  Result<EnvironmentValue> read = ReadSecretFile(*file, inputs.working_directory, config);
  if (!read.ok()) return read.status();
  return std::optional(*std::move(read));
}

Status LoadVariable(const SettingRow& row, const Environment& environment,
                    const ConfigInputs& inputs, Config& config) {
  Origin& origin = config.origins[std::string(row.info.path)];
  const auto found = FindOwn(row, environment, inputs, config);
  if (!found.ok()) return found.status();
  const std::optional<EnvironmentValue>& own = *found;
  const auto legacy = row.info.legacy.empty() ? std::nullopt : environment.Find(row.info.legacy);
  // Our own name wins, except that .env never wins over the real environment.
  const bool legacy_wins =
      legacy && !legacy->text.empty() && !legacy->from_dot_env && own && own->from_dot_env;
  if (own && !legacy_wins) {
    const Status status = SetFromText(row, own->text, config.settings);
    if (!status.ok()) return Refuse(fmt::format("{}: {}", own->where, status.message()));
    origin = {Origin::Layer::kEnvironment, own->origin};
    return {};
  }
  if (legacy) {
    const Result<bool> changed = SetFromLegacy(row, legacy->text, origin, config.settings);
    if (!changed.ok()) {
      return Refuse(fmt::format("{}: {}", legacy->where, changed.status().message()));
    }
    if (*changed) origin = {Origin::Layer::kEnvironment, legacy->origin, /*legacy=*/true};
  }
  return {};
}

Status LoadEnvironment(const Environment& environment, const ConfigInputs& inputs, Config& config) {
  for (const SettingRow& row : SettingRows()) {
    if (Status status = LoadVariable(row, environment, inputs, config); !status.ok()) return status;
  }
  return {};
}

Status LoadFlag(const std::string& path, const std::string& text, Config& config) {
  const auto usage = [](std::string message) {
    return Status(Code::kInvalidArgument, std::move(message));
  };
  const SettingRow* row = FindSetting(path);
  if (row == nullptr) {
    std::vector<std::string_view> paths;
    for (const SettingRow& known : SettingRows()) paths.push_back(known.info.path);
    return usage(fmt::format("unknown setting {}{}", QuoteValue(path), DidYouMean(path, paths)));
  }
  if (row->info.flag.empty()) return usage(fmt::format("{}: has no flag", path));
  const Status status = SetFromText(*row, text, config.settings);
  if (!status.ok()) return usage(fmt::format("{}: {}", row->info.flag, status.message()));
  config.origins[path] = {Origin::Layer::kFlag, std::string(row->info.flag)};
  return {};
}

// " (KEYMILL_LISTEN_HTTP)", or "" for a default.
std::string FromWhere(const Config& config, const std::string& path) {
  const std::string& detail = config.origins.at(path).detail;
  return detail.empty() ? "" : fmt::format(" ({})", detail);
}

// Whether others could reach the listener at `path` without showing who they are.
Status CheckListener(const ConfigInputs& inputs, const Config& config, const std::string& path) {
  const std::string value = SettingValue(config.settings, path);
  if (value.empty() || config.settings.insecure) return {};
  const Result<ListenAddress> address = ParseListenAddress(value);
  if (!address.ok()) return Refuse(address.status().message());
  if (IsLoopback(address->host)) return {};
  // A mistyped name is told as such, not as a danger.
  const Status exists = inputs.check_host ? inputs.check_host(address->host) : Status();
  if (!exists.ok()) {
    return Refuse(fmt::format("{}{}: {}", path, FromWhere(config, path), exists.message()));
  }
  return Refuse(
      fmt::format("{}{}: {} can be reached by other machines, and nobody has to show a token; "
                  "bind to 127.0.0.1 or pass --insecure",
                  path, FromWhere(config, path), value));
}

// Whether no two of the configured tickets would give the same keys.
Status CheckApart(const Config& config) {
  std::vector<mint::Ticket> tickets;
  for (const auto& [name, recipe] : config.settings.keyspaces) {
    if (recipe.kind != Kind::kTicket) continue;
    if (Status apart = mint::CheckTickets(name, recipe, tickets); !apart.ok()) {
      return Refuse(
          fmt::format("keyspaces{}: {}", FromWhere(config, "keyspaces"), apart.message()));
    }
    tickets.push_back({name, recipe});
  }
  return {};
}

// What no single value shows.
Status CheckWhole(const ConfigInputs& inputs, const Config& config) {
  const Settings& settings = config.settings;
  // Who follows a link shows no token anyway: listen.links may be for everybody.
  for (const char* const path : {"listen.http", "listen.resp", "listen.grpc"}) {
    if (Status status = CheckListener(inputs, config, path); !status.ok()) return status;
  }
  if (settings.drain_delay > settings.shutdown_timeout) {
    return Refuse(fmt::format("drain_delay{} is {}, longer than shutdown_timeout{}, which is {}",
                              FromWhere(config, "drain_delay"), DurationText(settings.drain_delay),
                              FromWhere(config, "shutdown_timeout"),
                              DurationText(settings.shutdown_timeout)));
  }
  return CheckApart(config);
}

}  // namespace

Result<Config> LoadConfig(const ConfigInputs& inputs) {
  Config config;
  for (const SettingRow& row : SettingRows()) config.origins[std::string(row.info.path)] = {};

  const Result<Environment> environment = Environment::Load(inputs);
  if (!environment.ok()) return environment.status();
  if (Status status = LoadFile(inputs, *environment, config); !status.ok()) return status;
  if (Status status = LoadEnvironment(*environment, inputs, config); !status.ok()) return status;
  for (const auto& [path, text] : inputs.flags) {
    if (Status status = LoadFlag(path, text, config); !status.ok()) return status;
  }
  if (Status status = CheckWhole(inputs, config); !status.ok()) return status;
  return config;
}

}  // namespace keymill::app
